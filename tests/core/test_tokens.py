"""One text gives the same terms in the index and in a query, whatever way its names are written."""

from __future__ import annotations

import time
import tracemalloc
import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.core import tokens
from cairn.core.limits import MIB
from cairn.core.tokens import MOST_LETTERS, stem, terms, terms_of, words


def test_words_are_taken_as_they_stand() -> None:
    assert words("def getUser(x_1, *args): --dry-run a.b\tC++\n") == [
        "def",
        "getUser",
        "x_1",
        "args",
        "--dry-run",
        "a",
        "b",
        "C",
    ]
    assert words("naïve(größe) 日本語 हिन्दी") == ["naïve", "größe", "日本語", "हिन्दी"]
    assert words("") == words(" \n\0") == []


@given(st.text(st.characters(max_codepoint=127)))
def test_the_quick_way_for_ascii_gives_the_words_of_the_pattern(text: str) -> None:
    assert words(text) == tokens._WORD.findall(text)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("server", "server"),
        ("HTTPServer", "httpserver http server"),
        ("getUserName", "getusernam get user name"),
        ("get_user_name", "getusernam get user name"),
        ("GET_USER_NAME", "getusernam get user name"),
        ("get-user-name", "getusernam get user name"),
        ("getusername", "getusernam"),
        ("--dry-run", "dryrun dry run"),
        ("XMLHttpRequest", "xmlhttprequest xml http request"),
        ("userIDs", "userid user id"),
        ("URLs", "url"),
        ("__init__", "init"),
        ("utf8", "utf8 utf"),
        ("sha256sum", "sha256sum sha256 sha sum"),
        ("http2Server", "http2server http2 http server"),
        ("int32_t", "int32t int32 int"),
        ("x509", "x509"),
        ("to2", "to2"),
        ("is_valid", "isvalid valid"),
        ("to_be", "tobe"),
        ("foo_foo", "foofoo foo"),
        # Small words, marks and rests of sums.
        ("the", ""),
        ("IS", ""),
        ("-", ""),
        ("_", ""),
        ("", ""),
        ("ptr-", "ptr"),
        ("x-1", "x"),
        ("n-m", "n m"),
        ("len--", "len"),
        ("yes--no", "yes no"),
        # Numbers and constants.
        ("404", "404"),
        ("7", ""),
        ("65536", "65536"),
        ("1118381474", ""),
        ("1_000", "1000"),
        ("1_000_000", ""),
        ("2024-01-02", "2024 01 02"),
        ("10ms", "10ms"),
        ("1118381474u", ""),
        ("0xFF", "0xff"),
        ("0x9e3779b97f4a7c15", ""),
        # A digest is one name, however its digits fall.
        ("d41d8cd98f00b204e9800998ecf8427e", "d41d8cd98f00b204e9800998ecf8427e"),
        ("aB3xK9pQ2mZ7wR4t", "ab3xk9pq2mz7wr4t"),
        ("do_it_as_we_do_it", "doitaswedoit"),
        # Other scripts.
        ("Café", "café cafe"),
        ("größeBerechnen", "größeberechnen größe gross berechnen"),
        ("ПолучитьДанные2", "получитьданные2 получить данные2 данные"),  # noqa: RUF001
        ("é", "é e"),
        ("日本語", "日本 本語"),
        ("日", "日"),
        ("ユーザーid", "ユー ーザ ザー id"),
        ("サーバー_名", "サー ーバ バー 名"),
        ("हिन्दी", "हिन्दी"),
    ],
)
def test_a_word_is_taken_apart(word: str, expected: str) -> None:
    assert terms_of(word) == tuple(expected.split())


def test_one_name_is_found_however_it_is_written() -> None:
    for name in ("readOnly", "ReadOnly", "read_only", "READ_ONLY", "read-only", "readonly"):
        assert "readonly" in terms_of(name)
    for text in ("Café", "Cafe\u0301", "\uff23afé"):
        assert terms(text) == ["café", "cafe"]


def test_a_sentence_written_as_a_name_counts_by_its_words_and_a_blob_does_not() -> None:
    name = "test_a_deleted_file_is_gone_even_while_the_index_is_written_by_another_run"
    assert len(name) > MOST_LETTERS
    assert terms_of(name) == ("test", "delet", "file", "gone", "even", "index", "write", "anoth", "run")
    assert terms_of("QUJD" * 17) == ()
    assert terms_of("a" * MOST_LETTERS) == ("a" * MOST_LETTERS,)
    assert terms_of("a" * (MOST_LETTERS + 1)) == ()


def test_terms_keep_order_and_repetitions() -> None:
    assert terms("How are snapshots published? Publish the snapshot!") == ["snapshot", "publish", "publish", "snapshot"]


