"""Keep the rows of one store on a Milvus server, as `contract` promises.

A segment is put in this order: a note that it is begun, its rows, the pieces of its sealed files, a receipt, a flush.
With the receipt and the flush it lasts; with the note alone it is an orphan. Every document has an id of its own, so
writing it again changes nothing.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from cairn.core.limits import (
    ENGINE_EXACT_ROWS,
    ENGINE_FLUSH_SECONDS,
    ENGINE_PIECE_BYTES,
    ENGINE_PIECES_PER_CALL,
    ENGINE_ROWS_PER_CALL,
    ENGINE_SEARCH_SECONDS,
    ENGINE_WRITE_SECONDS,
    MAX_MANIFEST_BYTES,
    MAX_TOMBSTONE_BYTES,
)
from cairn.engine.contract import Held, Near, Receipt, Row, RowScope, SealedSegment, Vector, best
from cairn.engine.milvus import Server, schema_of
from cairn.errors import EngineDamaged, EngineError, EngineForeign, StoreCorrupt
from cairn.store import Completion, decode_completion, encode_completion

# --- the collection of a store: its fields and the kinds of its documents ---------------------------------------------


SCHEMA_VERSION = 1
PROPERTY = "cairn"
ROW, RECEIPT, PIECE, MARKER, SNAPSHOT, BEGUN = range(6)
FIELDS = (
    ("kind", "INT64", 0),
    ("segment", "VARCHAR", 200),
    ("file", "INT64", 0),
    ("row", "INT64", 0),
    ("path", "VARCHAR", 65_535),
    ("payload", "VARCHAR", 65_535),
)
FIELD_NAMES = {"id", "dense", "sparse", *(name for name, _, _ in FIELDS)}
# A sparse vector must not be empty; no search asks for this dimension.
_NOWHERE = {(1 << 32) - 2: 1e-6}
_NOT_NAME = re.compile("[^a-z0-9_]")
_DESCRIPTION = re.compile(r"cairn rows ([0-9]+) of (\S+)")


def collection_name(store_id: str) -> str:
    """Return the collection of a store: its id, with characters that the server does not allow replaced."""
    return "cairn_" + _NOT_NAME.sub("_", store_id.lower())


def description(store_id: str) -> str:
    """Return the text that marks a collection as one of Cairn's."""
    return f"cairn rows {SCHEMA_VERSION} of {store_id}"


def problem_of(found: dict[str, Any], store_id: str, dimension: int | None) -> str | None:
    """Return why a collection cannot be used for this store; None when it can."""
    ours = _DESCRIPTION.fullmatch(str((found.get("properties") or {}).get(PROPERTY, "")))
    if ours is None:
        return "somebody else made it"
    if int(ours[1]) != SCHEMA_VERSION:
        return f"its form is {ours[1]}, and this version of Cairn writes {SCHEMA_VERSION}"
    if ours[2] != store_id:
        return "it is that of another index"
    fields = {field["name"]: field for field in found.get("fields", ())}
    if set(fields) != FIELD_NAMES:
        return "its fields are not the ones that we made"
    found_dimension = int(fields["dense"].get("params", {}).get("dim", 0))
    if dimension is not None and found_dimension != dimension:
        return f"its vectors have {found_dimension} components, and those of the index {dimension}"
    return None


# --- documents --------------------------------------------------------------------------------------------------------


def row_document(segment: str, row: Row) -> dict[str, Any]:
    """Return a row as the document that is sent."""
    return {
        "id": f"{segment}:{row.row}",
        "kind": ROW,
        "segment": segment,
        "file": row.file,
        "row": row.row,
        # A file name may be any bytes, but a text on the server is UTF-8.
        "path": row.path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace"),
        "payload": "",
        "dense": row.vector.tolist(),
        "sparse": row.terms or _NOWHERE,
    }


def reserved(kind: int, own_id: str, owner: str, payload: str, dimension: int, place: int = 0) -> dict[str, Any]:
    """Return a document that is no row; `owner` is its segment or its run."""
    return {
        "id": own_id,
        "kind": kind,
        "segment": owner,
        "file": 0,
        "row": place,
        "path": "",
        "payload": payload,
        "dense": [0.0] * dimension,
        "sparse": _NOWHERE,
    }


