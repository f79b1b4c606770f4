"""The cache of vectors may forget; it never lies, never grows beyond its bound, and never fails a run."""

from __future__ import annotations

import errno
import multiprocessing
import struct
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cairn.embedding.cache as cache_module
from cairn.core.fingerprint import embed_fingerprint
from cairn.embedding.cache import EmbeddingCache, Pack, PackDamaged, as_keys, embed_with_cache, pack_bytes, pack_size
from cairn.embedding.model import Vectors
from cairn.errors import EmbeddingFailed
from cairn.store.disk import Disk
from cairn.store.fs import DiskStat, Fs, Map
from tests.conformance import conforms
from tests.store.disks import FAULTS, Call, FailingDisk, Fault, MemoryDisk, Mode, TracingDisk
from tests.support.fake_embedder import FakeEmbedder
from tests.support.faults import Faults

# --- A pack gives what was put in, and proves it.


FINGERPRINT = b"f" * 32


def opened(data: bytes, fingerprint: bytes = FINGERPRINT) -> Pack:
    return Pack(Map(data, DiskStat(1, 1, len(data), 0, 0, 0, 0)), fingerprint)


@given(st.lists(st.binary(min_size=32, max_size=32), unique=True, max_size=8), st.integers(1, 5))
def test_every_vector_is_found_under_its_key_and_no_other(keys: list[bytes], dimension: int) -> None:
    vectors = np.arange(len(keys) * dimension, dtype=np.float32).reshape(len(keys), dimension)
    data = pack_bytes(FINGERPRINT, as_keys([key.hex() for key in keys]), vectors)
    assert len(data) == pack_size(len(keys), dimension)
    pack = opened(data)
    wanted = as_keys([key.hex() for key in [b"?" * 32, *reversed(keys)]])
    here, rows = pack.find(wanted)
    found = dict(zip(here.tolist(), pack.vectors(rows.tolist()).tolist(), strict=True))
    expected = dict(enumerate(reversed(vectors.tolist()), 1))
    assert {place: vector for place, vector in found.items() if place} == expected
    assert (0 in found) == (b"?" * 32 in keys)
    pack.close()
    pack.close()


def test_the_same_vectors_give_the_same_bytes_in_any_order() -> None:
    keys = as_keys(["ab" * 32, "cd" * 32])
    vectors = np.array([[1, 2], [3, 4]], np.float32)
    assert pack_bytes(FINGERPRINT, keys, vectors) == pack_bytes(FINGERPRINT, keys[::-1], vectors[::-1])


def test_a_pack_of_another_fingerprint_is_not_believed() -> None:
    data = pack_bytes(FINGERPRINT, as_keys(["ab" * 32]), np.ones((1, 2), np.float32))
    with pytest.raises(PackDamaged):
        opened(data, b"g" * 32)


def test_a_vector_that_was_changed_is_refused_and_its_neighbour_is_not() -> None:
    keys = as_keys(["ab" * 32, "cd" * 32])
    data = pack_bytes(FINGERPRINT, keys, np.array([[1, 2], [3, 4]], np.float32))
    pack = opened(data[:-1] + b"\x7f")
    assert pack.vectors([0]).tolist() == [[1, 2]]
    with pytest.raises(PackDamaged):
        pack.vectors([1])


DIMENSION = 8
FAKE = FakeEmbedder(DIMENSION, cheap=False)
PRINT, OTHER_PRINT = ("a1" * 32, "b2" * 32)


def hashes(*names: object) -> list[str]:
    return [sha256(str(name).encode()).hexdigest() for name in names]


def truth(chunk_hashes: Sequence[str]) -> Vectors:
    """The one right vector of every hash."""
    return FAKE.embed([one.encode() for one in chunk_hashes])


def put(fs: Fs, *names: object, most: int = 1 << 20, fingerprint: str = PRINT) -> None:
    with EmbeddingCache(fs, most) as cache:
        cache.put_many(fingerprint, hashes(*names), truth(hashes(*names)))


def known(fs: Fs, *names: object, most: int = 1 << 20, fingerprint: str = PRINT) -> set[object]:
    """Which of these a new process finds; fails on a vector that is not the right one."""
    with EmbeddingCache(fs, most) as cache:
        found = cache.get_many(fingerprint, hashes(*names))
    for place, vector in found.items():
        assert vector.tobytes() == truth(hashes(names[place])).tobytes()
    return {names[place] for place in found}


def size_of(fs: Fs) -> int:
    return sum(fs.stat(name).size for name in fs.list_folder(""))


