"""Modules of Rust are found as files lie; crates are told apart, and no path leads out of one by accident."""

from __future__ import annotations

import pytest

from cairn.core.types import Import
from cairn.syntax.resolver import EXTERNAL, UNRESOLVED, ImportTarget
from tests.graph.test_modules import lead, modules_of

CRATE = dict.fromkeys(
    ("src/lib.rs", "src/net.rs", "src/net/conn.rs", "src/disk/mod.rs", "src/disk/block.rs", "src/bin/tool.rs"), ""
)


def led(tree: dict[str, str], path: str, words: str, within: tuple[str, ...] = ()) -> tuple[str, str] | ImportTarget:
    """The file and the name in it that a path leads to."""
    found = modules_of({**tree, path: tree.get(path, "")}).resolve(path, Import(words, "", "", 0, 1), within)
    return (found.files[0], found.name) if found.files else found


@pytest.mark.parametrize(
    ("path", "words", "file", "name"),
    [
        ("src/lib.rs", "net::conn::Conn", "src/net/conn.rs", "Conn"),
        ("src/lib.rs", "self::disk::block", "src/disk/block.rs", ""),
        ("src/net.rs", "conn::Conn", "src/net/conn.rs", "Conn"),
        ("src/net/conn.rs", "super::dial", "src/net.rs", "dial"),
        ("src/net/conn.rs", "super::super::disk", "src/disk/mod.rs", ""),
        ("src/disk/block.rs", "super::open", "src/disk/mod.rs", "open"),
        ("src/disk/mod.rs", "super::net", "src/net.rs", ""),
        ("src/disk/mod.rs", "block::*", "src/disk/block.rs", "*"),
        ("src/disk/block.rs", "crate::net::Kind::First", "src/net.rs", "Kind.First"),
        ("src/disk/block.rs", "crate", "src/lib.rs", ""),
        ("src/bin/tool.rs", "crate::Args", "src/bin/tool.rs", "Args"),
        ("src/net.rs", " crate :: net ", "src/net.rs", ""),
    ],
)
def test_modules_are_found_as_files_lie(path: str, words: str, file: str, name: str) -> None:
    assert led(CRATE, path, words) == (file, name)


def test_a_file_goes_before_a_folder_of_the_same_name() -> None:
    assert led({**CRATE, "src/net/mod.rs": ""}, "src/lib.rs", "net::dial") == ("src/net.rs", "dial")


@pytest.mark.parametrize("path", ["src/lib.rs", "src/main.rs", "src/bin/tool.rs", "tests/it.rs", "build.rs"])
def test_nothing_is_above_the_root_of_a_crate(path: str) -> None:
    assert led(CRATE, path, "super::net") == UNRESOLVED
    assert led(CRATE, path, "super::super::self::net") == UNRESOLVED


def test_a_file_that_no_module_is_above_of_has_none() -> None:
    assert led({}, "loose/one.rs", "super::net") == UNRESOLVED
    assert led({}, "loose/one.rs", "crate::net") == UNRESOLVED


def test_modules_that_are_written_in_a_file_are_a_name_in_it_and_have_no_files_below() -> None:
    assert led(CRATE, "src/net.rs", "self::Inner", ("a", "b")) == ("src/net.rs", "a.b.Inner")
    assert led(CRATE, "src/net.rs", "super::Outer", ("a", "b")) == ("src/net.rs", "a.Outer")
    assert led(CRATE, "src/net.rs", "super::super::Top", ("a", "b")) == ("src/net.rs", "Top")
    assert led(CRATE, "src/net.rs", "self::conn::Conn", ("a",)) == ("src/net.rs", "a.conn.Conn")


@pytest.mark.parametrize("words", ["std::fs::File", "core", "alloc::vec", "serde::Deserialize", "*", "\x00"])
def test_what_is_neither_a_module_here_nor_a_crate_of_the_workspace_is_somebody_elses(words: str) -> None:
    assert led(CRATE, "src/disk/block.rs", words) == EXTERNAL


