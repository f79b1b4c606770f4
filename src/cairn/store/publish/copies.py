"""Give the files of a snapshot to a copy elsewhere, and bring them back from there byte by byte.

Segments that are brought back lie beside the store until all of them are there with the digests that the manifest
names, so an interrupted pull goes on where it stopped. Then a run with the lease puts them in place and claims the
generation like any other run: if another run claimed it before, that run has won.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from hashlib import sha256

from cairn.core.clock import Clock
from cairn.core.limits import MAX_SEGMENTS_PER_SNAPSHOT, MAX_TOMBSTONE_BYTES
from cairn.core.progress import Phase, Progress, Tell
from cairn.errors import EngineDamaged, StoreCorrupt
from cairn.store.format.layout import (
    GENERATIONS,
    SEGMENTS,
    SNAPSHOTS,
    STAGING,
    generation_number,
    manifest_path,
    segment_folder,
)
from cairn.store.format.manifest import Manifest, SegmentRef, decode_manifest, encode_manifest
from cairn.store.format.seal import Remembered, require, seal_files
from cairn.store.fs import FileWriter, Fs, read_whole, remove_tree
from cairn.store.publish.generations import claim, read_generation
from cairn.store.publish.lease import RunKind
from cairn.store.publish.writer import open_writer, point_to

# This is not the name of a run, so no run that writes looks there.
_WORK = f"{STAGING}/pull_work"

SealedFiles = Callable[[str], Iterable[tuple[str, int, bytes]]]
"""Gives the files of a segment piece by piece: the name of the file, where in it the piece begins, its bytes."""


class Copies:
    """The exchange of a store with a copy elsewhere."""

    def __init__(self, fs: Fs, path: str) -> None:
        self._fs = fs
        self._path = path

    # --- sending ------------------------------------------------------------------------------------------------------

    @contextmanager
    def files(self, segment: str) -> Iterator[list[tuple[str, memoryview]]]:
        """Open the files of a sealed segment and give their names and bytes."""
        with ExitStack() as maps:
            folder = segment_folder(segment)
            yield [
                (name, maps.enter_context(self._fs.open_map(f"{folder}/{name}")).view)
                for name in sorted(self._fs.list_folder(folder))
            ]

    def documents(self, manifest: Manifest) -> tuple[bytes, dict[str, bytes]]:
        """Return the bytes of a manifest, and of the tombstone files that it names by their paths."""
        others = {
            ref.path: read_whole(self._fs, ref.path, MAX_TOMBSTONE_BYTES, "tombstone file")
            for ref in manifest.tombstones
        }
        return encode_manifest(manifest), others

    def kept(self) -> list[Manifest]:
        """Return every manifest that is kept; raises `StoreUnreadable` for a damaged one, which may name anything."""
        numbers = filter(None, map(generation_number, self._fs.list_folder(GENERATIONS)))
        return [manifest for number in numbers if (manifest := read_generation(self._fs, number)) is not None]

    # --- bringing back ------------------------------------------------------------------------------------------------

    @staticmethod
    def manifest(run: str, data: bytes) -> Manifest:
        """Decode the manifest of a run from bytes of a copy; `EngineDamaged` when the bytes are no manifest."""
        try:
            return decode_manifest(data)
        except StoreCorrupt as problem:
            raise EngineDamaged(why=f"the manifest of {run} cannot be read ({problem.fields['why']})") from problem

    def fetch(self, manifest: Manifest, sealed_files: SealedFiles, tell: Tell) -> dict[str, int]:
        """Bring every missing segment beside the store, whole; return the row counts of the segments brought now."""
        with suppress(FileExistsError):
            self._fs.make_folder(_WORK)
        brought = {}
        for done, ref in enumerate(manifest.segments):
            tell(Progress(Phase.INDEXING, done, len(manifest.segments)))
            if not self._is_whole(segment_folder(ref.name), ref) and not self._is_whole(f"{_WORK}/{ref.name}", ref):
                self._fetch_one(sealed_files, ref)
                brought[ref.name] = ref.rows
        assert len(brought) <= MAX_SEGMENTS_PER_SNAPSHOT
        return brought

    def take_over(
        self, manifest: Manifest, data: bytes, others: Mapping[str, bytes], clock: Clock, wait_seconds: float
    ) -> None:
        """Put everything in place, then claim the generation: the same steps in the same order as a publish."""
        fs = self._fs
        with open_writer(
            fs, self._path, RunKind.REPAIR, clock=clock, wait_seconds=wait_seconds, rebuild=True
        ) as writer:
            for ref in manifest.segments:
                if not self._is_whole(folder := segment_folder(ref.name), ref):
                    remove_tree(fs, folder)
                    fs.move(f"{_WORK}/{ref.name}", folder)
                    fs.seal(folder)
                    fs.sync_folder(folder)
            fs.sync_folder(SEGMENTS)
            for tombstones in manifest.tombstones:
                found = others.get(tombstones.path, b"")
                if sha256(found).hexdigest() != tombstones.sha256:
                    raise EngineDamaged(why=f"{tombstones.path} has another digest than when it was sent")
                self._write(tombstones.path, found)
            self._write(manifest_path(manifest.snapshot_id), data)
            fs.sync_folder(SNAPSHOTS)
            writer.lease.check()
            claim(fs, manifest)
            point_to(fs, writer.run, manifest)
            fs.sync_folder(GENERATIONS)
        remove_tree(fs, _WORK)

    def _fetch_one(self, sealed_files: SealedFiles, ref: SegmentRef) -> None:
        fs, folder = self._fs, f"{_WORK}/{ref.name}"
        remove_tree(fs, folder)
        fs.make_folder(folder)
        files: dict[str, FileWriter] = {}
        size = dict[str, int]()
        try:
            for name, place, data in sealed_files(ref.name):
                if "/" in name or name.startswith(".") or size.get(name, 0) != place:
                    raise EngineDamaged(why=f"a piece of segment {ref.name} is missing")
                if sum(size.values()) + len(data) > ref.size_bytes:
                    raise EngineDamaged(why=f"segment {ref.name} is larger than it was when it was sent")
                if name not in files:
                    files[name] = fs.create(f"{folder}/{name}")
                files[name].write(data)
                size[name] = place + len(data)
        finally:
            for file in files.values():
                file.close()
        sealed = seal_files(fs, folder, Remembered())
        if (sealed.size_bytes, sealed.sha256) != (ref.size_bytes, ref.sha256):
            remove_tree(fs, folder)
            raise EngineDamaged(why=f"segment {ref.name} has another digest than when it was sent")

    def _is_whole(self, folder: str, ref: SegmentRef) -> bool:
        try:
            require(self._fs, folder, ref.size_bytes, ref.sha256, Remembered())
        except StoreCorrupt:
            return False
        return True

    def _write(self, path: str, data: bytes) -> None:
        folder = path.rpartition("/")[0]
        with suppress(FileExistsError):
            self._fs.make_folder(folder)
        with suppress(FileExistsError):
            self._fs.create_bytes(path, data)
        self._fs.sync_file(path)
        self._fs.sync_folder(folder)