# --- what it keeps ----------------------------------------------------------------------------------------------------


@conforms("003.EC2")
def test_a_vector_is_found_by_fingerprint_and_chunk_hash_and_by_nothing_less() -> None:
    fs = MemoryDisk()
    put(fs, 1, 2)
    assert known(fs, 1, 2, 3) == {1, 2}
    assert known(fs, 1, 2, fingerprint=OTHER_PRINT) == set()
    with EmbeddingCache(fs) as cache:
        cache.put_many(OTHER_PRINT, hashes(1), np.ones((1, 3), np.float32))
        assert cache.get_many(OTHER_PRINT, hashes(1))[0].tolist() == [1, 1, 1]
    assert known(fs, 1, 2) == {1, 2}


@conforms("003.EC2")
def test_another_model_never_gets_the_vectors_of_this_one() -> None:
    fs = MemoryDisk()
    prints = [
        embed_fingerprint(model.identity, chunker_version=chunker, ignore_engine_version="1")
        for model in (FakeEmbedder(4), FakeEmbedder(8))
        for chunker in ("1", "2")
    ]
    for place, fingerprint in enumerate(prints):
        assert known(fs, 1, fingerprint=fingerprint) == set(), prints[place]
        put(fs, 1, fingerprint=fingerprint)


def test_the_last_vector_put_under_a_key_is_found_and_duplicates_are_harmless() -> None:
    fs = MemoryDisk()
    with EmbeddingCache(fs) as cache:
        for value in (1.0, 2.0):
            cache.put_many(PRINT, hashes("x", "x"), np.full((2, 2), value, np.float32))
        assert {place: vector.tolist() for place, vector in cache.get_many(PRINT, hashes("x", "y", "x")).items()} == {
            0: [2, 2],
            2: [2, 2],
        }


def test_hashes_that_end_in_zeros_keep_their_zeros() -> None:
    fs = MemoryDisk()
    keys = ["00" * 32, "ab" + "00" * 31, "00" * 31 + "01"]
    with EmbeddingCache(fs) as cache:
        cache.put_many(PRINT, keys, truth(keys))
        found = cache.get_many(PRINT, keys)
    assert np.stack([found[place] for place in range(3)]).tobytes() == truth(keys).tobytes()


@pytest.mark.parametrize("bad", ["", "ab", "zz" * 32, "AB" * 32, "a " * 32])
def test_what_is_no_key_is_refused(bad: str) -> None:
    with EmbeddingCache(MemoryDisk()) as cache:
        with pytest.raises(ValueError, match="64 hex digits"):
            cache.get_many(PRINT, [bad])
        with pytest.raises(ValueError, match="64 hex digits"):
            cache.put_many(bad, hashes(1), truth(hashes(1)))


def test_vectors_that_are_not_finite_or_not_as_many_are_refused() -> None:
    with EmbeddingCache(MemoryDisk()) as cache:
        for vectors in (np.full((1, 2), np.nan), np.zeros((2, 2)), np.zeros(2)):
            with pytest.raises(EmbeddingFailed):
                cache.put_many(PRINT, hashes(1), vectors.astype(np.float32))


def test_nothing_asked_or_put_is_nothing_done() -> None:
    fs = MemoryDisk()
    put(fs)
    assert known(fs) == set()
    assert [name for name in fs.list_folder("") if name.endswith(".pack")] == []


def test_small_packs_do_not_pile_up_and_are_not_written_again_with_each_new_one() -> None:
    fs = MemoryDisk()
    written = 0
    for name in range(100):
        put(fs, name)
        written += fs.stat(fs.list_folder("")[-2]).size
    assert len(fs.list_folder("")) <= 10
    assert written < 10 * size_of(fs)
    assert known(fs, *range(100)) == set(range(100))


# --- how much it keeps ------------------------------------------------------------------------------------------------


@conforms("003.EV1")
@pytest.mark.parametrize("batch", [1, 7, 64])
def test_filled_to_twice_its_size_it_stays_within_it_and_keeps_what_is_used(batch: int) -> None:
    fs = MemoryDisk()
    most = pack_size(256, DIMENSION)
    put(fs, "hot", "warm", "cold", most=most)
    with EmbeddingCache(fs, most) as cache:
        for start in range(0, 512, batch):
            names = range(start, start + batch)
            cache.put_many(PRINT, hashes(*names), truth(hashes(*names)))
            assert size_of(fs) <= most
            if start // batch % max(1, 64 // batch) == 0:
                assert set(cache.get_many(PRINT, hashes("hot", "warm"))) == {0, 1}, start
    assert known(fs, "hot", "warm", "cold", most=most) == {"hot", "warm"}
    newest = set(range(512 - 100, 512))
    assert known(fs, *newest, most=most) == newest


