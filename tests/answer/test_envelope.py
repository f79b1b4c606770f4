"""Envelopes against their shipped schemas, their bounds and the golden files.

`CAIRN_UPDATE_GOLDEN=1 pytest tests/answer/test_envelope.py` writes tests/golden/envelopes/*.json anew; read the diff.
"""

from __future__ import annotations

import inspect
import json
import re
import unicodedata
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from cairn import errors
from cairn.answer import envelope
from cairn.answer.envelope import ChainLink, Envelope, FileRow, RuleRow, SkipRow, load_schema
from cairn.ask.gate import NonOkReason, Status
from cairn.core.limits import DEFAULT_ENVELOPE_BYTES, MAX_ENVELOPE_BYTES
from cairn.core.text import MAX_MESSAGE_CHARS, plain
from cairn.core.types import SKIP_SENTENCES, SkipReason
from cairn.errors import BadPathKey, CairnError, ConfigError, PathNotFound, RootNotFound
from tests.golden_files import GOLDEN, is_golden

FOLDER = GOLDEN / "envelopes"
VALIDATORS = {name: Draft202012Validator(load_schema(name)) for name in envelope.SCHEMAS}
MANY = settings(max_examples=120, derandomize=True, deadline=None)

# Every character there is, surrogates (bytes of a name that are no UTF-8) included.
WILD = st.text(
    st.characters() | st.sampled_from('\udcff\udc80\u202e\u2028\x00\x1b\x7f\x85\ufeff\U000e0041"\\'), max_size=30
)
FILE_ROWS = st.builds(FileRow, WILD, st.integers(0, 2**40), st.none() | st.just("python"))
SKIP_ROWS = st.builds(SkipRow, WILD, st.sampled_from(SkipReason), WILD, st.booleans())
RULES = st.builds(RuleRow, WILD, st.none() | st.integers(1, 10_000), WILD)


def valid(found: Envelope, *, most: int = MAX_ENVELOPE_BYTES) -> dict[str, Any]:
    """What a reader of the JSON gets, after the checks that hold for every envelope."""
    text = found.to_json()
    data = text.encode("utf-8")
    assert len(data) <= most
    # Unassigned and private characters are no danger, and Python calls them unprintable.
    assert text.isprintable() or all(unicodedata.category(c) in ("Zs", "Co", "Cn") for c in text if not c.isprintable())
    value: dict[str, Any] = json.loads(text)
    if len(data) <= DEFAULT_ENVELOPE_BYTES:  # beyond that the validator takes seconds and sees the same shapes again
        VALIDATORS[value["schema"]].validate(value)
    assert list(value)[:4] == ["schema", "status", "path", "codebaseRoot"]
    return value


def tree(count: int) -> list[FileRow]:
    return [FileRow(f"src/part{n // 100:04}/file{n:06}.py", n, "python") for n in range(count)]


# --- schemas ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", envelope.SCHEMAS)
def test_a_shipped_schema_is_closed_and_correct(name: str):
    schema = load_schema(name)
    Draft202012Validator.check_schema(schema)
    assert schema["properties"]["schema"] == {"const": name}

    def check(part: Any) -> None:
        if isinstance(part, dict):
            if part.get("type") == "object":
                assert "additionalProperties" in part
                if part["additionalProperties"] is False:
                    assert set(part["required"]) <= set(part["properties"])
            for inner in part.values():
                check(inner)
        elif isinstance(part, list):
            for inner in part:
                check(inner)

    check(schema)


def test_the_schemas_know_every_skip_reason():
    for name in ("cairn.files/1", "cairn.why/1"):
        assert load_schema(name)["$defs"]["reason"]["enum"] == [reason.value for reason in SkipReason]


@pytest.mark.parametrize("name", ["cairn.search/9", "../envelope", "cairn.files.1", ""])
def test_a_schema_that_is_not_shipped_is_not_looked_for(name: str):
    with pytest.raises(ValueError, match="there is no schema"):
        load_schema(name)


def test_statuses_and_gating_reasons_are_closed_sets():
    gating = {"not_ready", "requires_reindex", "not_indexed"}
    others = {"ok", "unsupported", "not_found", "ambiguous", "needs_decision", "blocked", "error"}
    assert {status.value for status in Status} == gating | others
    assert [reason.value for reason in NonOkReason] == ["indexing", "requires_reindex", "not_indexed"]


