"""The bundled model: equal to a plain reading of its definition, the same in every batch, and never a swapped file."""

from __future__ import annotations

import math
import re
import struct
import threading
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cairn.embedding.static as pieces_module
import cairn.embedding.static as static_module
from cairn.embedding.identity import DIMENSION
from cairn.embedding.static import MODEL_FILE, PIECES, StaticEmbedder, WordPieces, words
from cairn.errors import ModelDamaged
from tests.conformance_report import PROJECT
from tests.support.faults import Faults

# --- A text becomes counted word pieces.


VOCABULARY = ["[PAD]", "parse", "http", "server", "##r", "##ser", "url", "s", "2", "##4", "öß", "pars", "変"]
WORDS = WordPieces(VOCABULARY)


def counted(*texts: bytes) -> list[dict[str, int]]:
    """How often each piece stands in each text."""
    found: list[dict[str, int]] = [{} for _ in texts]
    for row, piece, count in zip(*WORDS.count(texts), strict=True):
        found[row][VOCABULARY[piece]] = int(count)
    return found


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("HTTPServer", {"http": 1, "server": 1}),
        ("httpServer HTTP_server", {"http": 2, "server": 2}),
        ("parseURL24", {"parse": 1, "url": 1, "2": 1, "##4": 1}),
        ("Parser parseser", {"parse": 2, "##r": 1, "##ser": 1}),
        ("parsser", {"pars": 1, "##ser": 1}),
        ("URLs", {"##r": 1}),
        ("GRÖSSE Größe—größe", {"##r": 3, "s": 1, "öß": 2}),
        ("変数", {"変": 1}),
        ("[PAD] ??? zzz", {}),
        ("", {}),
    ],
)
def test_words_are_cut_at_case_digits_and_marks_and_then_into_the_longest_pieces(text: str, pieces: dict) -> None:
    assert counted(text.encode()) == [pieces]


def test_only_the_start_of_an_endless_word_counts() -> None:
    assert counted(b"parse" + b"r" * 1_000) == [{"parse": 1, "##r": 35}]


def test_bytes_that_are_not_utf_8_part_words() -> None:
    assert counted(b"parse\xffurl \xc3server\xe2\x82") == [{"parse": 1, "url": 1, "server": 1}]


@given(st.lists(st.text("pars HTUe_24öß変\n", max_size=12).map(str.encode) | st.binary(max_size=8), max_size=6))
def test_what_else_is_in_the_batch_does_not_matter(texts: list[bytes]) -> None:
    assert counted(*texts) == [counted(text)[0] for text in texts]


def test_a_vocabulary_of_the_words_of_a_text_leaves_none_of_it_out() -> None:
    text = "HTTPServer2 parse_URLs größe—変数 " + "x" * 50
    known = list(dict.fromkeys(words(text.encode())))
    assert known == ["http", "server", "2", "parse", "ur", "ls", "gr", "öß", "e", "変数", "x" * 40]
    assert WordPieces(known).count([text.encode()]).pieces.tolist() == list(range(len(known)))


MODEL = StaticEmbedder()


def snippets() -> list[bytes]:
    """200 pieces of real source, and texts that nobody would write."""
    lines = [
        line
        for path in sorted((PROJECT / "src" / "cairn").rglob("*.py"))
        for line in path.read_bytes().splitlines(keepends=True)
    ]
    found = [b"".join(lines[start : start + 20]) for start in range(0, 190 * 20, 20)]
    odd = [
        "",
        "   \n",
        "Größe ÉCOLE naïve 変数 x",
        "HTTPServer2 parseURLs XMLHttpRequest",
        "_a__b_",
        "x" * 5_000,
        "٣٤ ²",
    ]
    return [*found, *(text.encode() for text in odd), b"\xff\xfe bad \xc3", b"caf\xc3 au\x00lait", "a—b“c”".encode()]


class Reference:
    """The definition, word by word, in plain floats."""

    def __init__(self) -> None:
        data = Path(MODEL_FILE).read_bytes()
        self.scales = struct.unpack_from(f"<{PIECES}f", data)
        self.query = struct.unpack_from(f"<{PIECES}f", data, 4 * PIECES)
        self.table = np.frombuffer(data, np.int8, PIECES * DIMENSION, 8 * PIECES).reshape(PIECES, DIMENSION)
        vocabulary = data[8 * PIECES + PIECES * DIMENSION :].decode().split("\n")
        self.known = {piece: number for number, piece in enumerate(vocabulary)}

    def pieces(self, text: str) -> list[int]:
        found = []
        for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_A-Za-z]+", text):
            rest, mark = word.lower()[:40], ""
            while rest:
                ends = [end for end in range(len(rest), 0, -1) if mark + rest[:end] in self.known]
                if ends:
                    found.append(self.known[mark + rest[: ends[0]]])
                rest, mark = rest[ends[0] if ends else 1 :], "##"
        return found

    def vector(self, text: bytes, *, is_query: bool = False) -> np.ndarray:
        pieces = self.pieces(text.decode("utf-8", "replace"))
        total = np.zeros(DIMENSION)
        for piece in set(pieces):
            weight = math.sqrt(pieces.count(piece)) * self.scales[piece] * (self.query[piece] if is_query else 1)
            total += weight * self.table[piece]
        return total / (np.linalg.norm(total) or 1)