@conforms("003.EV1")
def test_vectors_of_a_model_nobody_uses_any_more_make_room() -> None:
    fs = MemoryDisk()
    most = pack_size(64, DIMENSION)
    put(fs, *range(30), most=most, fingerprint=OTHER_PRINT)
    for start in range(0, 96, 4):
        put(fs, *range(start, start + 4), most=most)
    assert known(fs, *range(30), most=most, fingerprint=OTHER_PRINT) == set()
    assert size_of(fs) <= most


def test_what_is_larger_than_the_cache_is_not_kept() -> None:
    fs = MemoryDisk()
    put(fs, 1, 2, 3, most=10)
    assert size_of(fs) == 0
    assert known(fs, 1, 2, 3) == set()


# --- damage -----------------------------------------------------------------------------------------------------------


def rewritten(fs: MemoryDisk, change: Callable[[bytes], bytes]) -> MemoryDisk:
    """The same disk, with its one pack changed."""
    after = fs.crash("kill")
    (name,) = (name for name in after.list_folder("") if name.endswith(".pack"))
    data = after.read(name, 1 << 20)
    after.remove(name)
    after.create_bytes(name, change(data))
    return after


def test_no_flipped_byte_and_no_cut_ever_gives_a_wrong_vector() -> None:
    fs = MemoryDisk()
    put(fs, 1, 2, 3)
    size = size_of(fs)
    for place in range(size):
        for mask in (0x01, 0x80, 0xFF):
            flipped = rewritten(
                fs, lambda data, place=place, mask=mask: data[:place] + bytes([data[place] ^ mask]) + data[place + 1 :]
            )
            # `known` compares every vector; a damaged pack is gone afterwards.
            assert known(flipped, 1, 2, 3) == set()
            assert not any(name.endswith(".pack") for name in flipped.list_folder(""))
        assert known(rewritten(fs, lambda data, place=place: data[:place]), 1, 2, 3) == set()
        assert known(rewritten(fs, lambda data, place=place: data.ljust(size + place + 1, b"\0")), 1, 2, 3) == set()


def test_a_header_that_claims_more_than_there_is_costs_nothing() -> None:
    fs = MemoryDisk()
    put(fs, 1)
    for dimension, count in ((DIMENSION, 2**63), (2**31, 2**31), (2**32 - 1, 2**64 - 1), (0, 1), (DIMENSION, 0)):
        lying = rewritten(fs, lambda data, d=dimension, c=count: data[:12] + struct.pack("<IQ", d, c) + data[24:])
        assert known(lying, 1) == set()


def test_a_damaged_pack_is_not_carried_into_a_new_one() -> None:
    fs = MemoryDisk()
    put(fs, 1)
    for place in (0, -1):
        damaged = rewritten(fs, lambda data, place=place: data[:place] + bytes([data[place] ^ 1]) + data[place:][1:])
        put(damaged, 2)
        assert known(damaged, 1, 2) == {2}
    misnamed = fs.crash("kill")
    (name,) = (name for name in misnamed.list_folder("") if name.endswith(".pack"))
    misnamed.create_bytes(f"000000000009-{OTHER_PRINT}.pack", misnamed.read(name, 1 << 20))
    assert known(misnamed, 1, fingerprint=OTHER_PRINT) == set()
    assert known(misnamed, 1) == {1}


def test_foreign_names_are_left_alone() -> None:
    fs = MemoryDisk()
    fs.create_bytes("README", b"mine")
    fs.make_folder("1.pack")
    put(fs, 1)
    assert known(fs, 1) == {1}
    assert {"README", "1.pack"} <= set(fs.list_folder(""))


# --- a disk that dies or fails ----------------------------------------------------------------------------------------

MOST = pack_size(12, DIMENSION)


@pytest.fixture
def large_steps(faults: Faults) -> None:
    """A third of the cache may be one pack, so that a little work merges, evicts and promotes."""
    faults.limit(cache_module, _STEPS=3)


def work(fs: Fs, done: list[object] | None = None) -> None:
    """Put and ask for the first again and again; `done` is what was put last."""
    with EmbeddingCache(fs, MOST) as cache:
        for name in range(6):
            names = [name, f"{name}+"] if name % 3 == 0 else [name]
            cache.put_many(PRINT, hashes(*names), truth(hashes(*names)))
            if done is not None:
                done[:] = names
            for place, vector in cache.get_many(PRINT, hashes(0, name)).items():
                assert vector.tobytes() == truth(hashes((0, name)[place])).tobytes()


