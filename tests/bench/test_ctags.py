from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from bench import ctags
from cairn.syntax.languages.pins import PINS

needs_ctags = pytest.mark.skipif(not ctags.is_there(), reason=ctags.MISSING)


def told(**fields: object) -> str:
    """A line as ctags writes it, with what a test cares about."""
    return json.dumps({"_type": "tag", "name": "f", "path": "./a", "line": 3, "pattern": "/^f$/", **fields})


def test_a_line_of_ctags_becomes_a_definition() -> None:
    line = told(language="Go", kind="func", name="Serve", path="./cmd/main.go", line=12, pattern="/^func Serve() {$/")
    assert ctags.parse_tag(line, ctags.PEERS["go"]) == ctags.Tag("cmd/main.go", "Serve", "func", 12)


@pytest.mark.parametrize(
    ("language", "fields"),
    [
        ("go", {"_type": "ptag", "language": "Go", "kind": "func"}),
        ("go", {"language": "Go", "kind": "packageName"}),
        ("go", {"language": "Go", "kind": "var", "name": "_"}),
        ("ruby", {"language": "RSpec", "kind": "describe", "extras": "subparser"}),
        ("c", {"language": "C", "kind": "struct", "name": "__anon5f3a", "extras": "anonymous"}),
        ("kotlin", {"language": "Kotlin", "kind": "constant", "scopeKind": "method"}),
        ("javascript", {"language": "JavaScript", "kind": "constant", "pattern": "/^\tconst f = 1;$/"}),
        ("javascript", {"language": "JavaScript", "kind": "class", "pattern": "/^\t\tthis.f = {};$/"}),
        ("typescript", {"language": "TypeScript", "kind": "alias", "pattern": "/^import { type f, g } from 'h';$/"}),
        ("bash", {"language": "Sh", "kind": "function", "name": "f=", "pattern": "/^  local f=()$/"}),
        ("c", {"language": "C", "kind": "function", "name": "TEST", "pattern": "/^TEST(f) {$/"}),
    ],
)
def test_what_nobody_would_look_up_is_no_definition(language: str, fields: dict[str, object]) -> None:
    assert ctags.parse_tag(told(**fields), ctags.PEERS[language]) is None


@pytest.mark.parametrize(
    ("language", "fields"),
    [
        ("kotlin", {"language": "Kotlin", "kind": "constant", "scopeKind": "class"}),
        ("javascript", {"language": "JavaScript", "kind": "constant", "pattern": "/^export const f = 1;$/"}),
        ("javascript", {"language": "JavaScript", "kind": "class", "pattern": "/^export default class f {$/"}),
        ("typescript", {"language": "TypeScript", "kind": "alias", "pattern": "/^  export type f<$/"}),
        ("bash", {"language": "Sh", "kind": "function", "pattern": "/^f() {$/"}),
        ("c", {"language": "C", "kind": "function", "pattern": "/^static int f(void) {$/"}),
    ],
)
def test_a_guess_that_looks_right_is_believed(language: str, fields: dict[str, object]) -> None:
    assert ctags.parse_tag(told(**fields), ctags.PEERS[language]) is not None


def test_the_equations_of_a_function_are_one_definition() -> None:
    lines = [("fib", 1), ("fib", 2), ("fac", 4), ("fib", 6)]
    tags = [ctags.Tag("a.hs", name, "function", line) for name, line in lines]
    kept = ctags.without_clauses([*tags, ctags.Tag("b.hs", "fib", "function", 1)])
    assert [(tag.path, tag.name, tag.line) for tag in kept] == [
        ("a.hs", "fib", 1),
        ("a.hs", "fac", 4),
        ("a.hs", "fib", 6),
        ("b.hs", "fib", 1),
    ]


def test_no_kind_is_both_counted_and_left_out() -> None:
    for peer in ctags.PEERS.values():
        assert not peer.counted & peer.left_out.keys()
        assert peer.only.keys() <= peer.counted


@needs_ctags
def test_every_kind_of_ctags_is_counted_or_left_out_for_a_reason() -> None:
    for peer in ctags.PEERS.values():
        kinds = ctags.kinds_of(peer.name)
        assert peer.counted <= kinds, peer.name
        assert kinds - peer.counted <= peer.left_out.keys(), peer.name


@needs_ctags
def test_every_language_that_ctags_knows_is_compared(tmp_path: Path) -> None:
    told = subprocess.run(["ctags", "--options=NONE", "--list-languages"], capture_output=True, text=True, check=True)
    known = {name.split()[0].lower() for name in told.stdout.splitlines() if name.strip()}
    for language in (PINS.keys() & known) - ctags.NOT_COMPARED.keys():
        assert ctags.peer_of(language) is not None, language
    # One that has no row, and one that nobody knows.
    assert "perl" not in ctags.PEERS
    (tmp_path / "a.pl").write_text("sub serve { 1 }\n")
    perl = ctags.peer_of("perl")
    assert perl is not None
    assert [tag.name for tag in ctags.definitions(perl, str(tmp_path), ["a.pl"])] == ["serve"]
    assert ctags.peer_of("klingon") is None


@needs_ctags
def test_settings_in_the_repository_are_not_obeyed(tmp_path: Path) -> None:
    (tmp_path / ".ctags.d").mkdir()
    (tmp_path / ".ctags.d" / "evil.ctags").write_text("--exclude=*\n--languages=-Go\n")
    (tmp_path / "a.go").write_text("package a\n\nfunc Serve() {}\n")
    tags = ctags.definitions(ctags.PEERS["go"], str(tmp_path), ["a.go"])
    assert [(tag.name, tag.kind, tag.line) for tag in tags] == [("a", "package", 1), ("Serve", "func", 3)]
