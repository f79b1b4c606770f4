"""Rows as they are sent: the same bytes for as long as a segment lives."""

from __future__ import annotations

import numpy as np

from cairn.engine.rows import scope_of, segments_of, term_number
from cairn.store.read.live import live_parts
from tests.search.corpora import engine_of, project

TREE = project(2, 15)


def test_every_row_of_a_segment_is_sent_hidden_or_not() -> None:
    with engine_of(TREE, 4) as engine:
        for ref, segment, part in zip(
            engine.view.manifest.segments, segments_of(engine.view), live_parts(engine.view), strict=True
        ):
            rows = list(segment.read())
            assert [row.row for row in rows] == list(range(ref.rows))
            assert segment.rows == ref.rows
            assert segment.sealed_sha256 == ref.sha256
            for row in rows:
                assert part.row_starts[row.file] <= row.row < part.row_starts[row.file + 1]
                assert row.path == part.keys()[row.file]
                assert np.array_equal(row.vector, part.vectors.vectors[row.row] * part.vectors.scales[row.row])
                assert list(row.terms) == sorted(row.terms)
                assert all(0 < weight < 2.2 for weight in row.terms.values())


def test_the_terms_of_a_row_are_the_words_of_its_text_and_of_its_path() -> None:
    with engine_of({"src/lease.py": b"def steal(token):\n    return token\n"}) as engine:
        [segment] = segments_of(engine.view)
        [row] = segment.read()
        assert {term_number(word) for word in ("src", "steal", "token")} <= set(row.terms)
        assert row.terms[term_number("token")] > row.terms[term_number("return")]
        assert term_number("nowhereword") not in row.terms


def test_a_digest_is_that_of_the_rows_and_changes_with_any_of_them() -> None:
    with engine_of(TREE, 2) as one, engine_of(TREE, 2) as again, engine_of({**TREE, "zz.py": b"x = 1\n"}, 2) as other:
        digests = [[segment.rows_sha256 for segment in segments_of(each.view)] for each in (one, again, other)]
        assert digests[0] == digests[1]
        assert digests[0] != digests[2]


def test_a_scope_names_what_tombstones_hide() -> None:
    with engine_of(TREE, 3) as engine:
        scope = scope_of(engine.view)
        assert scope.segments == tuple(ref.name for ref in engine.view.manifest.segments)
        hidden = sum(len(numbers) for numbers in scope.hidden.values())
        assert hidden > 0
        assert sum(len(part.hidden) for part in live_parts(engine.view)) == hidden