def test_a_module_that_is_called_like_a_crate_of_the_language_is_still_the_crate() -> None:
    assert led({**CRATE, "src/core.rs": ""}, "src/lib.rs", "core::mem") == EXTERNAL
    assert led({**CRATE, "src/core.rs": ""}, "src/lib.rs", "self::core::mem") == ("src/core.rs", "mem")


def test_another_crate_of_the_workspace_is_known_by_what_its_cargo_toml_calls_it() -> None:
    tree = {
        **CRATE,
        "one/Cargo.toml": '[package]\nname = "my-one"\n',
        "one/src/lib.rs": "",
        "one/src/deep.rs": "",
        "two/Cargo.toml": '[package]\nname = "two"\n[lib]\nname = "second"\npath = "code/start.rs"\n',
        "two/code/start.rs": "",
        "tool/Cargo.toml": '[package]\nname = "tool"\n',
        "tool/src/main.rs": "",
    }
    assert led(tree, "src/net.rs", "my_one::deep::Thing") == ("one/src/deep.rs", "Thing")
    assert led(tree, "src/net.rs", "second::Thing") == ("two/code/start.rs", "Thing")
    assert led(tree, "src/net.rs", "two::Thing") == EXTERNAL
    assert led(tree, "src/net.rs", "tool::Thing") == EXTERNAL


def test_of_two_crates_of_one_name_the_first_in_order_of_place_is_meant() -> None:
    cargo = '[package]\nname = "twin"\n'
    tree = {"b/Cargo.toml": cargo, "b/src/lib.rs": "", "a/Cargo.toml": cargo, "a/src/lib.rs": ""}
    assert led(tree, "x/src/lib.rs", "twin::Thing") == ("a/src/lib.rs", "Thing")


@pytest.mark.parametrize(
    "cargo",
    [
        "",
        "[package",
        "package = 1\nlib = []\n",
        "[package]\nname = 5\n",
        '[package]\nname = ["one"]\n',
        '[package]\nname = "one"\n[lib]\npath = 5\n',
        '[package]\nname = "one"\n[lib]\npath = "../../../etc/passwd"\n',
        '[package]\nname = "one"\n[lib]\npath = "/etc/passwd"\n',
        "a." * 30_000 + "a = 1\n",
        "a = " + "[" * 60_000,
        '[package]\nname = "one"\n' + "#" * 70_000,
        "\x00",
    ],
)
def test_a_cargo_toml_that_says_nothing_sensible_makes_no_crate_and_no_error(cargo: str) -> None:
    assert led({**CRATE, "one/Cargo.toml": cargo, "one/src/lib.rs": ""}, "src/net.rs", "one::Thing") == EXTERNAL


def test_a_path_of_endless_parts_is_looked_at_in_part() -> None:
    found = led(CRATE, "src/net/conn.rs", "crate::" + "a::" * 1_000)
    assert found == ("src/lib.rs", ".".join(["a"] * 63))
    assert led(CRATE, "src/net/conn.rs", "super::" * 500) == UNRESOLVED


def test_a_crate_is_looked_for_in_so_many_folders_only() -> None:
    deep = "/".join(["d"] * 100)
    assert led({"lib.rs": ""}, f"{deep}/x.rs", "crate::Thing") == UNRESOLVED
    assert led({"d/lib.rs": ""}, "d/e/x.rs", "crate::Thing") == ("d/lib.rs", "Thing")


def test_a_name_after_the_path_is_the_last_part_of_it() -> None:
    assert lead(CRATE, "src/lib.rs", "net", "conn").files == ("src/net/conn.rs",)
    assert lead(CRATE, "src/lib.rs", "net", "*").name == "*"


def test_the_child_of_a_file_is_the_module_that_it_declares() -> None:
    modules = modules_of(CRATE)
    assert modules.child("src/net.rs", "conn") == ("src/net/conn.rs",)
    assert modules.child("src/disk/mod.rs", "block") == ("src/disk/block.rs",)
    assert modules.child("src/net.rs", "gone") == ()
    assert modules_of({"src/mod.rs": ""}).child("src/mod.rs", "mod") == ()