def test_vectors_equal_those_of_a_plain_implementation() -> None:
    texts, reference = snippets(), Reference()
    assert len(texts) == 200
    expected = np.array([reference.vector(text) for text in texts])
    assert np.allclose(MODEL.embed(texts), expected, atol=2e-6)
    assert np.abs(expected).sum(axis=1).astype(bool).sum() > 190


def test_queries_equal_those_of_a_plain_implementation() -> None:
    reference = Reference()
    for query in ("how are snapshots published", "parseURL", "Größe", ""):
        expected = reference.vector(query.encode(), is_query=True)
        assert np.allclose(MODEL.embed_query(query), expected, atol=2e-6)
    assert np.abs(MODEL.embed_query("parse") - MODEL.embed([b"parse"])[0]).max() < 1e-6, "one piece: only a direction"
    assert np.abs(MODEL.embed_query("the parser") - MODEL.embed([b"the parser"])[0]).max() > 1e-3


def test_a_vector_is_bit_for_bit_the_same_alone_and_in_any_batch() -> None:
    texts = snippets()
    together = MODEL.embed(texts)
    fresh = StaticEmbedder()
    alone = np.concatenate([fresh.embed([text]) for text in reversed(texts)])[::-1]
    assert together.tobytes() == alone.tobytes()
    assert MODEL.embed(texts * 3).tobytes() == together.tobytes() * 3


def test_vectors_are_the_same_on_every_machine() -> None:
    # Sums of whole numbers: neither the processor nor the number of threads may show in one bit.
    assert (
        sha256(MODEL.embed([b"def publish(snapshot): ...", b"HTTPServer"]).astype("<f4").tobytes()).hexdigest()
        == "1e968821684d713eda31367e12e7a9176b8dcec86514d4a67edfd6040f192189"
    )


def test_rows_have_unit_length_or_are_zero_where_nothing_is_understood() -> None:
    texts = snippets()
    lengths = np.linalg.norm(MODEL.embed(texts), axis=1)
    is_zero = [not re.search(r"\w", text.decode("utf-8", "replace")) for text in texts]
    assert lengths[is_zero].tolist() == [0] * sum(is_zero)
    assert sum(is_zero) == 2
    assert np.allclose(lengths[lengths > 0], 1, atol=1e-6)
    assert MODEL.embed([]).shape == (0, DIMENSION)


def test_related_words_lie_nearer_than_others() -> None:
    query = MODEL.embed_query("parse json")
    near, far = MODEL.embed([b"def decode_json(text): return json.loads(text)", b"void drawTriangle(Canvas canvas)"])
    assert query @ near > query @ far + 0.1


def test_a_query_that_is_not_utf_8_is_embedded_without_its_broken_parts() -> None:
    assert MODEL.embed_query("parse \udcff json").tobytes() == MODEL.embed_query("parse json").tobytes()


def test_what_was_forgotten_is_cut_again(faults: Faults) -> None:
    # A repository with more distinct words than the memory holds gives the same vectors.
    faults.limit(pieces_module, _MEMORY_BYTES=2_000)
    texts = snippets()
    small = StaticEmbedder()
    assert np.concatenate([small.embed([text]) for text in texts]).tobytes() == MODEL.embed(texts).tobytes()
    assert len(small._loaded.words._tokens) < 1_000  # type: ignore[union-attr]


def test_texts_larger_than_a_slice_are_embedded_one_by_one(faults: Faults) -> None:
    expected = MODEL.embed(snippets()).tobytes()
    faults.limit(static_module, _BYTES_AT_ONCE=700)
    assert MODEL.embed(snippets()).tobytes() == expected


def test_several_threads_may_share_the_model() -> None:
    texts, shared = snippets(), StaticEmbedder()
    expected = MODEL.embed(texts).tobytes()
    results: list[bytes] = []
    threads = [threading.Thread(target=lambda: results.append(shared.embed(texts).tobytes())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 4


def test_another_file_is_loaded_only_under_its_own_checksum_and_is_another_model(tmp_path: Path) -> None:
    data = Path(MODEL_FILE).read_bytes() + b"\nzzzz"
    path = tmp_path / "model.bin"
    path.write_bytes(data)
    other = StaticEmbedder(str(path), sha256(data).hexdigest())
    assert other.embed([b"parse"]).tobytes() == MODEL.embed([b"parse"]).tobytes()
    assert other.identity != MODEL.identity
    path.write_bytes(data + b"y")
    with pytest.raises(ModelDamaged, match="its checksum is another"):
        StaticEmbedder(str(path), sha256(data).hexdigest()).embed([b"x"])


def test_a_file_that_is_not_the_released_one_is_refused(tmp_path: Path) -> None:
    data = Path(MODEL_FILE).read_bytes()
    path = tmp_path / "model.bin"
    for changed in (b"", data[:-1], data + b"\0", data[:-1] + b"\0", b"\1" + data[1:]):
        path.write_bytes(changed)
        with pytest.raises(ModelDamaged, match=r"its (size|checksum) is another"):
            StaticEmbedder(str(path)).embed([b"x"])
    path.unlink()
    with pytest.raises(ModelDamaged, match="No such file"):
        StaticEmbedder(str(path)).embed_query("x")