@pytest.mark.usefixtures("large_steps")
def test_the_work_that_is_disturbed_below_merges_evicts_and_promotes() -> None:
    fs = TracingDisk(MemoryDisk())
    work(fs)
    written = [call.other for call in fs.calls if call.what == "claim"]
    removed = [call.path for call in fs.calls if call.what == "remove" and call.path.endswith(".pack")]
    assert len(written) > 6, "nothing was put again"
    assert len(removed) > 2, "nothing was merged"
    assert removed[1] == written[0], "the oldest was not evicted"
    assert known(fs, "0+", *range(6), most=MOST) == set(range(6))


@pytest.mark.usefixtures("large_steps")
@pytest.mark.parametrize("mode", ["kill", "lose", "tear"])
def test_a_cut_at_any_call_leaves_only_right_vectors_and_loses_nothing_that_was_put(mode: Mode) -> None:
    inner = MemoryDisk()
    done: list[object] = []
    cuts = 0

    def look(call: Call) -> None:
        nonlocal cuts
        for seed in range(3 if mode == "tear" else 1):
            cuts += 1
            after = inner.crash(mode, seed=cuts * 7 + seed)
            assert known(after, *done, most=MOST) == set(done), call
            put(after, "next", most=MOST)
            assert known(after, "next", *done, most=MOST) == {"next", *done}, call
            assert size_of(after) <= MOST

    work(TracingDisk(inner, look), done)
    assert cuts > 80


@pytest.mark.usefixtures("large_steps")
@pytest.mark.parametrize(("number", "how"), FAULTS)
def test_a_call_that_fails_makes_it_forget_at_most_and_never_fails_the_run(number: int, how: str) -> None:
    at = 0
    while True:
        at += 1
        inner = MemoryDisk()
        failing = FailingDisk(inner, Fault(at, number, how))  # type: ignore[arg-type]
        work(failing)
        if failing.fired is None:
            break
        put(inner, "next", most=MOST)
        assert known(inner, "next", most=MOST) == {"next"}, failing.fired
        assert size_of(inner) <= MOST, failing.fired
    assert at > 80


def test_a_disk_that_always_fails_is_a_cache_that_knows_nothing() -> None:
    def fail(call: Call) -> None:
        raise OSError(errno.EROFS, "read-only", call.path)

    fs = TracingDisk(MemoryDisk(), fail)
    vectors = embed_with_cache(FAKE, EmbeddingCache(fs), PRINT, hashes(1, 2), [b"a", b"b"])
    assert vectors.tobytes() == FAKE.embed([b"a", b"b"]).tobytes()


def test_a_writer_that_holds_the_lock_for_ever_is_waited_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    fs = MemoryDisk()
    put(fs, 1)
    waits: list[float] = []
    lock = fs.lock
    monkeypatch.setattr(fs, "lock", lambda path, **how: (waits.append(how["timeout"]), lock(path, **how))[1])
    with lock("guard.lock", exclusive=True, timeout=0), EmbeddingCache(fs) as cache:
        for name in (2, 3):
            cache.put_many(PRINT, hashes(name), truth(hashes(name)))
        assert set(cache.get_many(PRINT, hashes(1, 2, 3))) == {0}
    assert waits[0] > 0
    assert waits[1:] == [0]


# --- several processes on a real disk ---------------------------------------------------------------------------------


def write_some(home: str, writer: int) -> None:
    with Disk.at(home, "cache/embeddings", create=True) as disk, EmbeddingCache(disk) as cache:
        for batch in range(15):
            names = [(writer, batch, place) for place in range(3)]
            cache.put_many(PRINT, hashes(*names), truth(hashes(*names)))
            assert set(cache.get_many(PRINT, hashes(*names))) == {0, 1, 2}


def test_several_processes_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=write_some, args=(str(tmp_path), writer)) for writer in range(3)]
    for process in writers:
        process.start()
    for process in writers:
        process.join()
    assert [process.exitcode for process in writers] == [0, 0, 0]
    everything = [(writer, batch, place) for writer in range(3) for batch in range(15) for place in range(3)]
    with Disk.at(str(tmp_path), "cache/embeddings") as disk:
        assert known(disk, *everything) == set(everything)
        assert len(disk.list_folder("")) <= 12


