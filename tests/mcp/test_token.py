"""The token of HTTP: made once, long, for its user alone, and refused when it is not."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from cairn.errors import TokenUnfit
from cairn.mcp.http import token_of, token_path


def environ(tmp_path: Path) -> dict[str, str]:
    return {"CAIRN_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)}


def test_a_token_is_made_once_and_only_its_user_can_read_it(tmp_path: Path) -> None:
    mask = os.umask(0)
    try:
        token = token_of(environ(tmp_path))
    finally:
        os.umask(mask)
    file = Path(token_path(environ(tmp_path)))
    # 43 characters of 6 bits.
    assert len(token) >= 43
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert token_of(environ(tmp_path)) == token == file.read_text().strip()


def test_no_two_users_get_the_same_token(tmp_path: Path) -> None:
    assert token_of(environ(tmp_path / "a")) != token_of(environ(tmp_path / "b"))


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o622])
def test_a_token_that_others_can_reach_is_refused(tmp_path: Path, mode: int) -> None:
    token_of(environ(tmp_path))
    os.chmod(token_path(environ(tmp_path)), mode)
    with pytest.raises(TokenUnfit, match="others can read it"):
        token_of(environ(tmp_path))


@pytest.mark.parametrize("text", ["", "\n", "short", "x" * 21, "x" * 513, "with a blank in the middle of it", "é" * 40])
def test_what_is_no_token_is_refused(tmp_path: Path, text: str) -> None:
    file = Path(token_path(environ(tmp_path)))
    file.parent.mkdir(mode=0o700)
    file.write_text(text)
    file.chmod(0o600)
    with pytest.raises(TokenUnfit, match="it holds no token"):
        token_of(environ(tmp_path))
    assert file.read_text() == text


def test_a_link_that_leads_nowhere_makes_no_file_there(tmp_path: Path) -> None:
    file = Path(token_path(environ(tmp_path)))
    file.parent.mkdir(mode=0o700)
    file.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(TokenUnfit):
        token_of(environ(tmp_path))
    assert not (tmp_path / "elsewhere").exists()
