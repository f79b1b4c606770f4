"""Trained weights become the file that the loader reads, always the same one, and nothing that does not fit."""

from __future__ import annotations

import json
import struct
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from cairn.embedding.identity import DIMENSION, MODEL_SHA256
from cairn.embedding.static import MODEL_FILE, PIECES, StaticEmbedder
from training.export import Weights, main, packed, quantised, vocabulary_of, weights_of


def safetensors(*tensors: tuple[str, str, list[int], bytes]) -> bytes:
    header: dict[str, object] = {"__metadata__": {"made": "by hand"}}
    body = b""
    for name, kind, shape, data in tensors:
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + body


def test_safetensors_and_a_numbered_vocabulary_are_laid_out_as_the_loader_reads_them(
    capsys: pytest.CaptureFixture, tmp_path: Path
) -> None:
    weights = safetensors(
        ("qw", "F32", [2], struct.pack("<2f", 3, 4)), ("q", "I8", [2, 3], b"abcdef"), ("s", "F32", [2], b"S" * 8)
    )
    (tmp_path / "weights").write_bytes(weights)
    (tmp_path / "vocabulary.json").write_text('{"##é": 1, "a": 0}')
    main(*(str(tmp_path / name) for name in ("weights", "vocabulary.json", "out")))
    data = (tmp_path / "out").read_bytes()
    assert data == b"S" * 8 + struct.pack("<2f", 3, 4) + b"abcdef" + "a\n##é".encode()
    assert capsys.readouterr().out.split() == [str(len(data)), sha256(data).hexdigest()]


def test_what_training_writes_is_loaded_and_gives_the_vectors_of_its_definition(tmp_path: Path) -> None:
    chance = np.random.default_rng(3)
    table = chance.normal(size=(PIECES, DIMENSION)).astype(np.float32)
    in_query = chance.uniform(0.5, 2, PIECES).astype(np.float32)
    pieces = ["[PAD]", "parse", "json", "##s", *(f"[unused{number}]" for number in range(PIECES - 4))]
    np.savez(tmp_path / "weights.npz", **quantised(table, in_query)._asdict())
    (tmp_path / "vocabulary.txt").write_text("\n".join(pieces), "utf-8")
    main(*(str(tmp_path / name) for name in ("weights.npz", "vocabulary.txt", "model.bin")))
    model = StaticEmbedder(str(tmp_path / "model.bin"), sha256((tmp_path / "model.bin").read_bytes()).hexdigest())
    of_code = table[1] + np.sqrt(2) * table[2] + table[3]
    of_query = in_query[1] * table[1] + in_query[2] * table[2]
    assert model.embed([b"parseJson(jsons)"])[0] @ of_code / np.linalg.norm(of_code) > 0.9999
    assert model.embed_query("parse json") @ of_query / np.linalg.norm(of_query) > 0.9999


def test_the_shipped_file_is_what_its_own_parts_pack_into() -> None:
    data = Path(MODEL_FILE).read_bytes()
    floats = np.frombuffer(data, "<f4", 2 * PIECES)
    table = np.frombuffer(data, np.int8, PIECES * DIMENSION, 8 * PIECES).reshape(PIECES, DIMENSION)
    pieces = data[8 * PIECES + PIECES * DIMENSION :].decode().split("\n")
    repacked = packed(Weights(table, floats[:PIECES], floats[PIECES:]), pieces)
    assert sha256(repacked).hexdigest() == MODEL_SHA256


def test_rounding_keeps_every_number_within_half_a_step_and_zeros_as_they_are() -> None:
    table = np.array([[0.5, -1.0, 0.25], [0, 0, 0], [1e-6, 2e-6, -3e-6]], np.float32)
    q, s, _ = quantised(table, np.ones(3, np.float32))
    assert (np.abs(q * s[:, None] - table) <= s[:, None] / 2 * 1.001).all()
    assert np.abs(q).max(axis=1).tolist() == [127, 0, 127]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_table_that_training_has_blown_up_is_refused(bad: float) -> None:
    table, ones = np.ones((2, 3), np.float32), np.ones(2, np.float32)
    table[1, 1] = bad
    with pytest.raises(SystemExit, match="no finite number"):
        quantised(table, ones)


@pytest.mark.parametrize("vocabulary", [["a"], ["a", "a"], ["a\n", "b"], ["a", "b", "c"]])
def test_a_vocabulary_that_does_not_fit_is_refused(vocabulary: list[str]) -> None:
    weights = quantised(np.ones((2, 3), np.float32), np.ones(2, np.float32))
    with pytest.raises(SystemExit):
        packed(weights, vocabulary)


def test_weights_of_another_type_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "w.npz", q=np.ones((2, 3), np.int16), s=np.ones(2, np.float32), qw=np.ones(2, np.float32))
    with pytest.raises(SystemExit, match="unexpected type or shape"):
        packed(weights_of(tmp_path / "w.npz"), ["a", "b"])


def test_rows_with_gaps_are_refused(tmp_path: Path) -> None:
    (tmp_path / "v.json").write_text('{"a": 1, "b": 2}')
    with pytest.raises(SystemExit, match="does not number"):
        vocabulary_of(tmp_path / "v.json")
