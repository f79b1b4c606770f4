"""Traits of Go: a package is a folder, and a capital makes a name public."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cairn.syntax.conditions import platforms
from cairn.syntax.lexis import AFTER_SLASHES, BLOCK, CHARACTER, IN_QUOTES, RAW_IN_BACKTICKS, Lexis
from cairn.syntax.names import text_of, unquote
from cairn.syntax.traits import (
    DEFINITION,
    NOTHING,
    PARAMETER,
    SAME,
    WRITE,
    ImportedName,
    LocalRules,
    Main,
    Traits,
    each,
    words,
)
from cairn.syntax.visibility import CAPITAL

if TYPE_CHECKING:
    from tree_sitter import Node


_LOCALS = LocalRules(
    functions=words("function_declaration method_declaration func_literal"),
    scopes=words(
        "function_declaration method_declaration func_literal block for_statement if_statement expression_case"
        " default_case communication_case type_case"
    ),
    fields={
        **each("parameter_declaration variadic_parameter_declaration", {"name": PARAMETER}),
        **each("short_var_declaration range_clause receive_statement", {"left": DEFINITION}),
        **each("var_spec const_spec", {"name": DEFINITION}),
        "expression_list": {"": SAME},
        "assignment_statement": {"left": WRITE},
        **each("inc_statement dec_statement", {"": WRITE}),
        **each("function_declaration method_declaration", {"name": NOTHING}),
    },
)


def go(node: Node, data: bytes) -> Iterator[ImportedName]:
    """Yield the import of one Go path; a dot before the path brings every name of the package."""
    name, path = node.child_by_field_name("name"), node.child_by_field_name("path")
    if path is not None:
        alias = text_of(data, name) if name is not None else ""
        yield unquote(text_of(data, path)), "*" if alias == "." else "", "" if alias == "." else alias


TRAITS = Traits(
    "go",
    # The comment before `import "C"` is a program in C.
    lexis=Lexis(
        (AFTER_SLASHES, BLOCK),
        (RAW_IN_BACKTICKS, IN_QUOTES, CHARACTER),
        directives=r"//go:|//line |//export |\+build|[#;{]",
    ),
    conditions=platforms,
    heads_say_all=True,
    interfaces_fit=True,
    visibility=CAPITAL,
    import_tree=go,
    local_rules=_LOCALS,
    family="go",
    resolver="go",
    own_receiver=r"func \((\w+) ",
    packages=True,
    package_is_folder=True,
    no_names=words("impl module"),
    blocks_hide=True,
    types_are_names=True,
    type_last=True,
    main=Main.IN_PACKAGE_MAIN,
    common=words("""
Accept Add Addr After As Before Broadcast Buffer Bytes Call Cap Cleanup Clone Close CompareAndSwap Context Cookie
Cookies Deadline Decode Delete Do Done Elem Encode Equal Err Error Errorf Fail FailNow Fatal Fatalf Field Flush
FormFile FormValue Format Get Grow Handle HandleFunc Header Helper Hijack Index Info Int Interface Is IsDir IsNil
IsValid IsZero Key Kill Kind Len Less Listen ListenAndServe Load LoadOrStore LocalAddr Lock Log Logf MarshalJSON
MarshalText MatchString Method ModTime Mode Name Next NumField Output Panic Parse ParseForm Path Peek Pop Port Print
Printf Println Push Query RLock RUnlock Range Read ReadAll ReadAt ReadByte ReadFrom ReadRune ReadString RemoteAddr
Reset Round RoundTrip Run Scan Seek ServeHTTP Set SetDeadline Shutdown Signal Size Skip Skipf Split Start Stat Stop
Store String Sub Swap Sync Sys TempDir Text Truncate Type UTC Unix Unlock UnmarshalJSON UnmarshalText Unwrap Value
Wait Warn With WithContext Write WriteAt WriteByte WriteHeader WriteRune WriteString WriteTo
AnyTimes Assert AssertExpectations Contains EXPECT ElementsMatch Empty EqualError EqualValues ErrorAs ErrorContains
ErrorIs Eventually Exactly Expect False Greater InDelta InEpsilon IsType JSONEq Nil NoError NotContains NotEmpty
NotEqual NotNil NotPanics NotZero On Once PanicsWithError Parallel Regexp Require Same Setenv Should ShouldNot Subset
Times To True Zero
"""),
)
