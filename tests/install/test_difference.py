"""The difference that a person is shown."""

from __future__ import annotations

import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.install.edits import difference

LINES = st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=12).map(lambda lines: "".join(f"{x}\n" for x in lines))


def test_what_is_the_same_has_no_difference() -> None:
    assert difference("f", b"a\n", b"a\n") == []


def test_a_new_file_and_one_that_goes_are_said_to_be() -> None:
    assert difference("f", None, b"a\n") == ["--- /dev/null", "+++ f", "@@ -0,0 +1,1 @@", "+a"]
    assert difference("f", b"a\n", None) == ["--- f", "+++ /dev/null", "@@ -1,1 +0,0 @@", "-a"]


@settings(max_examples=25, derandomize=True, deadline=None)
@given(LINES, LINES)
def test_git_makes_the_new_text_of_the_old_one_by_it(before: str, after: str) -> None:
    lines = difference("f", before.encode(), after.encode())
    with TemporaryDirectory() as folder:
        file = Path(folder) / "f"
        file.write_text(before)
        if lines:
            patch = "\n".join(lines) + "\n"
            command = ["git", "apply", "-p0", "--unidiff-zero", "-"]
            subprocess.run(command, cwd=folder, input=patch, text=True, check=True, capture_output=True)
        assert (file.read_text() if file.exists() else "") == after


def test_a_long_line_is_shown_around_what_differs() -> None:
    before = b'{"a": "' + b"x" * 100_000 + b'", "b": 1}\n'
    _, _, _, minus, plus = difference("f", before, before.replace(b"1", b"2"))
    assert minus.endswith('"b": 1}')
    assert plus.endswith('"b": 2}')
    assert max(len(minus), len(plus)) < 200


def test_nothing_hidden_reaches_a_terminal_and_much_is_cut() -> None:
    lines = difference("f", b"", "\x1b[31m\u202e\n".encode() + b"y\n" * 10_000)
    assert lines[3] == "+\\x1b[31m\\u202e"
    assert lines[-1] == "... and 9,801 lines more"
    assert len(lines) < 210
