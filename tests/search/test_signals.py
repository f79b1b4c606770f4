"""Each signal by itself: what it sees, and what it does not."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import numpy as np
import pytest

from cairn.engine.local import LocalEngine
from cairn.search import signals
from cairn.search import signals as filenames
from cairn.search.query import parse
from cairn.search.signals import SIGNALS, FileEvidence, factors
from cairn.search.weights import PENALTIES, WEIGHTS, WITHOUT_NAMES
from tests.search.corpora import MODEL, engine_of, project, questions
from tests.support.faults import Faults

TREE = {
    "src/event_loop.py": b"class EventLoop:\n    def run(self):\n        pass\n",
    "src/events/loop.py": b"def spin():\n    # an event in a loop\n    EventLoop().run()\n",
    "src/readonly.py": b"def lock():\n    pass\n",
    "src/store/lease.py": b"class Lease:\n    def renew(self):\n        self.renew_lease()\n",
    "src/store/other.py": b"class Other:\n    def renew(self):\n        return Lease()\n",
    "tests/test_lease.py": b"def test_renew():\n    Lease().renew()\n",
    "docs/lease.md": b"# Lease\n\nHow a lease is renewed: the quick brown fox.\n",
    "vendor/lease.py": b"def vendored():\n    pass\n",
    "src/legacy_lease.py": b"def old():\n    pass\n",
    "examples/demo.py": b"def demo():\n    # brown the quick fox\n    pass\n",
    "settings.toml": b"[a]\nlease = 1\n",
}


@pytest.fixture(scope="module")
def engine() -> Iterator[LocalEngine]:
    with engine_of(TREE) as made:
        yield made


def seen(engine: LocalEngine, asked: str, name: str) -> dict[str, float]:
    """The files for which a signal says anything, the strongest first."""
    values = SIGNALS[name](FileEvidence(engine, parse(asked), MODEL))
    order = np.argsort(-values, kind="stable")
    return {engine.paths[place]: round(float(values[place]), 4) for place in order if values[place]}


def test_every_signal_has_a_weight_and_every_weight_a_signal() -> None:
    assert {*WEIGHTS, *WITHOUT_NAMES} == set(SIGNALS)
    assert len(WEIGHTS) <= 14
    assert all(weight > 0 for weight in WEIGHTS.values())


def test_signals_lie_between_nothing_and_one() -> None:
    tree = project(11, 40)
    with engine_of(tree) as engine:
        for asked in questions(11, tree, 40):
            evidence = FileEvidence(engine, parse(asked), MODEL)
            for name, signal in SIGNALS.items():
                values = signal(evidence)
                assert values.shape == (len(engine.paths),)
                assert values.dtype == np.float64
                assert ((values >= 0) & (values <= 1 + 1e-9)).all(), (name, asked)


def test_text_is_in_the_body_and_in_the_path_unless_names_are_off(engine: LocalEngine) -> None:
    query = parse("readonly")
    place = engine.find("src/readonly.py")
    assert FileEvidence(engine, query, None).text[place] > 0
    assert not FileEvidence(engine, query, None, by_name=False).text.any()


def test_meaning_needs_a_model_and_gives_the_nearest_file_one(engine: LocalEngine) -> None:
    exact = TREE["src/readonly.py"].decode()
    evidence = FileEvidence(engine, parse("x"), MODEL)
    # The made-up model knows a text only when it is given as it stands.
    object.__setattr__(evidence.query, "text", exact)
    assert engine.paths[int(np.argmax(signals.meaning(evidence)))] == "src/readonly.py"
    assert not signals.meaning(FileEvidence(engine, parse("x"), None)).any()


def test_coverage_is_the_share_of_the_query_that_one_chunk_holds(engine: LocalEngine) -> None:
    found = seen(engine, "renew lease", "coverage")
    assert found["src/store/lease.py"] == found["tests/test_lease.py"] == 1
    assert 0 < found["settings.toml"] < 1
    assert "src/readonly.py" not in found


def test_vague_words_count_less_than_others(engine: LocalEngine) -> None:
    evidence = FileEvidence(engine, parse("fix lease"), None)
    assert evidence.shares[0] < evidence.shares[1] == 1


def test_a_name_is_said_in_whole_or_in_part(engine: LocalEngine) -> None:
    found = seen(engine, "lease", "name_said")
    assert found["src/store/lease.py"] == found["docs/lease.md"] == 1
    assert found["src/legacy_lease.py"] == 0.5
    assert seen(engine, "event loop", "name_said")["src/event_loop.py"] == 1
    assert seen(engine, "eventLoop", "name_said")["src/event_loop.py"] == 1
    assert seen(engine, "read only", "name_said") == {}


def test_a_long_question_that_names_a_file_by_the_way_matches_its_name_less(engine: LocalEngine) -> None:
    short = seen(engine, "lease", "name_matched")["src/store/lease.py"]
    long = seen(engine, "lease of the quick brown fox and an event", "name_matched")["src/store/lease.py"]
    assert 0 < long < short == 1


def test_a_name_counts_more_where_the_text_agrees(engine: LocalEngine) -> None:
    found = seen(engine, "renew a lease", "name_in_text")
    assert found["src/store/lease.py"] > found["vendor/lease.py"] > 0


def test_folders_are_names_too(engine: LocalEngine) -> None:
    assert set(seen(engine, "store", "folder")) == {"src/store/lease.py", "src/store/other.py"}


def test_a_file_has_the_name_of_an_identifier(engine: LocalEngine) -> None:
    assert set(seen(engine, "EventLoop", "named_so")) == {"src/event_loop.py"}
    assert seen(engine, "how does an event loop work", "named_so") == {}


def test_names_of_definitions_are_read_by_their_words(engine: LocalEngine) -> None:
    assert "src/event_loop.py" in seen(engine, "loop for events", "symbols")
    assert "src/events/loop.py" not in seen(engine, "loop", "symbols")


def test_the_file_that_defines_an_identifier_is_known(engine: LocalEngine) -> None:
    assert seen(engine, "EventLoop", "definition") == {"src/event_loop.py": 1.0}
    assert set(seen(engine, "renew", "definition")) == {"src/store/lease.py", "src/store/other.py"}
    qualified = seen(engine, "Lease.renew", "definition")
    assert qualified["src/store/lease.py"] > qualified["src/store/other.py"] > 0
    assert seen(engine, "the renew of things", "definition") == {}


def test_a_file_that_others_use_is_worth_more(engine: LocalEngine) -> None:
    found = seen(engine, "anything", "used")
    assert found["src/store/lease.py"] > 0
    assert "tests/test_lease.py" not in found


def test_neighbours_in_the_query_are_found_as_one_name(engine: LocalEngine) -> None:
    assert "src/events/loop.py" in seen(engine, "the event loop", "joined")
    assert seen(engine, "the event of a loop", "joined") == {}


@pytest.mark.parametrize("asked", ['"quick brown fox"', '"Quick  BROWN-fox" lease'])
def test_a_phrase_is_found_word_by_word_in_any_case(engine: LocalEngine, asked: str) -> None:
    assert seen(engine, asked, "phrase") == {"docs/lease.md": 1.0}


def test_of_two_phrases_a_file_may_hold_one_and_small_words_are_words_too(engine: LocalEngine) -> None:
    assert seen(engine, '"quick brown" "the quick fox"', "phrase") == {"docs/lease.md": 0.5, "examples/demo.py": 0.5}


def test_a_path_in_the_query_is_found_at_the_end_or_inside_of_paths(engine: LocalEngine) -> None:
    assert seen(engine, "store/lease.py:12", "path") == {"src/store/lease.py": 1.0}
    assert seen(engine, "./src/store/", "path") == {"src/store/lease.py": 0.5, "src/store/other.py": 0.5}
    assert seen(engine, "lease.py", "path") == {"src/store/lease.py": 1.0, "vendor/lease.py": 1.0}


def test_files_that_are_rarely_meant_have_a_factor_and_a_query_that_asks_for_them_lifts_it(engine: LocalEngine) -> None:
    def of(asked: str) -> dict[str, float]:
        return dict(zip(engine.paths, factors(FileEvidence(engine, parse(asked), None)).tolist(), strict=True))

    plain = of("lease")
    assert plain["src/store/lease.py"] == 1
    assert plain["tests/test_lease.py"] == PENALTIES["tests"]
    assert plain["docs/lease.md"] == plain["examples/demo.py"] == PENALTIES["docs"]
    assert plain["vendor/lease.py"] == PENALTIES["vendored"]
    assert plain["src/legacy_lease.py"] == PENALTIES["old"]
    assert plain["settings.toml"] == PENALTIES["config"]
    assert of("tests of the lease")["tests/test_lease.py"] == of("lease scope:tests")["tests/test_lease.py"] == 1
    assert of("lease documentation")["docs/lease.md"] == of("an example of a lease")["examples/demo.py"] == 1
    assert of("lease scope:config")["settings.toml"] == of("legacy lease")["src/legacy_lease.py"] == 1


def test_without_names_a_test_is_known_by_what_it_defines(engine: LocalEngine) -> None:
    plain, asked = (FileEvidence(engine, parse(one), None, by_name=False) for one in ("lease", "lease tests"))
    found = dict(zip(engine.paths, factors(plain).tolist(), strict=True))
    assert found.pop("tests/test_lease.py") == PENALTIES["tests"]
    assert set(found.values()) == {1.0}
    assert set(factors(asked).tolist()) == {1.0}


def test_names_are_looked_up_anew_when_too_many_are_remembered(engine: LocalEngine, faults: Faults) -> None:
    faults.limit(filenames, _MOST_REMEMBERED=1)
    expected = seen(engine, "event loop lease", "name_said")
    assert seen(engine, "event loop lease", "name_said") == expected
    assert expected["src/event_loop.py"] == 1


def test_what_is_kept_for_an_engine_does_not_keep_the_engine() -> None:
    with engine_of({"a.py": b"def renew():\n    pass\n"}) as engine:
        seen(engine, "renew", "used")
        kept = weakref.ref(engine)
    del engine
    gc.collect()
    assert kept() is None
