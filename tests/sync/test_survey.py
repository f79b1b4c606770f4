from __future__ import annotations

from pathlib import Path

import pytest

from cairn.core.config import Config, LimitConfig
from cairn.core.types import FileFacts
from cairn.source.root import find_root
from cairn.sync.codebase import Codebase
from cairn.sync.pool import extract_all
from cairn.sync.survey import survey
from tests.support.repos import make_repo


def survey_of(top: Path, config: Config | None = None) -> tuple[list[str], dict[str, str], list[tuple[str, int, int]]]:
    seen: list[tuple[str, int, int]] = []
    found = survey(Codebase(find_root(str(top)), config or Config(), None), lambda *step: seen.append(step))
    return [file.key for file in found.eligible], {s.raw.decode(): s.reason.value for s in found.skips}, seen


def test_content_decides_what_a_name_cannot(tmp_path: Path) -> None:
    (tmp_path / "text.py").write_text("x = 1\n")
    (tmp_path / "picture").write_bytes(b"\x89PNG\0\0")
    (tmp_path / "wide.py").write_bytes("x = 1".encode("utf-16"))
    (tmp_path / "latin.py").write_bytes(b"name = 'caf\xe9'\n")
    eligible, skipped, _ = survey_of(tmp_path)
    assert eligible == ["text.py"]
    assert skipped == {"latin.py": "not_utf8", "picture": "binary", "wide.py": "not_utf8"}


def test_what_is_called_eligible_is_what_an_index_would_hold(tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("".join(f"{number} words in a row\n" for number in range(20_000)))
    (tmp_path / "short.txt").write_text("few words\n")
    limits = LimitConfig(max_chunks_per_file=20)
    config = Config(limits=limits)
    eligible, skipped, _ = survey_of(tmp_path, config)
    assert (eligible, skipped) == (["short.txt"], {"long.txt": "too_many_chunks"})
    found = survey(Codebase(find_root(str(tmp_path)), config, None), lambda *_: None)
    outcomes = extract_all(find_root(str(tmp_path)), found.walked.candidates, limits, workers=1)
    assert [o.source.key for o in outcomes if isinstance(o, FileFacts)] == eligible


def test_progress_is_told_while_walking_and_reading(tmp_path: Path) -> None:
    for number in range(300):
        (tmp_path / f"{number}.txt").write_text("x\n")
    _, _, seen = survey_of(tmp_path)
    assert ("reading", 0, 300) in seen
    assert ("reading", 256, 300) in seen


def test_rules_of_one_person_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    top, home = make_repo(tmp_path / "repo"), tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    for name in ("a.py", "b.py", "keep.py"):
        (top / name).write_text("x\n")
    (top / ".git" / "info").mkdir(exist_ok=True)
    (top / ".git" / "info" / "exclude").write_text("*.py\n!keep.py\n")
    found = survey(Codebase(find_root(str(top)), Config(), None), lambda *_: None)
    assert len(found.eligible) == 3
    assert [count for _, count in found.hidden] == [2]


def test_an_empty_tree_has_an_empty_survey(tmp_path: Path) -> None:
    assert survey_of(tmp_path)[:2] == ([], {})
