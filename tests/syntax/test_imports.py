"""Imports in forms that the fixtures of the languages do not hold."""

from __future__ import annotations

from cairn.syntax.analyze import analyze


def test_everything_of_a_module_can_be_handed_on_as_the_default() -> None:
    # `default` is a keyword there, not a name: this very line once ended the analysis of its file.
    code = b"export * as default from 'a';\nexport * as all from 'b';\nimport * as c from 'd';\n"
    syntax, _ = analyze(code, "javascript")
    assert [(one.module, one.name, one.alias) for one in syntax.imports] == [
        ("a", "", "default"),
        ("b", "", "all"),
        ("d", "", "c"),
    ]