def pieces(name: str, data: memoryview | bytes) -> Iterator[tuple[int, str]]:
    """Yield a file as texts that each fit into a document: the offset in the file, then name and compressed bytes."""
    for place in range(0, max(1, len(data)), ENGINE_PIECE_BYTES):
        packed = zlib.compress(data[place : place + ENGINE_PIECE_BYTES], 1)
        yield place, f"{name} {base64.b64encode(packed).decode()}"


def piece_count(size: int) -> int:
    """Return the number of pieces of a file of so many bytes."""
    return max(1, -(-size // ENGINE_PIECE_BYTES))


def unpack(payload: str) -> tuple[str, bytes]:
    """Return name and bytes of a piece; ValueError when the text is no piece."""
    name, _, packed = payload.partition(" ")
    unpacker = zlib.decompressobj()
    try:
        data = unpacker.decompress(base64.b64decode(packed, validate=True), ENGINE_PIECE_BYTES)
    except zlib.error as problem:
        raise ValueError(str(problem)) from None
    if not name or not unpacker.eof:
        raise ValueError("it is no piece of a file")
    return name, data


# --- filters ----------------------------------------------------------------------------------------------------------


def rows_in(scope: RowScope) -> str:
    """Return the filter of a scope. It contains only names of segments and numbers, and no text from outside."""
    parts = [f"kind == {ROW}", f"segment in [{', '.join(map(quoted, scope.segments))}]"]
    for segment, files in scope.hidden.items():
        if files:
            parts.append(f"not (segment == {quoted(segment)} and file in [{', '.join(map(str, files))}])")
    return " and ".join(parts)


def quoted(name: str) -> str:
    """Return a name in quotes for a filter; the name must be one that Cairn made."""
    assert is_name(name), "only names that we made stand in a filter"
    return f'"{name}"'


def is_name(text: str) -> bool:
    """Return whether this could be the name of a segment or of a run."""
    return re.fullmatch(r"[A-Za-z0-9_:.-]{1,200}", text) is not None


_PAGE = 1_000
# How the server's message about a collection that is not loaded begins.
_NOT_LOADED = "101 "
MANIFEST = "manifest.json"


class MilvusRows:
    """The rows of one store on a server. `dimension` is that of its vectors, `rows` about how many there will be."""

    def __init__(self, server: Server, store_id: str, dimension: int, rows: int = 0) -> None:
        self._server = server
        self._store_id = store_id
        self._dimension = dimension
        self._size = rows
        self.collection = collection_name(store_id)
        self._usable = -1

    def close(self) -> None:
        self._server.close()

    def limit(self, until: float | None) -> None:
        """Let no call last beyond this time of the clock from now on; None gives each call its own deadline."""
        self._server.until = until

    def ping(self) -> str:
        """Return the version of the server."""
        return str(self._server.call(lambda client, left: client.get_server_version(timeout=left)))

    # --- questions ----------------------------------------------------------------------------------------------------

    def search_dense(self, vector: Vector, scope: RowScope, limit: int) -> list[Near]:
        return self._search("dense", vector.tolist(), scope, limit)

    def search_lexical(self, weights: Mapping[int, float], scope: RowScope, limit: int) -> list[Near]:
        return self._search("sparse", dict(weights), scope, limit) if weights else []

    def _search(self, field: str, wanted: Any, scope: RowScope, limit: int) -> list[Near]:
        if not scope.segments:
            return []
        with self._server.within(ENGINE_SEARCH_SECONDS):
            found = self._found(field, wanted, scope, limit) if self._is_there() else []
            # Check the receipts after the search: a dropped segment loses its receipt before its rows, so a segment
            # that still has one was whole during the search.
            whole = {owner for owner, _ in self._documents(RECEIPT, scope.segments)}
        if missing := [name for name in scope.segments if name not in whole]:
            raise EngineDamaged(why=f"segment {missing[0]} is not there")
        # A row without any of the terms is no match, though the server may fill its list with such rows.
        return best((hit for hit in found if field == "dense" or hit.score > 0), limit)

    def _found(self, field: str, wanted: Any, scope: RowScope, limit: int) -> list[Near]:
        found = self._ask(
            lambda client, left: client.search(
                self.collection,
                [wanted],
                anns_field=field,
                limit=limit,
                filter=rows_in(scope),
                output_fields=["segment", "row"],
                search_params={"metric_type": "IP"},
                consistency_level="Strong",
                timeout=left,
            ),
            ENGINE_SEARCH_SECONDS,
        )
        try:
            return [
                Near(str(hit["entity"]["segment"]), int(hit["entity"]["row"]), float(hit["distance"]))
                for hit in found[0]
            ]
        except (KeyError, TypeError, ValueError, IndexError):
            raise EngineDamaged(why="its answer to a search cannot be read") from None

    def fetch_rows(self, segment: str, rows: Sequence[int]) -> list[Held]:
        if not rows or not self._is_there():
            return []
        ids = [f"{segment}:{row}" for row in rows]
        found = self._ask(lambda client, left: client.query(
            self.collection, ids=ids, output_fields=["segment", "row", "file", "path"],
            consistency_level="Strong", timeout=left,
        ))  # fmt: skip
        held = {int(one["row"]): Held(one["segment"], int(one["row"]), int(one["file"]), one["path"]) for one in found}
        return [held[row] for row in rows if row in held]

    # --- segments -----------------------------------------------------------------------------------------------------

    def put_segment(self, sealed: SealedSegment) -> Receipt:
        """Put the rows in small batches, then the files, the receipt and a flush; check that everything arrived."""
        self._make()
        parts = sum(piece_count(len(file.data)) for file in sealed.files)
        receipt = Receipt(sealed.name, sealed.rows, parts, sealed.rows_sha256, sealed.sealed_sha256)
        self._put(BEGUN, sealed.name, "")
        self._write((row_document(sealed.name, row) for row in sealed.read()), ENGINE_ROWS_PER_CALL)
        for file in sealed.files:
            self._write(self._pieces(PIECE, sealed.name, file.name, file.data), ENGINE_PIECES_PER_CALL)
        self._put(RECEIPT, sealed.name, json.dumps(receipt._asdict()))
        self.flush()
        if (count := self._count(sealed.name)) != receipt.rows + receipt.pieces:
            sent = f"{receipt.rows} rows and {receipt.pieces} pieces were sent"
            raise EngineDamaged(why=f"of segment {sealed.name} there are {count} documents, and {sent}")
        return receipt

    def flush(self) -> None:
        """Make everything written so far durable, whatever happens to the server."""
        self._server.call(lambda client, left: client.flush(self.collection, timeout=left), ENGINE_FLUSH_SECONDS)

    def receipts(self, *, counted: bool = False) -> dict[str, Receipt]:
        found = {}
        for owner, payload in self._documents(RECEIPT):
            try:
                receipt = Receipt(**json.loads(payload))
            except (ValueError, TypeError, RecursionError):
                continue
            if receipt.segment == owner and (not counted or self._count(owner) == receipt.rows + receipt.pieces):
                found[receipt.segment] = receipt
        return found

    def orphans(self) -> set[str]:
        begun, done = ({owner for owner, _ in self._documents(kind)} for kind in (BEGUN, RECEIPT))
        return begun - done

    def sealed_files(self, segment: str) -> Iterator[tuple[str, int, bytes]]:
        yield from self._files(PIECE, segment)

    def drop_segment(self, segment: str) -> None:
        # Remove the receipt first: the rest then belongs to nobody and is found as an orphan.
        self._delete(f"kind == {RECEIPT} and segment == {quoted(segment)}")
        self._delete(f"segment == {quoted(segment)} and kind != {BEGUN}")
        self._delete(f"segment == {quoted(segment)}")

    # --- markers ------------------------------------------------------------------------------------------------------

    def put_marker(self, marker: Completion, manifest: bytes, others: Mapping[str, bytes]) -> None:
        """Put the files of the snapshot before the marker: whoever finds the marker finds them."""
        self._make()
        for name, data in {MANIFEST: manifest, **others}.items():
            self._write(self._pieces(SNAPSHOT, marker.run_id, name, data), ENGINE_PIECES_PER_CALL)
        self._put(MARKER, marker.run_id, encode_completion(marker).decode())
        self.flush()

    def get_marker(self, run: str) -> Completion | None:
        found = [payload for _, payload in self._documents(MARKER, [run])]
        if not found:
            return None
        try:
            return decode_completion(found[0].encode())
        except StoreCorrupt as problem:
            raise EngineDamaged(why=f"its completion marker: {problem.fields['why']}") from problem

    def snapshot(self, run: str) -> tuple[bytes, dict[str, bytes]]:
        files: dict[str, bytearray] = {}
        for name, place, data in self._files(SNAPSHOT, run):
            if len(own := files.setdefault(name, bytearray())) != place:
                raise EngineDamaged(why="a piece of a manifest is missing")
            if place > max(MAX_MANIFEST_BYTES, MAX_TOMBSTONE_BYTES):
                raise EngineDamaged(why="a manifest is larger than any that is written")
            own += data
        if MANIFEST not in files:
            raise EngineDamaged(why="the manifest of its snapshot is missing")
        manifest = bytes(files.pop(MANIFEST))
        return manifest, {name: bytes(data) for name, data in files.items()}

    def runs(self, *, marked: bool = True) -> list[str]:
        which = f"kind == {MARKER}" if marked else f"kind in [{MARKER}, {SNAPSHOT}]"
        return sorted({owner for one in self._pages(which, ["segment"]) if is_name(owner := str(one["segment"]))})

    def clear_marker(self, run: str) -> None:
        self._delete(f"kind == {MARKER} and segment == {quoted(run)}")
        self._delete(f"kind == {SNAPSHOT} and segment == {quoted(run)}")

    # --- the collection -----------------------------------------------------------------------------------------------

    def _is_there(self) -> bool:
        """Return whether the collection exists. `EngineForeign` when it is not that of this store."""
        if self._usable == self._server.losses:
            return True
        if not self._ask(lambda client, left: client.has_collection(self.collection, timeout=left)):
            return False
        found = self._ask(lambda client, left: client.describe_collection(self.collection, timeout=left))
        if (problem := problem_of(found, self._store_id, self._dimension)) is not None:
            raise EngineForeign(collection=self.collection, why=problem)
        self._load()
        self._usable = self._server.losses
        return True

    def _make(self) -> None:
        """Make the collection, or finish one that is half made."""
        if self._is_there():
            return
        mark = description(self._store_id)
        schema = schema_of(self._dimension, mark, FIELDS)
        try:
            self._server.call(
                lambda client, left: client.create_collection(
                    self.collection,
                    schema=schema,
                    consistency_level="Strong",
                    num_shards=1,
                    properties={PROPERTY: mark},
                    timeout=left,
                ),
                ENGINE_WRITE_SECONDS,
            )
        except EngineError:
            # The answer may have been lost, or another process made the collection first.
            if not self._is_there():
                raise
            return
        self._load()
        self._usable = self._server.losses

    def _load(self) -> None:
        """Make missing indexes and load the collection; both do nothing when that is done."""

        def made(client: Any, left: float) -> None:
            known = {
                client.describe_index(self.collection, name, timeout=left).get("field_name")
                for name in client.list_indexes(self.collection)
            }
            params = client.prepare_index_params()
            exact = self._size < ENGINE_EXACT_ROWS
            dense = (
                {"index_type": "FLAT"} if exact else {"index_type": "HNSW", "params": {"M": 16, "efConstruction": 200}}
            )
            if "dense" not in known:
                params.add_index("dense", metric_type="IP", **dense)
            if "sparse" not in known:
                params.add_index("sparse", index_type="SPARSE_INVERTED_INDEX", metric_type="IP")
            if len(params):
                client.create_index(self.collection, params, timeout=left)
            client.load_collection(self.collection, timeout=left)

        self._server.call(made, ENGINE_WRITE_SECONDS)

    # --- documents ----------------------------------------------------------------------------------------------------

    def _ask(self, ask: Any, seconds: float | None = None) -> Any:
        seconds = ENGINE_WRITE_SECONDS if seconds is None else seconds
        try:
            return self._server.call(ask, seconds)
        except EngineError as problem:
            if not str(problem.fields.get("why")).startswith(_NOT_LOADED):
                raise
        # The server was restarted between two calls, and the connection did not notice.
        self._is_there()
        return self._server.call(ask, seconds)

    def _put(self, kind: int, owner: str, payload: str) -> None:
        self._write([reserved(kind, f"{kind}:{owner}", owner, payload, self._dimension)], 1)

    def _pieces(self, kind: int, owner: str, name: str, data: memoryview | bytes) -> Iterator[dict[str, Any]]:
        for place, payload in pieces(name, data):
            yield reserved(kind, f"{kind}:{owner}:{name}:{place}", owner, payload, self._dimension, place)

    def _write(self, documents: Iterable[dict[str, Any]], at_once: int) -> None:
        """Write all documents, a few at a time, so that memory does not grow with their number."""
        left_over = iter(documents)
        while batch := list(islice(left_over, at_once)):
            self._ask(lambda client, left, batch=batch: client.upsert(self.collection, batch, timeout=left))

    def _delete(self, which: str) -> None:
        if self._is_there():
            self._ask(lambda client, left: client.delete(self.collection, filter=which, timeout=left))

    def _count(self, segment: str) -> int:
        """Return how many rows and pieces of a segment there are."""
        found = self._query(f"kind in [{ROW}, {PIECE}] and segment == {quoted(segment)}", ["count(*)"])
        return int(found[0]["count(*)"]) if found else 0

    def _documents(self, kind: int, owners: Sequence[str] | None = None) -> list[tuple[str, str]]:
        """Return owner and payload of the documents of a kind; those of given owners are looked up by id, cheaply."""
        if owners is None:
            found: Iterable[dict[str, Any]] = self._pages(f"kind == {kind}", ["segment", "payload"])
        else:
            # Ask by ids alone: with a second condition the server searches through everything.
            ids = ", ".join(quoted(f"{kind}:{owner}") for owner in owners)
            asked = self._query(f"id in [{ids}]", ["kind", "segment", "payload"])
            found = [one for one in asked if one["kind"] == kind and one["segment"] in owners]
        # Ignore documents whose owner has no name that Cairn gives.
        return [(owner, str(one["payload"])) for one in found if is_name(owner := str(one["segment"]))]

    def _files(self, kind: int, owner: str) -> Iterator[tuple[str, int, bytes]]:
        which = f"kind == {kind} and segment == {quoted(owner)}"
        found = sorted(
            (str(one["id"]).rpartition(":")[0], int(one["row"]), one["id"]) for one in self._pages(which, ["row"])
        )
        for first in range(0, len(found), ENGINE_PIECES_PER_CALL):
            ids = [own for _, _, own in found[first : first + ENGINE_PIECES_PER_CALL]]
            documents = {
                one["id"]: one["payload"]
                for one in self._ask(
                    lambda client, left, ids=ids: client.query(
                        self.collection, ids=ids, output_fields=["payload"], consistency_level="Strong", timeout=left
                    )
                )
            }
            for _, place, own in found[first : first + ENGINE_PIECES_PER_CALL]:
                try:
                    name, data = unpack(documents[own])
                except (KeyError, ValueError):
                    raise EngineDamaged(why=f"a piece of {owner} cannot be read") from None
                yield name, place, data

    def _pages(self, which: str, fields: list[str]) -> Iterator[dict[str, Any]]:
        """Yield every document that fits, by ranges of ids, so that no answer grows with the number of documents."""
        ranges: list[tuple[str, str | None]] = [("", None)]
        while ranges:
            after, last = ranges.pop()
            until = "" if last is None else f" and id <= {json.dumps(last)}"
            page = self._query(f"({which}) and id > {json.dumps(after)}{until}", [*fields, "id"], _PAGE)
            ids = sorted(str(one["id"]) for one in page)
            if ids and (ids[0] <= after or (last is not None and ids[-1] > last)):
                raise EngineDamaged(why="its answer holds what was not asked for")
            if len(page) < _PAGE:
                yield from page
            else:
                # The server returns any so many of the range: there may be more before these as well as after them.
                middle = ids[len(ids) // 2 - 1]
                ranges += [(middle, last), (after, middle)]

    def _query(self, which: str, fields: list[str], limit: int | None = None) -> list[dict[str, Any]]:
        if not self._is_there():
            return []
        most = {} if limit is None else {"limit": limit}
        found = self._ask(lambda client, left: client.query(
            self.collection, filter=which, output_fields=fields, consistency_level="Strong", timeout=left, **most
        ))  # fmt: skip
        return [dict(one) for one in found]
