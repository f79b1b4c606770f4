"""Traits of C#: most members are private unless a modifier says otherwise."""

from __future__ import annotations

from cairn.core.types import Symbol
from cairn.syntax.conditions import directives
from cairn.syntax.lexis import AFTER_SLASHES, BLOCK, CHARACTER, IN_QUOTES, IN_THREE_QUOTES, Lexis
from cairn.syntax.traits import Main, Traits, words
from cairn.syntax.visibility import OwnExports, Visibility, has_word

_OPEN = frozenset({"interface", "enum", "namespace"})


def _csharp(_kind: str, _name: str, before: str, above: Symbol | None, _found: OwnExports) -> bool:
    # The properties of `record Point(int X)` have no modifier and are public.
    if above is None or above.kind in _OPEN or " record " in f" {above.signature}":
        return not has_word(before, "private", "file")
    return has_word(before, "public", "protected", "internal")


TRAITS = Traits(
    "csharp",
    lexis=Lexis(
        (AFTER_SLASHES, BLOCK), (IN_THREE_QUOTES, r'\$?@\$?"(?:[^"]|"")*(?:"|\Z)', IN_QUOTES, CHARACTER), embeds=r"\{"
    ),
    conditions=directives,
    heads_say_all=True,
    wheel="tree-sitter-c-sharp",
    visibility=Visibility(_csharp),
    resolver="csharp",
    own=words("this"),
    base=words("base"),
    bare_members=True,
    main=Main.STATIC,
    common=words("""
Add AddRange Any All Append Clear Close Contains ContainsKey Count Dispose Equals First FirstOrDefault Get GetHashCode
GetType Insert Invoke Join Last Next Open Parse Push Pop Read Remove Replace Run Select Send Set Single Sort Split Start
Stop Substring ToArray ToList ToString Trim TryGetValue Update Wait Where Write WriteLine
AreEqual AreNotEqual AreSame Callback Contain DoesNotContain Empty Equal Fail False InRange IsAssignableFrom IsFalse
IsInstanceOf IsInstanceOfType IsNotNull IsNull IsTrue IsType NotEmpty NotEqual NotNull NotSame Null Raises Received
Returns ReturnsAsync Same Setup Should ShouldBe That Throws ThrowsAsync True Verify
"""),
)
