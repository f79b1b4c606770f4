"""Packages of Java, Kotlin and Scala are what the files say, wherever they lie."""

from __future__ import annotations

import pytest

from cairn.core.types import Import
from cairn.syntax.resolver import EXTERNAL, MOST_FILES, UNRESOLVED
from tests.graph.test_modules import files, lead, modules_of


def test_where_a_file_lies_says_nothing_of_its_package() -> None:
    code = {"x/y/One.java": "package a.b;\n", "a/b/Two.java": "package c;\n"}
    assert files(code, "X.java", "a.b", "One") == ("x/y/One.java",)
    assert files(code, "X.java", "a.b", "Two") == ("x/y/One.java",)
    assert files(code, "X.java", "c", "Two") == ("a/b/Two.java",)


def test_the_file_that_is_called_like_the_class_goes_before_the_others_of_its_package() -> None:
    code = {"One.kt": "package a\n", "Two.kt": "package a\n"}
    assert files(code, "X.kt", "a", "Two") == ("Two.kt",)
    assert files(code, "X.kt", "a", "helper") == ("One.kt", "Two.kt")


def test_the_longest_package_is_meant_and_the_rest_is_a_name_in_it() -> None:
    code = {"A.java": "package a;\n", "B.java": "package a.b;\n"}
    found = lead(code, "X.java", "a.b.B.Inner", "value")
    assert (found.files, found.name) == (("B.java",), "B.Inner.value")
    found = lead(code, "X.java", "a.A.Inner", "*")
    assert (found.files, found.name) == (("A.java",), "A.Inner.*")


@pytest.mark.parametrize(
    ("path", "text", "package"),
    [
        ("One.java", "/* who */\n  package\ta.b ; class One {}\n", "a.b"),
        ("One.kt", "@file:Jvm\npackage `in`.b\n", "in.b"),
        ("One.kt", "package a\npackage b\n", "a"),
        ("One.scala", "package a\npackage b\nclass One\n", "a.b"),
        ("One.java", "class One {}\n", ""),
        ("One.java", "// package a;\nclass One {}\n", ""),
        ("One.java", "package ;\n", ""),
        ("One.java", " " * 17_000 + "\npackage a;\n", ""),
        ("One.java", "\xff\x00" * 100 + "\npackage a;\n", "a"),
    ],
)
def test_a_package_is_read_from_the_head_of_a_file(path: str, text: str, package: str) -> None:
    modules = modules_of({path: text, "near.kt": f"package {package}\n" if package else ""})
    assert modules.beside(path) == {path, "near.kt"}


def test_scala_looks_from_its_own_package_first_and_java_does_not() -> None:
    inner = {"One.scala": "package a.b.c\n", "X.scala": "package a.b\n", "X.java": "package a.b;\n"}
    asked = Import("c", "One", "", 0, 1)
    assert modules_of(inner).resolve("X.scala", asked).files == ("One.scala",)
    assert modules_of(inner).resolve("X.java", asked) == EXTERNAL
    assert lead(inner, "Y.scala", "c", "One") == EXTERNAL


def test_scala_goes_on_outwards_and_takes_only_what_is_there() -> None:
    code = {
        "One.scala": "package a.b.c\nclass One\n",
        "Own.scala": "package a.b.d\nobject Own { val x = 1 }\n",
        "X.scala": "package a.b.d\n",
    }
    found = modules_of(code)
    assert found.resolve("X.scala", Import("c", "One", "", 1, 0)).files == ("One.scala",)
    assert found.resolve("X.scala", Import("Own", "*", "", 1, 0)).files == ("Own.scala",)
    assert found.resolve("X.scala", Import("cats.data", "Chain", "", 1, 0)) == EXTERNAL


def test_what_the_same_owner_has_elsewhere_is_missing_and_not_somebody_elses() -> None:
    code = {"One.java": "package com.firm.app.core;\n"}
    assert lead(code, "X.java", "com.firm.app.gone", "Two") == UNRESOLVED
    assert lead(code, "X.java", "com.firm.tool", "Two") == EXTERNAL
    assert lead(code, "X.java", "java.util", "List") == EXTERNAL


def test_without_a_package_a_class_is_found_by_no_import() -> None:
    assert lead({"One.java": "class One {}\n"}, "X.java", "", "One") == UNRESOLVED
    assert lead({"One.java": "class One {}\n"}, "X.java", "One") == EXTERNAL


def test_a_package_of_endless_files_is_cut_and_a_path_of_endless_parts_looked_at_in_part() -> None:
    code = {f"F{number}.kt": "package a\n" for number in range(MOST_FILES + 50)}
    assert len(lead(code, "X.kt", "a", "helper").files) == MOST_FILES
    far = ".".join(["a"] * 500)
    assert lead({"One.java": f"package {far};\n"}, "X.java", far, "One").files == ()


@pytest.mark.parametrize("words", ["", "a", "`", "\x00", "a\n.b"])
def test_words_that_name_no_package_lead_to_none(words: str) -> None:
    assert lead({"One.java": "package a;\n"}, "X.java", words).files == ()


def test_the_files_of_a_package_see_each_other_whatever_their_language() -> None:
    modules = modules_of({"One.java": "package a;\n", "two/Two.kt": "package a\n", "a/Three.java": "package b;\n"})
    assert modules.beside("One.java") == {"One.java", "two/Two.kt"}
    assert modules.beside("One.java") is modules.beside("two/Two.kt")
    assert modules.child("One.java", "Two") == ()