# --- golden files -----------------------------------------------------------------------------------------------------

SKIPS = [
    SkipRow("build", SkipReason.IGNORED, ".gitignore:1: build/", folder=True),
    SkipRow("keys/\\xff.pem", SkipReason.SENSITIVE_NAME),
    SkipRow("big.bin", SkipReason.TOO_LARGE),
    SkipRow("big2.bin", SkipReason.TOO_LARGE),
]
EXAMPLES = {
    "files": lambda: envelope.file_list(
        path=".",
        root="/r",
        eligible=[FileRow("README.md", 120, "markdown"), FileRow("src/é\u202e.py", 7, "python"), FileRow("x", 0, None)],
        skipped=SKIPS,
    ),
    "files_skipped": lambda: envelope.file_list(
        path="/r/src",
        root="/r",
        eligible=tree(2),
        skipped=SKIPS,
        show_skipped=True,
        collisions=[["A.py", "a.py"]],
        warnings=["A warning with \u202e in it."],
        hints={"ignored_rules": "3 files would be hidden by rules outside the repository; they are not honoured."},
    ),
    "files_page": lambda: envelope.file_list(path=".", root="/r", eligible=tree(10), skipped=[], budget=512),
    "why_eligible": lambda: envelope.why(path="a/b.py", root="/r", file="a/b.py", reason=None),
    "why_ignored": lambda: envelope.why(
        path="../x/b.o",
        root="/r",
        file="x/b.o",
        reason=SkipReason.IGNORED,
        detail=".gitignore:2: *.o",
        rule=RuleRow(".gitignore", 2, "*.o"),
        chain=[ChainLink("x", taken=True), ChainLink("x/b.o", taken=False, rule=RuleRow(".gitignore", 2, "*.o"))],
    ),
    "error_config": lambda: envelope.error(
        ConfigError(file=".cairn.toml", why="there is no table called 'indx' (did you mean index?)"),
        path=".",
        root="/r",
    ),
    "error_path": lambda: envelope.error(RootNotFound(path="no/such\x1b[31m")),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_envelope_is_what_it_was(name: str):
    text = EXAMPLES[name]().to_json()
    valid(EXAMPLES[name]())
    assert is_golden(f"envelopes/{name}.json", text + "\n")


def test_there_is_no_golden_file_without_its_example():
    assert {file.stem for file in FOLDER.iterdir()} == set(EXAMPLES)


# --- files ------------------------------------------------------------------------------------------------------------


def pages(**arguments: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    after = None
    while True:
        value = valid(envelope.file_list(path=".", root="/r", after=after, **arguments))
        found.append(value)
        after = value.get("continuation")
        if after is None:
            return found


@pytest.mark.parametrize("budget", [1, 700, DEFAULT_ENVELOPE_BYTES, MAX_ENVELOPE_BYTES, 10 * MAX_ENVELOPE_BYTES])
def test_the_pages_of_a_list_hold_every_row_once_and_each_page_counts_the_whole_tree(budget: int):
    count = {1: 40, 700: 40, DEFAULT_ENVELOPE_BYTES: 2_000}.get(budget, 15_000)
    files, skips = tree(count), [SkipRow(row.path + ".o", SkipReason.IGNORED) for row in tree(count // 2)]
    found = pages(eligible=files, skipped=skips, show_skipped=True, budget=budget)
    assert [row["path"] for page in found for row in page["results"]] == [row.path for row in files]
    assert [row["path"] for page in found for row in page["skipped"]] == [row.path for row in skips]
    assert {json.dumps(page["coverage"]) for page in found} == {
        json.dumps({"eligible": count, "skipped": {"ignored": count // 2}})
    }
    assert len(found) > 1
    seen = 0
    for page in found:
        seen += len(page["results"]) + len(page["skipped"])
        left = sum(hit["left"] for hit in page["limitsHit"])
        assert seen + left == len(files) + len(skips)
        assert bool(left) == ("continuation" in page)


def test_a_page_is_as_full_as_its_budget_allows():
    for budget in (2_000, DEFAULT_ENVELOPE_BYTES, MAX_ENVELOPE_BYTES):
        text = envelope.file_list(path=".", root="/r", eligible=tree(30_000), skipped=[], budget=budget).to_json()
        assert budget - 400 < len(text.encode()) <= budget


def test_a_page_without_the_skips_still_counts_them():
    (page,) = pages(eligible=tree(1), skipped=SKIPS)
    assert page["skipped"] == []
    assert page["coverage"]["skipped"] == {"ignored": 1, "sensitive_name": 1, "too_large": 2}
    assert page["limitsHit"] == []


def test_twins_with_one_key_are_never_parted_by_the_end_of_a_page():
    files = [FileRow(f"file{n // 2:03}", n, None) for n in range(200)]
    found = pages(eligible=files, skipped=[], budget=1_000)
    assert [row["size"] for page in found for row in page["results"]] == list(range(200))
    assert len(found) > 3


def test_only_a_lone_path_exceeds_the_budget():
    files = [FileRow(f"{n:03}" + "x" * (400 if n % 3 == 0 else 1), 1, None) for n in range(30)]
    for budget in range(300, 3_000, 7):
        found = envelope.file_list(path=".", root="/r", eligible=files, skipped=[], budget=budget)
        rows = valid(found)["results"]
        assert len(rows) == 1 or len(found.to_json().encode()) <= budget


def test_one_path_that_is_larger_than_the_budget_is_still_given():
    files = [FileRow(letter * 4_000, 1, None) for letter in "abc"]
    found = pages(eligible=files, skipped=[], budget=600)
    assert [len(page["results"]) for page in found] == [1, 1, 1]


def test_the_largest_hostile_lists_stay_below_the_hard_limit():
    worst = "\x01" * 4_096
    value = valid(
        envelope.file_list(
            path="\U000e0041" * 100_000,
            root="\U000e0041" * 100_000,
            eligible=[FileRow(worst + str(n), 1, None) for n in range(50)],
            skipped=[SkipRow(worst + str(n), SkipReason.ALIAS, "\x01" * 10_000) for n in range(50)],
            show_skipped=True,
            collisions=[[worst] * 1_000] * 100,
            warnings=["\U0001f600" * 5_000] * 500,
            hints={f"hint{n}": "\U0001f600" * 5_000 for n in range(50)},
            budget=MAX_ENVELOPE_BYTES,
        )
    )
    assert value["collisions"][0]["count"] == 1_000
    cut = {hit["field"]: hit["left"] for hit in value["limitsHit"]}
    assert cut["collisions"] == 100 - len(value["collisions"])
    assert cut["warnings"] == 480
    assert cut["results"] == 50 - len(value["results"])


@given(
    st.lists(FILE_ROWS, max_size=6),
    st.lists(SKIP_ROWS, max_size=6),
    st.booleans(),
    st.lists(st.lists(WILD, min_size=2, max_size=6), max_size=3),
    st.lists(WILD, max_size=3),
    st.none() | WILD,
    st.integers(-1, 3_000),
)
@MANY
def test_any_list_of_files_gives_a_valid_envelope(files, skips, show, collisions, warnings, after, budget):
    value = valid(
        envelope.file_list(
            path="p\udcff",
            root="/r\x85",
            eligible=files,
            skipped=skips,
            show_skipped=show,
            collisions=collisions,
            warnings=warnings,
            hints=dict.fromkeys(["a", "b"], "".join(warnings)),
            after=after,
            budget=budget,
        )
    )
    assert value["coverage"]["eligible"] == len(files)
    assert sum(value["coverage"]["skipped"].values()) == len(skips)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
@MANY
def test_a_name_comes_out_of_the_json_as_it_went_in(name: str):
    value = valid(envelope.file_list(path=name, root=name, eligible=[FileRow(name, 1, None)], skipped=[]))
    assert value["results"][0]["path"] == value["path"] == value["codebaseRoot"] == name


# --- why and error ----------------------------------------------------------------------------------------------------


@given(
    WILD,
    st.none() | st.sampled_from(SkipReason),
    WILD,
    st.none() | RULES,
    st.lists(st.builds(ChainLink, WILD, st.booleans(), st.none() | RULES), max_size=80),
)
@MANY
def test_any_explanation_gives_a_valid_envelope(file, reason, detail, rule, chain):
    value = valid(
        envelope.why(path=file, root="/r", file=file, reason=reason, detail=detail, rule=rule, chain=chain),
    )
    assert value["sentence"] == (SKIP_SENTENCES[reason] if reason else envelope.ELIGIBLE_SENTENCE)
    assert (value["outcome"] == "skipped") == (value["reason"] is not None)
    assert len(value["chain"]) + sum(hit["left"] for hit in value["limitsHit"]) == len(chain)


def every_error() -> list[type[CairnError]]:
    found = [value for value in vars(errors).values() if inspect.isclass(value) and issubclass(value, CairnError)]
    assert len(found) > 10
    return found


def fields_of(error: type[CairnError], value: object) -> dict[str, object]:
    return dict.fromkeys(re.findall(r"\{(\w+)\}", error.__doc__ or ""), value)


@pytest.mark.parametrize("kind", every_error())
def test_every_error_gives_a_valid_envelope_whatever_its_fields_hold(kind: type[CairnError]):
    for hostile in ("plain", "\x1b[2J\u202e\udcff\n{x}", "y" * 100_000, 3, 2**80, None, b"\xff", ["a"], 1.5):
        exc = kind(**fields_of(kind, hostile))
        value = valid(envelope.error(exc, path="p", root=None))
        assert value["status"] == "error"
        assert value["error"]["code"] == kind.code
        assert value["error"]["retryable"] is kind.retryable
        assert set(value["error"]["details"]) == set(exc.fields)


def test_an_error_says_what_happened_and_what_to_do_next():
    value = valid(envelope.error(PathNotFound(path="a", root="/r"), path="a", root="/r"))
    assert value["error"] == {
        "code": "path_not_found",
        "message": "There is nothing at a under /r.",
        "retryable": False,
        "details": {"path": "a", "root": "/r"},
    }
    assert value["hints"] == {"next": "Check the spelling; `cairn files` lists what is there."}


def test_a_hostile_name_in_a_message_is_visible_and_short():
    exc = BadPathKey(path="a\u202eb\x1b[31m\n" + "z" * 5_000, why="it is long")
    value = valid(envelope.error(exc))
    assert value["error"]["message"].startswith("a\\u202eb\\x1b[31m\\x0azzz")
    assert len(value["error"]["message"]) == MAX_MESSAGE_CHARS + 3


@pytest.mark.parametrize("char", "\x00\x1b\x7f\x85\u200b\u2028\u202e\u2066\ufeff\U000e0041")
def test_a_hidden_character_is_escaped_in_the_json_and_there_for_its_reader(char: str):
    found = envelope.file_list(path=".", root="/r", eligible=[FileRow(f"a{char}b", 1, None)], skipped=[])
    assert char not in found.to_json()
    assert found.to_json().isascii()
    assert valid(found)["results"][0]["path"] == f"a{char}b"


def test_half_a_character_becomes_text_that_every_reader_takes():
    found = envelope.file_list(path=".", root="/r", eligible=[FileRow("a\udcffb", 1, None)], skipped=[])
    assert valid(found)["results"][0]["path"] == "a\\udcffb"


# --- text -------------------------------------------------------------------------------------------------------------


@given(WILD)
@MANY
def test_plain_text_has_nothing_hidden_and_leaves_ordinary_text_alone(text: str):
    safe = plain(text)
    assert not any(unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") for char in safe)
    assert not any(
        unicodedata.bidirectional(char) in ("RLO", "LRO", "RLE", "LRE", "PDF", "RLI", "LRI", "FSI", "PDI")
        for char in safe
    )
    assert plain(safe) == safe
    if text.isprintable() and text.isascii():
        assert safe == text


@pytest.mark.parametrize("text", ["héllo wörld", "日本語", "עברית", "🙂", "a\\b"])
def test_plain_text_in_any_language_stays_as_it_is(text: str):
    assert plain(text) == text


def test_fit_counts_bytes_and_commas_and_never_gives_nothing():
    assert envelope.fit(["ab"] * 10, 15) == ["ab"] * 3
    assert envelope.fit(["ab"] * 10, 14) == ["ab"] * 2
    assert envelope.fit(["é"] * 10, 15) == ["é"] * 3
    assert envelope.fit(["long" * 100, "b"], 0) == ["long" * 100]
    assert envelope.fit([], 100) == []


def test_an_envelope_that_grew_without_bound_does_not_leave():
    with pytest.raises(AssertionError):
        envelope.ok("cairn.files/1", path=".", root="/", body=[("results", ["x" * MAX_ENVELOPE_BYTES])]).to_json()
