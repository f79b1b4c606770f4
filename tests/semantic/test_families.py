"""Which family a file belongs to."""

from __future__ import annotations

import pytest

from cairn.core.filetypes import language_of
from cairn.semantic.families import family_of
from cairn.semantic.model import Family


@pytest.mark.parametrize(
    ("path", "family"),
    [
        ("a/b.py", Family.PYTHON),
        ("a/b.PYI", Family.PYTHON),
        ("web/x.tsx", Family.TYPESCRIPT),
        ("web/x.mjs", Family.TYPESCRIPT),
        ("main.go", Family.GO),
        ("src/lib.rs", Family.RUST),
        ("A.java", Family.JVM),
        ("A.kt", Family.JVM),
        ("a.h", Family.CLANG),
        ("A.cs", Family.DOTNET),
        ("a.rb", Family.RUBY),
        ("README.md", None),
        ("py", None),
        (".py", None),
        ("a.py/README", None),
        ("", None),
    ],
)
def test_a_file_belongs_to_the_family_that_its_name_says(path: str, family: Family | None) -> None:
    assert family_of(path) is family


def test_what_one_family_reads_is_known_to_the_table_of_languages() -> None:
    languages = {language_of(f"x.{suffix}".encode(), b"") for suffix in ("py", "ts", "js", "tsx", "go", "rs", "java")}
    assert languages == {"python", "typescript", "javascript", "tsx", "go", "rust", "java"}
