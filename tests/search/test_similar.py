"""Code like a piece of code: copies first, then what shares its words, never itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from cairn.engine.local import LocalEngine
from cairn.search.searcher import Alike, alike
from tests.graph.code import code_view

LEASE = "def steal_lease(victim, clock):\n    lease = read_lease(victim)\n    return write_lease(lease, clock)\n"
RENAMED = LEASE.replace("steal_lease", "take_lease")
OTHER = "def paint(canvas, colour):\n    canvas.fill(colour)\n    return canvas\n"
TREE = {"a.py": LEASE, "b/copy.py": LEASE, "c.py": RENAMED, "d.py": OTHER, "e.md": "# Nothing\n\nOf the kind.\n"}


@contextmanager
def engine(*trees: dict[str, str]) -> Iterator[LocalEngine]:
    with code_view(*trees) as view:
        yield LocalEngine(view)


def like(engine: LocalEngine, path: str, *, same_file: bool = False, limit: int = 10) -> tuple[list[str], Alike]:
    place = engine.find(path)
    assert place is not None
    found = alike(engine, int(engine.first_row[place]), same_file=same_file, limit=limit)
    return [engine.paths[int(engine.file_of_row[row])] for row, _ in found.rows], found


def test_a_copy_is_wholly_alike_and_comes_first() -> None:
    with engine(TREE) as code:
        paths, found = like(code, "a.py")
    assert paths[:2] == ["b/copy.py", "c.py"]
    scores = [score for _, score in found.rows]
    assert scores[0] == pytest.approx(1.0)
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1 for score in scores)


def test_the_file_itself_is_left_out_unless_it_is_asked_for_and_the_piece_always_is() -> None:
    big = "\n\n".join(f"def part_{n}(value):\n    {'value = value + 1; ' * 40}\n    return value" for n in range(6))
    with engine({"big.py": big, "d.py": OTHER}) as code:
        assert code.rows > 2
        apart, _ = like(code, "big.py")
        within, found = like(code, "big.py", same_file=True)
        assert "big.py" not in apart
        assert within[0] == "big.py"
        assert int(code.first_row[code.find("big.py") or 0]) not in [row for row, _ in found.rows]


def test_the_answer_is_the_same_from_one_segment_or_from_several() -> None:
    older = {"a.py": OTHER, "gone.py": LEASE}
    with engine(TREE) as one, engine(older, TREE) as several:
        for path in TREE:
            assert like(one, path) == like(several, path)


def test_no_more_than_asked_for_are_given_and_all_are_counted() -> None:
    with engine(TREE) as code:
        paths, found = like(code, "a.py", limit=1)
        assert paths == ["b/copy.py"]
        assert found.total >= 2
        assert found.terms


def test_a_vector_comes_back_as_nearly_as_it_is_kept() -> None:
    with engine(TREE) as code:
        for row in range(code.rows):
            near = code.similarity(code.vector(row))
            assert near.argmax() == row or near[row] == pytest.approx(near.max())