def test_a_reader_keeps_finding_while_others_merge_and_evict(tmp_path: Path) -> None:
    with Disk.at(str(tmp_path), "c", create=True) as disk, EmbeddingCache(disk) as reader:
        put(disk, 1)
        assert set(reader.get_many(PRINT, hashes(1))) == {0}
        put(disk, 2)
        assert set(reader.get_many(PRINT, hashes(1, 2))) == {0, 1}
        reader.close()
        assert set(reader.get_many(PRINT, hashes(1, 2))) == {0, 1}


def test_a_pack_that_goes_between_the_listing_and_the_look_is_simply_not_there() -> None:
    inner = MemoryDisk()
    put(inner, 1)
    (name,) = (name for name in inner.list_folder("") if name.endswith(".pack"))
    for moment in ("stat", "open_map"):
        disk = inner.crash("kill")

        def evict(call: Call, disk: MemoryDisk = disk, moment: str = moment) -> None:
            if call.what == moment and call.path == name:
                disk.remove(name)

        assert known(TracingDisk(disk, evict), 1) == set()


# --- embedding through it ---------------------------------------------------------------------------------------------


class Counting(FakeEmbedder):
    """Remembers what it was asked to embed."""

    def __init__(self, *, cheap: bool) -> None:
        super().__init__(DIMENSION, cheap=cheap)
        self.asked: list[bytes] = []

    def embed(self, texts: Sequence[bytes]) -> Vectors:
        self.asked += texts
        return super().embed(texts)


def test_a_text_is_embedded_once_for_all_processes() -> None:
    fs, texts = MemoryDisk(), [b"a", b"b", b"a"]
    model = Counting(cheap=False)
    for _ in range(2):
        with EmbeddingCache(fs) as cache:
            vectors = embed_with_cache(model, cache, PRINT, hashes(*texts), texts)
            assert vectors.tobytes() == FAKE.embed(texts).tobytes()
    assert model.asked == [b"a", b"b"]
    with EmbeddingCache(fs) as cache:
        mixed = embed_with_cache(model, cache, PRINT, hashes(b"c", b"a"), [b"c", b"a"])
    assert mixed.tobytes() == FAKE.embed([b"c", b"a"]).tobytes()
    assert model.asked == [b"a", b"b", b"c"]


def test_what_a_dear_model_gave_is_kept_before_it_is_asked_for_more(faults: Faults) -> None:
    keys = hashes(*range(7))
    texts = [key.encode() for key in keys]

    class Failing(Counting):
        def embed(self, texts: Sequence[bytes]) -> Vectors:
            if keys[4].encode() in texts:
                raise EmbeddingFailed(why="it is tired")
            return super().embed(texts)

    faults.limit(cache_module, MAX_EMBED_BATCH=2)
    fs = MemoryDisk()
    beats: list[int] = []
    with EmbeddingCache(fs) as cache, pytest.raises(EmbeddingFailed):
        embed_with_cache(Failing(cheap=False), cache, PRINT, keys, texts, lambda: beats.append(1))
    assert known(fs, *range(7)) == {0, 1, 2, 3}
    assert len(beats) == 2
    model = Counting(cheap=False)
    with EmbeddingCache(fs) as cache:
        vectors = embed_with_cache(model, cache, PRINT, keys, texts)
    assert vectors.tobytes() == FAKE.embed(texts).tobytes()
    assert model.asked == texts[4:]


def test_a_cheap_model_never_asks_the_cache() -> None:
    def refuse(call: Call) -> None:
        raise AssertionError(call)

    model = Counting(cheap=True)
    fs = TracingDisk(MemoryDisk(), refuse)
    for cache in (EmbeddingCache(fs), None):
        vectors = embed_with_cache(model, cache, PRINT, hashes(1), [b"a"])
        assert vectors.tobytes() == FAKE.embed([b"a"]).tobytes()
    assert model.asked == [b"a", b"a"]


@pytest.mark.parametrize("cheap", [True, False])
def test_a_model_that_gives_nonsense_is_refused_and_nothing_of_it_is_kept(cheap: bool) -> None:
    class Broken(FakeEmbedder):
        def embed(self, texts: Sequence[bytes]) -> Vectors:
            return super().embed(texts) * np.float32(np.nan)

    fs = MemoryDisk()
    with EmbeddingCache(fs) as cache, pytest.raises(EmbeddingFailed):
        embed_with_cache(Broken(DIMENSION, cheap=cheap), cache, PRINT, hashes(1), [b"a"])
    assert fs.list_folder("") == []
