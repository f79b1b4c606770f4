"""Traits of Java, which Kotlin and Scala share: files declare their package."""

from __future__ import annotations

from cairn.syntax.lexis import AFTER_SLASHES, BLOCK, CHARACTER, IN_QUOTES, IN_THREE_QUOTES, Lexis
from cairn.syntax.traits import DEFINITION, NOTHING, PARAMETER, WRITE, LocalRules, Main, Traits, each, words
from cairn.syntax.visibility import NOT_PRIVATE

_LOCALS = LocalRules(
    functions=words("method_declaration constructor_declaration lambda_expression"),
    scopes=words(
        "method_declaration constructor_declaration lambda_expression block for_statement enhanced_for_statement"
        " catch_clause try_with_resources_statement"
    ),
    fields={
        "formal_parameter": {"name": PARAMETER},
        "lambda_expression": {"parameters": PARAMETER},
        "inferred_parameters": {"": PARAMETER},
        **each("variable_declarator enhanced_for_statement catch_formal_parameter resource", {"name": DEFINITION}),
        "assignment_expression": {"left": WRITE},
        "update_expression": {"": WRITE},
        "field_access": {"field": NOTHING},
        **each("method_invocation method_declaration constructor_declaration", {"name": NOTHING}),
    },
)


TRAITS = Traits(
    "java",
    lexis=Lexis((AFTER_SLASHES, BLOCK), (IN_THREE_QUOTES, IN_QUOTES, CHARACTER)),
    heads_say_all=True,
    visibility=NOT_PRIVATE,
    local_rules=_LOCALS,
    family="jvm",
    resolver="java",
    own=words("this"),
    packages=True,
    seen_through=words("module"),
    bare_members=True,
    anonymous_classes=True,
    types_are_names=True,
    calls_are_methods=True,
    type_first=True,
    main=Main.STATIC,
    common=words("""
accept add addAll also append apply asList build charAt clear close collect compareTo contains containsKey copy equals
execute filter find first flatMap fold forEach format get getClass getMessage getName hashCode invoke isEmpty iterator
join joinToString keySet last length let map name next of parse print println put read remove replace run set size
sort split start startsWith stop stream submit substring toString trim use value valueOf values write zip
after andReturn any anyString assertEquals assertFalse assertNotNull assertNull assertSame assertThat assertThrows
assertTrue before containsExactly containsOnly doReturn doThrow eq expect extracting fail hasMessage hasSize isEqualTo
isFalse isInstanceOf isNotEmpty isNotNull isNull isPresent isSameAs isTrue isZero mock never reset returns shouldBe
shouldReturn shouldThrow spy then thenAnswer thenReturn thenThrow times verify verifyNoMoreInteractions when whenever
"""),
)
