"""The order of results: every signal's part adds up, nothing is there twice, and what is left out is left out."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest

from cairn.engine.local import LocalEngine
from cairn.search.query import parse
from cairn.search.rank import GROUPS, Ranking, rank
from cairn.search.signals import SIGNALS
from tests.search.corpora import MODEL, engine_of, project, questions
from tests.search.test_signals import TREE

RANDOM = project(21, 60)


@pytest.fixture(scope="module")
def engine() -> Iterator[LocalEngine]:
    with engine_of(TREE) as made:
        yield made


@pytest.fixture(scope="module")
def random_engine() -> Iterator[LocalEngine]:
    with engine_of(RANDOM, 4) as made:
        yield made


def paths(engine: LocalEngine, ranking: Ranking) -> list[str]:
    return [engine.paths[one.place] for one in ranking.ranked]


def lexical(engine: LocalEngine, asked: str, *without: str) -> list[str]:
    return paths(engine, rank(engine, parse(asked), None, without=frozenset(without)))


def test_scores_never_rise_down_the_list_and_each_file_is_there_once(random_engine: LocalEngine) -> None:
    for asked in questions(21, RANDOM, 60):
        ranking = rank(random_engine, parse(asked), MODEL, limit=1000)
        scores = [one.score for one in ranking.ranked]
        assert scores == sorted(scores, reverse=True)
        assert len({one.place for one in ranking.ranked}) == len(ranking.ranked) == ranking.candidates
        # Equal ones stand in order of their paths.
        for one, other in zip(ranking.ranked, ranking.ranked[1:], strict=False):
            assert one.score > other.score or one.place < other.place


def test_the_parts_add_up_to_the_score(random_engine: LocalEngine) -> None:
    for asked in questions(22, RANDOM, 30):
        for one in rank(random_engine, parse(asked), MODEL, limit=20).ranked:
            assert math.fsum(part for _, part in one.parts) == pytest.approx(one.score, abs=1e-9)
            assert {name for name, _ in one.parts} <= {*SIGNALS, "penalties"}
            assert all(part > 0 for name, part in one.parts if name != "penalties")


def test_pages_are_pieces_of_the_whole_list(random_engine: LocalEngine) -> None:
    query = parse("lease token parser")
    whole = rank(random_engine, query, MODEL, limit=40)
    assert len(whole.ranked) == 40
    pages = [rank(random_engine, query, MODEL, limit=9, offset=offset) for offset in range(0, 36, 9)]
    assert [one for page in pages for one in page.ranked] == whole.ranked[:36]
    assert {page.candidates for page in pages} == {whole.candidates}
    assert rank(random_engine, query, MODEL, offset=10_000).ranked == []


def test_the_row_of_a_result_is_one_of_its_file(random_engine: LocalEngine) -> None:
    for asked in questions(23, RANDOM, 30):
        for one in rank(random_engine, parse(asked), MODEL).ranked:
            assert random_engine.first_row[one.place] <= one.row < random_engine.first_row[one.place + 1]


def test_the_row_of_a_name_is_where_it_is_defined() -> None:
    filler = b"".join(b"def f%d():\n%s\n" % (number, b"    wanted_name()\n" * 100) for number in range(6))
    with engine_of(
        {"a.py": filler + b"def wanted_name():\n    return 1\n" + filler.replace(b"def f", b"def g")}
    ) as engine:
        (one,) = rank(engine, parse("wanted_name"), None).ranked
        assert engine.rows > 3
        assert "def wanted_name" in engine.chunk(one.row).text


def test_only_allowed_files_are_ranked_and_counted(engine: LocalEngine) -> None:
    allowed = np.array([path.startswith("src/") for path in engine.paths])
    ranking = rank(engine, parse("lease renew"), None, allowed=allowed)
    assert paths(engine, ranking)[0] == "src/store/lease.py"
    assert all(path.startswith("src/") for path in paths(engine, ranking))
    assert ranking.candidates == len(ranking.ranked)
    nothing = rank(engine, parse("lease"), MODEL, allowed=np.zeros(len(engine.paths), np.bool_))
    assert nothing == Ranking([], 0)


def test_code_stands_before_its_tests_unless_tests_are_asked_for(engine: LocalEngine) -> None:
    plain, asked = lexical(engine, "renew lease"), lexical(engine, "renew lease tests")
    assert plain.index("src/store/lease.py") < plain.index("tests/test_lease.py")
    assert asked[0] == "tests/test_lease.py"


def test_a_query_of_no_known_word_finds_nothing_by_words(engine: LocalEngine) -> None:
    assert rank(engine, parse("nowhereword"), None) == Ranking([], 0)
    assert rank(engine, parse("?!"), None) == Ranking([], 0)


def test_lexical_mode_asks_no_model_and_semantic_mode_nothing_else(engine: LocalEngine) -> None:
    query = parse("renew lease")
    assert rank(engine, query, MODEL, mode="lexical") == rank(engine, query, None)
    meant = rank(engine, query, MODEL, mode="semantic")
    assert {name for one in meant.ranked for name, _ in one.parts} <= {"meaning", "penalties"}
    assert meant.ranked
    assert rank(engine, query, MODEL, mode="semantic", without=frozenset({"dense"})).ranked == []


@pytest.mark.parametrize("name", [*SIGNALS, "penalties"])
def test_a_signal_that_is_off_has_no_part(random_engine: LocalEngine, name: str) -> None:
    for asked in questions(24, RANDOM, 10):
        for one in rank(random_engine, parse(asked), MODEL, without=frozenset({name})).ranked:
            assert name not in dict(one.parts)


def test_without_names_of_files_the_path_of_a_file_does_not_matter() -> None:
    tree = {f"src/{name}.py": data for name, data in zip("abcdef", sorted(RANDOM.values())[-6:], strict=True)}
    other = {f"src/lease_{key[4]}/{key[4]}.py": data for key, data in tree.items()}
    off = frozenset({"filename"})
    with engine_of(tree) as one, engine_of(other) as two:
        for asked in questions(25, tree, 40):
            first, second = (rank(each, parse(asked), MODEL, without=off) for each in (one, two))
            assert [(found.place, found.score) for found in first.ranked] == [
                (found.place, found.score) for found in second.ranked
            ]
        assert lexical(one, "lease") != lexical(two, "lease")


def test_groups_name_signals_that_exist() -> None:
    assert all(members <= {*SIGNALS, "penalties"} for members in GROUPS.values())


def test_an_empty_index_answers_with_nothing() -> None:
    with engine_of({"empty.py": b""}) as engine:
        for mode in ("hybrid", "lexical", "semantic"):
            assert rank(engine, parse('lease "a b" Lease.renew x/y.py'), MODEL, mode=mode) == Ranking([], 0)


def test_a_file_that_defines_what_was_named_is_shown_where_it_does() -> None:
    uses = b"".join(b"def use_%d():\n    return Lease().lease(Lease, 'lease')\n\n\n" % number for number in range(60))
    code = uses + b"class Lease:\n    def lease(self, other, name):\n        return other\n"
    with engine_of({"a.py": code}) as engine:
        (found,) = rank(engine, parse("Lease"), None, mode="lexical").ranked
        chunk = engine.chunk(found.row)
        assert "class Lease:" in chunk.text
        assert engine.at(found.place).row_at(0) == engine.first_row[found.place]
