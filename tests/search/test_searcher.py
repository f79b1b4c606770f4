"""From a question to results, in every mode, over real runs on a real disk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

import cairn.search.searcher as searcher_module
from cairn.errors import EmbeddingFailed, InvalidPattern, InvalidQuery, QueryTimeout
from cairn.search.budget import tokens_in
from cairn.search.exact import deadline
from cairn.search.searcher import Searcher, check, question_of
from cairn.search.types import Group, Mode, SearchRequest
from cairn.store.read.snapshot import open_view
from tests.conformance import conforms
from tests.support.faults import Faults
from tests.sync.desk import Desk, extract_here

LEASE = """\
class Lease:
    \"\"\"The right to write.\"\"\"

    def steal(self, victim):
        # Take the lease from a holder that has died.
        return self.take(victim)

    def take(self, victim):
        return victim
"""
PUBLISH = "def publish(snapshot):\n    return swap(snapshot)\n\n\ndef swap(pointer):\n    return pointer\n"
TEST = "from lease import Lease\n\n\ndef test_steal():\n    assert Lease().steal(1)\n"
README = "# The lease\n\nOne writer holds the lease at a time.\n"
QUESTIONS = {
    Mode.HYBRID: "steal the lease",
    Mode.SEMANTIC: "steal the lease",
    Mode.LEXICAL: "steal the lease",
    Mode.SYMBOL: "steal",
    Mode.REGEX: r"\bsteal\b",
    Mode.PATH: "lease",
}


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    desk = Desk(tmp_path)
    extract_here(monkeypatch, desk.clock)
    for name, text in {
        "src/lease.py": LEASE,
        "src/publish.py": PUBLISH,
        "tests/test_lease.py": TEST,
        "README.md": README,
    }.items():
        desk.put(name, text)
    desk.index()
    return desk


@contextmanager
def searching(desk: Desk) -> Iterator[Searcher]:
    with desk.place.make_disk() as disk:
        view = open_view(disk, "here")
        assert view is not None
        with view:
            yield Searcher(view, desk.model)


def ask(query: str, mode: Mode = Mode.LEXICAL, **chosen: object) -> SearchRequest:
    return replace(SearchRequest(query, mode), **chosen)  # type: ignore[arg-type]


@pytest.mark.parametrize("mode", Mode)
def test_a_result_names_its_lines_as_they_stand_in_the_file(desk: Desk, mode: Mode) -> None:
    with searching(desk) as searcher:
        found = searcher.search(ask(QUESTIONS[mode], mode))
        assert found.hits
        assert found.exhaustive is mode.is_exhaustive
        assert [hit.score for hit in found.hits] == sorted((hit.score for hit in found.hits), reverse=True)
        for hit in found.hits:
            lines = (desk.tree / hit.path).read_text().split("\n")
            assert mode is Mode.PATH or hit.text.split("\n") == lines[hit.start_line - 1 : hit.end_line]
            for mark in hit.marks:
                assert hit.start_line <= mark.line <= hit.end_line
                assert hit.text.split("\n")[mark.line - hit.start_line][mark.start : mark.end]


@conforms("003.TMB5")
@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("group", Group)
def test_a_deleted_file_gives_no_result_while_its_rows_lie_in_an_old_segment(
    desk: Desk, mode: Mode, group: Group
) -> None:
    # The model of the tests gives vectors without meaning: for some question they are near.
    wordings = (f"{QUESTIONS[mode]}{' ?' * times}" for times in range(50 if mode is Mode.SEMANTIC else 1))
    asked = [ask(wording, mode, group=group, limit=50) for wording in wordings]
    with searching(desk) as searcher:
        finds = [request for request in asked if "src/lease.py" in [hit.path for hit in searcher.search(request).hits]]
        request = finds[0]
    (desk.tree / "src/lease.py").unlink()
    desk.sync()
    manifest = desk.manifest()
    assert manifest.counts.chunks_indexed > manifest.counts.chunks_live, "its rows are gone from the disk too"
    with searching(desk) as searcher:
        found = searcher.search(request)
        assert "src/lease.py" not in [hit.path for hit in found.hits]
        assert "class Lease" not in "".join(hit.text for hit in found.hits)


@conforms("002.R1")
@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("publish.py", "src/publish.py"),
        ("test_steal", "tests/test_lease.py"),
        ("swap", "src/publish.py"),
        ("holder that has died", "src/lease.py"),
        ("one writer at a time", "README.md"),
    ],
)
def test_words_are_found_in_paths_identifiers_and_content(desk: Desk, query: str, path: str) -> None:
    with searching(desk) as searcher:
        assert searcher.search(ask(query)).hits[0].path == path


@conforms("000.PRF2", "000.PRF4", "000.PRF5")
@pytest.mark.parametrize("mode", Mode)
def test_the_proof_of_completion_is_no_candidate_and_moves_no_score(desk: Desk, mode: Mode) -> None:
    """The proof stands in the manifest, which is no row: a search reads rows only."""
    manifest = desk.manifest()
    assert manifest.completion is not None
    with searching(desk) as searcher:
        before = searcher.search(ask(QUESTIONS[mode], mode))
        words = ["cairn_index_completion_v1", manifest.completion.run_id, manifest.completion.fingerprint[:20]]
        for word in words:
            found = searcher.search(ask(word, Mode.REGEX))
            assert (found.hits, found.total) == ((), 0)
        assert {hit.path for hit in before.hits} <= set(desk.texts())
    (desk.tree / "src/publish.py").touch()
    desk.reindex()
    assert desk.manifest().completion != manifest.completion
    with searching(desk) as searcher:
        assert searcher.search(ask(QUESTIONS[mode], mode)) == before


@pytest.mark.parametrize("mode", [Mode.LEXICAL, Mode.SYMBOL, Mode.REGEX, Mode.PATH])
def test_pages_give_what_one_answer_gives(desk: Desk, mode: Mode) -> None:
    for number in range(7):
        desk.put(f"src/lease{number}.py", LEASE)
    desk.sync()
    with searching(desk) as searcher:
        whole = searcher.search(ask(QUESTIONS[mode], mode, limit=100))
        pages = [searcher.search(ask(QUESTIONS[mode], mode, limit=3, offset=at)) for at in range(0, whole.total, 3)]
        assert len(whole.hits) > 6
        assert tuple(hit for page in pages for hit in page.hits) == whole.hits
        assert {page.total for page in pages} == {whole.total}


@pytest.mark.parametrize("mode", Mode)
def test_a_search_stays_below_the_folder_it_is_given(desk: Desk, mode: Mode) -> None:
    desk.put("src-old/lease.py", LEASE)
    desk.sync()
    with searching(desk) as searcher:
        found = searcher.search(ask(QUESTIONS[mode], mode, below=("src",)))
        assert {hit.path.partition("/")[0] for hit in found.hits} == {"src"}
        only = searcher.search(ask(QUESTIONS[mode], mode, below=("tests/test_lease.py",)))
        assert {hit.path for hit in only.hits} <= {"tests/test_lease.py"}


@pytest.mark.parametrize("mode", [mode for mode in Mode if mode is not Mode.PATH])
def test_filters_of_language_and_scope_hold_in_every_mode(desk: Desk, mode: Mode) -> None:
    with searching(desk) as searcher:
        found = searcher.search(ask(QUESTIONS[mode], mode, languages=("python",), scope="tests"))
        assert {hit.path for hit in found.hits} <= {"tests/test_lease.py"}
        assert found.files == 1
        none = searcher.search(ask(QUESTIONS[mode], mode, include=("nowhere/**",)))
        assert (none.hits, none.files) == ((), 0)


def test_words_that_must_be_there_and_words_that_must_not(desk: Desk) -> None:
    with searching(desk) as searcher:
        assert {hit.path for hit in searcher.search(ask("lease must:victim")).hits} == {"src/lease.py"}
        assert "src/lease.py" not in {hit.path for hit in searcher.search(ask("lease not:victim")).hits}


def test_a_kind_leaves_only_results_of_that_kind(desk: Desk) -> None:
    with searching(desk) as searcher:
        assert {hit.kind for hit in searcher.search(ask("steal kind:method", Mode.SYMBOL)).hits} == {"method"}
        assert {hit.kind for hit in searcher.search(ask("swap pointer kind:function")).hits} == {"function"}


def test_a_file_is_shown_once_unless_every_place_is_asked_for(desk: Desk) -> None:
    with searching(desk) as searcher:
        by_file = searcher.search(ask("victim", Mode.REGEX))
        assert [hit.path for hit in by_file.hits] == ["src/lease.py"]
        assert by_file.hits[0].match_lines == (4, 6, 8, 9)
        each = searcher.search(ask("victim", Mode.REGEX, group=Group.NONE))
        assert [(hit.start_line, hit.end_line) for hit in each.hits] == [(4, 4), (6, 6), (8, 8), (9, 9)]
        assert [hit.symbol for hit in each.hits] == ["Lease.steal", "Lease.steal", "Lease.take", "Lease.take"]


def test_every_matching_place_of_a_long_file_is_a_result_of_its_own(desk: Desk) -> None:
    desk.put("src/long.py", "\n\n".join(f"def zebra{n}():\n    return {'x' * 1600!r}\n" for n in range(4)))
    desk.sync()
    with searching(desk) as searcher:
        assert len(searcher.search(ask("zebra2 zebra1")).hits) == 1
        found = searcher.search(ask("zebra2 zebra1", group=Group.NONE))
        assert {hit.path for hit in found.hits} == {"src/long.py"}
        assert len({hit.start_line for hit in found.hits}) == len(found.hits) >= 2


def test_each_definition_of_a_file_is_shown_once_when_results_are_grouped_by_symbol(desk: Desk) -> None:
    long = "\n".join(f"    zebra({n}, {'x' * 400!r})" for n in range(12))
    desk.put("src/long.py", f"def zebra_first():\n{long}\n\n\ndef zebra_second():\n{long}\n")
    desk.sync()
    with searching(desk) as searcher:
        every = searcher.search(ask("zebra", group=Group.NONE, limit=50))
        assert len(every.hits) > 2, "there is nothing to group"
        found = searcher.search(ask("zebra", group=Group.SYMBOL, limit=50))
        assert sorted(hit.symbol for hit in found.hits) == ["zebra_first", "zebra_second"]
        assert found.total == 2


def test_context_adds_lines_on_both_sides_and_stops_at_the_file(desk: Desk) -> None:
    with searching(desk) as searcher:
        [hit] = searcher.search(ask("self.take", Mode.REGEX, context=2)).hits
        assert (hit.start_line, hit.end_line, hit.match_lines) == (4, 8, (6,))
        [whole] = searcher.search(ask("self.take", Mode.REGEX, context=200)).hits
        assert whole.text == LEASE.removesuffix("\n")


def test_a_budget_of_tokens_leaves_out_whole_results(desk: Desk) -> None:
    with searching(desk) as searcher:
        everything = searcher.search(ask("lease"))
        sizes = [tokens_in(hit.path + hit.symbol + hit.text) for hit in everything.hits]
        some = searcher.search(ask("lease", max_tokens=sum(sizes) - 1))
        assert 0 < len(some.hits) < len(everything.hits)
        assert some.hits == everything.hits[: len(some.hits)]
        assert some.total == everything.total


def test_of_a_first_result_beyond_the_budget_the_first_lines_are_shown(desk: Desk) -> None:
    with searching(desk) as searcher:
        [hit] = searcher.search(ask("class Lease", Mode.REGEX, context=9)).hits
        short = searcher.search(ask("class Lease", Mode.REGEX, context=9, max_tokens=20))
        assert short.shortened
        [cut] = short.hits
        assert hit.text.startswith(cut.text)
        assert cut.end_line - cut.start_line + 1 == len(cut.text.split("\n")) < len(hit.text.split("\n"))
        nothing = searcher.search(ask("class Lease", Mode.REGEX, max_tokens=1))
        assert (nothing.hits, nothing.total) == ((), 1)


def test_reasons_are_given_when_they_are_asked_for(desk: Desk) -> None:
    with searching(desk) as searcher:
        assert all(hit.reasons == () for hit in searcher.search(ask("lease")).hits)
        assert all(hit.reasons for hit in searcher.search(ask("lease", explain=True)).hits)


@pytest.mark.parametrize("mode", Mode)
def test_an_index_without_files_answers_with_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: Mode
) -> None:
    desk = Desk(tmp_path)
    extract_here(monkeypatch, desk.clock)
    desk.index()
    with searching(desk) as searcher:
        found = searcher.search(ask(QUESTIONS[mode], mode))
        assert (found.hits, found.total, found.files) == ((), 0, 0)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"limit": 0}, "number of results must be a whole number from 1 to 100"),
        ({"limit": 101}, "number of results must be a whole number from 1 to 100"),
        ({"limit": True}, "whole number"),
        ({"context": 201}, "context lines must be a whole number from 0 to 200"),
        ({"max_tokens": 0}, "tokens must be a whole number of at least 1"),
    ],
)
def test_a_number_out_of_bounds_is_refused(wrong: dict[str, int], says: str) -> None:
    with pytest.raises(InvalidQuery, match=says):
        ask("x", **wrong)


def test_a_wrong_question_is_refused_before_there_is_an_index() -> None:
    for mode in Mode:
        check(ask(QUESTIONS[mode], mode))
        with pytest.raises((InvalidQuery, InvalidPattern), match="empty"):
            check(ask("", mode))
    with pytest.raises(InvalidPattern, match="position 3"):
        check(ask("ab(", Mode.REGEX))
    with pytest.raises(InvalidQuery, match="knows"):
        check(ask("x", Mode.REGEX, languages=("klingon",)))


def test_a_signal_that_is_not_known_is_refused_and_the_known_are_named() -> None:
    check(ask("x", without=frozenset({"filename", "dense", "penalties", "used"})))
    with pytest.raises(InvalidQuery, match=r"no signal called `filenames`; there are .*filename"):
        check(ask("x", without=frozenset({"filenames"})))


def test_what_decides_the_results_names_the_question_and_what_does_not_does_not() -> None:
    same = ask("lease")
    for page in ({"limit": 50}, {"offset": 10}, {"context": 3}, {"max_tokens": 100}, {"explain": True}):
        assert question_of(replace(same, **page)) == question_of(same)  # type: ignore[arg-type]
    others = [
        ask("leases"),
        ask("lease", Mode.REGEX),
        *(replace(same, **{name: ("x",)}) for name in ("languages", "include", "exclude", "below")),
        replace(same, scope="tests"),
        replace(same, group=Group.NONE),
        replace(same, without=frozenset({"dense"})),
    ]
    assert len({question_of(one) for one in [same, *others]}) == len(others) + 1


def test_a_model_that_does_not_answer_takes_the_meaning_with_it_and_not_the_words(desk: Desk, faults: Faults) -> None:
    faults.fail(desk.model, "embed_query", EmbeddingFailed(why="nobody answers"))
    with searching(desk) as searcher:
        found = searcher.search(ask("steal the lease", Mode.HYBRID))
        assert found.by_words_alone
        assert [hit.path for hit in found.hits] == [hit.path for hit in searcher.search(ask("steal the lease")).hits]
        with pytest.raises(EmbeddingFailed):
            searcher.search(ask("steal the lease", Mode.SEMANTIC))


@pytest.mark.parametrize("query", ["lease must:steal", "lease not:steal"])
def test_words_that_a_file_must_or_must_not_hold_are_looked_for_no_longer_than_a_pattern(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    with searching(desk) as searcher:
        assert searcher.search(ask(query, Mode.LEXICAL)).files < len(desk.texts())
        late = partial(deadline, seconds=-1.0)
        monkeypatch.setattr(searcher_module, "deadline", late)
        with pytest.raises(QueryTimeout):
            searcher.search(ask(query, Mode.LEXICAL))


def test_a_searcher_knows_how_many_files_use_a_name_and_the_names_of_a_file(desk: Desk) -> None:
    with searching(desk) as searcher:
        assert searcher.names_used()["Lease"] == 1.0
        assert searcher.names_used()["publish"] == 0.0
        assert searcher.files_used()["src/lease.py"] > searcher.files_used()["src/publish.py"] == 0.0
