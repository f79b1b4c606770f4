"""Which family a file belongs to."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.core.filetypes import language_of
from cairn.semantic.model import FULL, NOTHING, Family, RefreshScope, family_of, from_json, of_files
from tests.conformance import conforms


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


# --- Scopes are a lattice: whatever is joined only widens, and what is covered is covered.


_names = st.frozensets(st.sampled_from(["a.py", "pkg/a.py", "pkg/b.py", "pkg/sub/c.py", "other/d.py"]), max_size=4)
_folders = st.frozensets(st.sampled_from(["", "pkg", "pkg/sub", "other"]), max_size=2)
_times = st.none() | st.sampled_from([0.0, 1.5, 7.0, -1.0])
scopes = st.just(FULL) | st.builds(RefreshScope, st.just(False), _names, _folders, _times)


@conforms("002.SC1")
@given(scopes, scopes, scopes)
def test_join_is_idempotent_commutative_associative_and_full_absorbs(
    a: RefreshScope, b: RefreshScope, c: RefreshScope
) -> None:
    assert a.join(a) == a.plain()
    assert a.join(b) == b.join(a)
    assert a.join(b).join(c) == a.join(b.join(c))
    assert a.join(FULL) == FULL
    assert a.join(NOTHING) == a.plain()


@conforms("002.SC1")
@given(scopes, scopes)
def test_a_join_covers_both_and_covering_is_an_order(a: RefreshScope, b: RefreshScope) -> None:
    both = a.join(b)
    assert both.covers(a)
    assert both.covers(b)
    assert FULL.covers(a)
    assert a.covers(NOTHING)
    if a.covers(b) and b.covers(a):
        assert a.plain() == b.plain()


@conforms("002.SC1")
def test_files_lie_in_more_files_in_packages_in_full() -> None:
    chain = [
        NOTHING,
        of_files(["pkg/a.py"]),
        of_files(["pkg/a.py", "pkg/b.py"]),
        RefreshScope(packages=frozenset({"pkg"})),
    ]
    chain += [RefreshScope(packages=frozenset({""})), FULL]
    for narrow, wide in pairwise(chain):
        assert wide.covers(narrow)
        assert not narrow.covers(wide)


def test_a_folder_whose_name_begins_alike_is_another_one() -> None:
    assert not RefreshScope(packages=frozenset({"pkg"})).covers(of_files(["pkg-evil/a.py"]))
    assert not RefreshScope(packages=frozenset({"pkg"})).names("pkg.py")


@conforms("002.SC2")
def test_what_changed_since_an_earlier_time_is_more_and_zero_is_a_time() -> None:
    zero, later = RefreshScope(since=0.0), RefreshScope(since=5.0)
    assert zero.covers(later)
    assert not later.covers(zero)
    assert later.join(zero) == zero
    assert zero.join(of_files(["a"])).since == 0.0
    assert not zero.empty
    assert from_json(zero.to_json()) == zero


def test_nothing_is_never_everything() -> None:
    assert of_files([]).join(of_files([])) == NOTHING
    assert of_files([]).empty
    assert from_json(NOTHING.to_json()) == NOTHING


@given(scopes)
def test_a_scope_has_one_text_which_gives_it_back(scope: RefreshScope) -> None:
    assert from_json(scope.to_json()) == scope.plain()
    assert from_json(scope.to_json()).to_json() == scope.to_json()


@given(scopes, scopes)
def test_a_wider_scope_names_every_file_that_a_narrower_one_names(a: RefreshScope, b: RefreshScope) -> None:
    for path in ["a.py", "pkg/a.py", "pkg/sub/c.py", "other/d.py", "more/e.py"]:
        assert a.join(b).names(path) == (a.names(path) or b.names(path))


NO_SCOPES = [
    "", "[]", "1", '{"files": "a"}', '{"files": [1]}', '{"full": 1}', '{"since": true}', '{"since": "x"}',
    '{"more": 1}', '{"full": true, "files": ["a"]}', '{"since": NaN}', '{"since": 1e999}',
]  # fmt: skip


@pytest.mark.parametrize("text", NO_SCOPES)
def test_what_is_no_scope_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        from_json(text)
