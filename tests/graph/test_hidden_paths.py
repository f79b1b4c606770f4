"""What structure is known of is what was indexed, by the rules that indexed it and no other ones."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.graph.modules import files_of
from cairn.graph.outline import has_outline, outline
from cairn.source.beneath import Tree
from cairn.source.walk import walk
from cairn.store.read.snapshot import open_view
from tests.conformance import conforms
from tests.sync.desk import Desk, extract_here

NAMES = ("a", "b", ".hidden", ".github", "build", "node_modules", "__pycache__")
FILES = st.lists(
    st.tuples(
        st.lists(st.sampled_from(NAMES), max_size=3), st.sampled_from(("x.py", ".dot.py", "y.ts", "z.md", ".env"))
    ),
    min_size=1,
    max_size=8,
)
RULES = st.lists(
    st.tuples(
        st.sampled_from(("", "a", ".hidden")),
        st.lists(
            st.sampled_from(("build/", "*.ts", ".hidden", "!x.py", "/a/b", ".*", "!.github", "**/z.md")), max_size=4
        ),
    ),
    max_size=3,
)


def collected(desk: Desk) -> tuple[set[str], set[str]]:
    """The files that structure is known of, and those that the walk of an index takes."""
    desk.index()
    with desk.place.make_disk() as disk, open_view(disk, "here") or pytest.fail("nothing is published") as view:
        known = set(files_of(view).languages)
        for record in view.records().values():
            if record.skip is None and has_outline(record):
                assert outline(view, record).path == record.key
    codebase = desk.codebase
    with Tree(codebase.root) as tree:
        walked = walk(tree, codebase.config, tracked=codebase.tracked)
    return known, {candidate.key for candidate in walked.candidates}


def compare(files: list[tuple[list[str], str]], rules: list[tuple[str, list[str]]]) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        desk = Desk(Path(folder))
        extract_here(patch, desk.clock)
        for folders, name in files:
            path = desk.tree.joinpath(*folders, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("def one(): ...\n")
        for place, lines in rules:
            if (desk.tree / place).is_dir():
                (desk.tree / place / ".gitignore").write_text("".join(f"{line}\n" for line in lines))
        known, walked = collected(desk)
        assert known == walked


@conforms("000.HID1")
@settings(max_examples=25, derandomize=True, deadline=None)
@given(FILES, RULES)
def test_structure_and_index_take_the_same_files_under_any_rules(
    files: list[tuple[list[str], str]], rules: list[tuple[str, list[str]]]
) -> None:
    compare(files, rules)


@conforms("000.HID1")
@pytest.mark.long
@settings(max_examples=500, derandomize=True, deadline=None)
@given(FILES, RULES)
def test_structure_and_index_take_the_same_files_under_five_hundred_sets_of_rules(
    files: list[tuple[list[str], str]], rules: list[tuple[str, list[str]]]
) -> None:
    compare(files, rules)


@conforms("000.HID2")
def test_a_folder_with_a_dot_is_no_reason_to_leave_a_file_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk(tmp_path)
    extract_here(monkeypatch, desk.clock)
    for name in (".github/workflows/check.py", ".config/.deep/tool.py", ".hidden.py", "src/plain.py"):
        desk.put(name, "def check(): ...\n")
    desk.put(".secret/gone.py", "def gone(): ...\n")
    desk.put(".gitignore", ".secret/\n")
    known, walked = collected(desk)
    assert known == walked
    assert {".github/workflows/check.py", ".config/.deep/tool.py", ".hidden.py", "src/plain.py"} < known
    assert ".secret/gone.py" not in known, "a rule left it out, for both"
