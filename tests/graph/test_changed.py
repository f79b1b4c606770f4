"""What differs between two versions of a file, definition by definition."""

from __future__ import annotations

from cairn.graph.changed import FileVersion, changed_symbols, differs_outside
from cairn.syntax.analyze import analyze

OLD = b"""import os

LIMIT = 1


class Lease:
    def steal(self, who):
        return take(self, who)

    def renew(self):
        return self.steal(None)


def load(path):
    with open(path) as file:
        return file.read().strip()
"""


def version(text: bytes, language: str = "python") -> FileVersion:
    return FileVersion(text, analyze(text, language)[0].symbols)


def told(new: bytes, old: bytes = OLD) -> list[tuple[str, str, str]]:
    return [(one.kind.value, one.name, one.old_name) for one in changed_symbols(version(old), version(new))]


def test_nothing_differs_where_only_space_does() -> None:
    assert told(OLD) == []
    assert told(OLD.replace(b"\n\n\n", b"\n\n\n\n\n").replace(b"LIMIT = 1", b"LIMIT =  1")) == []


def test_an_edit_of_a_method_changes_the_method_and_not_its_class() -> None:
    assert told(OLD.replace(b"take(self, who)", b"give(self, who)")) == [("body", "steal", "")]
    assert told(OLD.replace(b"def steal(self, who)", b"def steal(self, who, why)")) == [("signature", "steal", "")]
    assert told(OLD.replace(b"class Lease:", b"class Lease(Base):")) == [("signature", "Lease", "")]


def test_what_came_and_what_went_is_told() -> None:
    assert told(OLD + b"\n\ndef save(path):\n    os.remove(path)\n") == [("added", "save", "")]
    assert told(OLD[: OLD.index(b"def load")]) == [("removed", "load", "")]
    assert [one[0] for one in told(b"")] == ["removed"] * 5
    assert {one[0] for one in told(OLD, b"")} == {"added"}


def test_a_definition_with_another_name_and_nearly_the_same_text_is_renamed() -> None:
    assert told(OLD.replace(b"def load(path)", b"def read(path)")) == [("renamed", "read", "load")]
    assert told(OLD.replace(b"def load(path)", b"def read(path)").replace(b".strip()", b"")) == [
        ("renamed", "read", "load")
    ]
    other = OLD[: OLD.index(b"def load")] + b"def mend(a, b, c):\n    for x in a:\n        yield b + c * x\n"
    assert told(other) == [("added", "mend", ""), ("removed", "load", "")]


def test_of_overloads_the_one_that_differs_is_told() -> None:
    old = b"class A { void f(int a) { g(a); } void f(String a) { h(a); } }\n"
    found = changed_symbols(version(old, "java"), version(old.replace(b"h(a)", b"k(a)"), "java"))
    assert [(one.kind.value, one.name) for one in found] == [("body", "f")]


def test_code_outside_of_definitions_is_told_apart() -> None:
    assert not differs_outside(version(OLD), version(OLD.replace(b"take(", b"give(")))
    assert differs_outside(version(OLD), version(OLD.replace(b"import os", b"import sys")))