# --- endings ----------------------------------------------------------------------------------------------------------

FAMILIES = """
run runs running | make makes making | cache caches cached caching | parse parses parsed parsing | parser parsers
file files filing | fill fills filled filling | role roles | roll rolls rolled | query queries queried querying
retry retries retried retrying | class classes | box boxes | match matches matched matching | status statuses
alias aliases | index indexes indexed indexing indices | validate validates validation validating validator
connect connects connected connection connections | tokenize tokenizer tokenizers tokenization tokenizing
compile compiler compiling | format formats formatter formatted formatting | string strings | use uses used using
user users | configure configured configuration | install installs installed | control controls controlled controller
cancel cancels cancelled cancelling canceled | set sets setting settings | embed embeds embedded embedding
need needs needed | create creates created creation creator | iterate iterator iteration | notify notifies notification
serialize serializer serialization | route routes routing routed | value values valued | delete deletes deletion
write writes writing written wrote | handle handles handled handling | add adds added adding | open opens opened
base bases based | type types typed typing | state states stated | strip strips stripped stripping | stripe stripes
pipe pipes piped | mode modes | address addresses | publish publishes publisher publishing | tie ties tied
child children | id ids | transform transformation | implement implementation | thing things | function functions
""".replace("\n", "|").split("|")


@pytest.mark.parametrize("family", [family.strip() for family in FAMILIES if family.strip()])
def test_the_forms_of_a_word_meet(family: str) -> None:
    assert len({stem(word) for word in family.split()}) == 1, {word: stem(word) for word in family.split()}


def test_different_words_stay_apart() -> None:
    firsts = [family.split()[0] for family in FAMILIES if family.strip()]
    assert len({stem(word) for word in firsts}) == len(firsts)


@pytest.mark.parametrize(
    "word", ["string", "thing", "king", "ring", "bus", "this", "redis", "class", "feed", "speed", "red", "user",
             "order", "tree", "error", "action", "version", "session", "function", "file", "größe", "utf8", ""]
)  # fmt: skip
def test_a_word_without_an_ending_stays(word: str) -> None:
    assert stem(word) == word


# --- promises ---------------------------------------------------------------------------------------------------------


@given(st.text(max_size=80))
@settings(max_examples=400)
def test_a_term_is_short_lower_case_text_that_can_be_written(text: str) -> None:
    for term in terms(text):
        assert term
        term.encode()
        assert term == term.lower() or not term.isascii()
        assert len(term) <= 4 * MOST_LETTERS
        assert not set(term) & set(" _-\n\0")


@given(
    st.lists(st.sampled_from(["get", "User", "HTTP", "日本", "é", "_", "-", "8", "x", " "]), max_size=8).map("".join)
)
def test_the_terms_of_a_text_are_those_of_its_words_in_any_form(text: str) -> None:
    assert terms(text) == [term for word in words(text) for term in terms_of(word)]
    assert terms(unicodedata.normalize("NFD", text)) == terms(unicodedata.normalize("NFC", text))
    for word in words(text):
        assert len(set(terms_of(word))) == len(terms_of(word))


HURTS: dict[str, Callable[[int], str]] = {
    "letters": lambda size: "a" * size,
    "camel": lambda size: "aB" * (size // 2),
    "snake": lambda size: "a_" * (size // 2),
    "kebab": lambda size: "a-" * (size // 2),
    "digits": lambda size: "A1" * (size // 2),
    "ideographs": lambda size: "日" * (size // 3),
    "ligatures": lambda size: "\ufdfa" * (size // 9),
    "accents": lambda size: "e\u0301" * (size // 3),
    "names": lambda size: " ".join(f"{i:x}aA_{i}" for i in range(size // 52)),
}


@pytest.mark.parametrize("share", [4, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", HURTS)
def test_text_made_to_hurt_costs_little(name: str, share: int) -> None:
    """A quarter of a mebibyte at a quarter of the cost; the long run has all of it."""
    text = HURTS[name](MIB // share)
    tracemalloc.start()
    try:
        started = time.process_time()
        terms(text)
        assert time.process_time() - started < 20.0 / share
        assert tracemalloc.get_traced_memory()[1] < 128 * MIB // share
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("greet", b"greet(regreet, greeter, $greet, x.greet)", [0, 34]),
        ("a.b", b"a.b axb", [0]),
        ("gr\udcffet", b"gr\xffet", [0]),
    ],
)
def test_a_name_is_found_where_it_is_not_a_part_of_a_longer_one(name: str, text: bytes, found: list[int]) -> None:
    assert [match.start() for match in tokens.whole_name(name).finditer(text)] == found
