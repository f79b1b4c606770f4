"""What an index was made from, as digests that are equal exactly when their inputs are.

Four of them, because four different edits must have four different effects: the *index* fingerprint names the store
(another value, another store), the *ignore* fingerprint names the set of files (another value, another snapshot in
the same store), the *query* fingerprint names ranking and output (nothing is indexed again), and the *embed*
fingerprint is the cache key of vectors. All are SHA-256 in hex.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256

from cairn.core.config import Config
from cairn.core.filetypes import NAMES_VERSION
from cairn.core.types import IgnoreFile

FINGERPRINT_FORMAT = 1
# 1: first shipped form.

BUNDLED_PROVIDER = "bundled"

Canonical = None | bool | int | str | Sequence["Canonical"] | Mapping[str, "Canonical"]


@dataclass(frozen=True, slots=True)
class EmbeddingIdentity:
    """The vector space: everything that changes a vector. `revision` is immutable (a commit or a checksum)."""

    provider: str
    model: str
    revision: str
    dimension: int
    query_prefix: str = ""
    document_prefix: str = ""
    max_tokens: int = 0


@dataclass(frozen=True, slots=True)
class IndexParts:
    """What the package and the machine bring to an index, next to the settings.

    `grammars` pairs a language with name, version and checksum of its grammar; `schemas` pairs an artifact with the
    version of its format. No language and no artifact may come twice; their order does not matter.
    """

    grammars: tuple[tuple[str, str], ...]
    chunker_version: str
    extractor_version: str
    tokenizer_version: str
    schema_version: int
    schemas: tuple[tuple[str, int], ...] = ()
    embedding: EmbeddingIdentity | None = None
    vector_store: str = "local"


@dataclass(frozen=True, slots=True)
class IndexFingerprint:
    """Named fields, sorted by name, each value as canonical JSON; equality is equality of the digest."""

    fields: tuple[tuple[str, str], ...]
    digest: str


@dataclass(frozen=True, slots=True)
class FieldDifference:
    """One field in which two fingerprints differ; None where a side does not have it.

    `ours` says that an upgrade of the package explains it, so that the index may be rebuilt without asking.
    """

    name: str
    before: str | None
    after: str | None
    ours: bool


def canonical_json(value: Canonical) -> str:
    """Return the one JSON text of a value: sorted keys, no blanks, UTF-8. Refuses floats: 1.0 has many spellings."""
    _refuse_floats(value)
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _refuse_floats(value: object) -> None:
    if isinstance(value, float):
        raise TypeError("a fingerprint cannot hold a float")
    if isinstance(value, Mapping):
        for key, item in value.items():
            if not isinstance(key, str):
                raise TypeError("a key in a fingerprint must be a text")
            _refuse_floats(item)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for item in value:
            _refuse_floats(item)


def index_fingerprint(config: Config, parts: IndexParts) -> IndexFingerprint:
    """Return the fingerprint of what the rows of an index mean.

    Include and exclude globs are left out: they decide membership, not meaning. The digest is the SHA-256 of the
    canonical JSON object of all fields.
    """
    values: dict[str, Canonical] = {
        "index.types": tuple(config.index.types),
        "index.untracked": config.index.untracked,
        # The setting decides whether twins are refused, not what a row means. Older indexes name its old default.
        "index.collisions": "fail",
        "index.submodules": config.index.submodules,
        # The limit on bytes per batch only cuts work into pieces; these two decide what gets a row.
        "limits.maxFileBytes": config.limits.max_file_bytes,
        "limits.maxChunksPerFile": config.limits.max_chunks_per_file,
    }
    brought = _brought(parts)
    fields = tuple(sorted(brought + tuple((name, canonical_json(value)) for name, value in values.items())))
    return IndexFingerprint(fields, fingerprint_of(dict(fields)))


@lru_cache(16)
def _brought(parts: IndexParts) -> tuple[tuple[str, str], ...]:
    """Return the fields that do not come from the settings: about fifty, and the same for every codebase."""
    values: dict[str, Canonical] = {
        "fingerprintFormat": FINGERPRINT_FORMAT,
        "embeddingProvider": None,
        "embeddingModel": None,
        "embeddingDimension": None,
        "vectorStoreProvider": parts.vector_store,
        "schemaVersion": parts.schema_version,
        "chunkerVersion": parts.chunker_version,
        "extractorVersion": parts.extractor_version,
        "tokenizerVersion": parts.tokenizer_version,
    }
    if parts.embedding is not None:
        values |= _embedding_fields(parts.embedding)
    values |= _named("grammar", parts.grammars)
    values |= _named("schema", parts.schemas)
    return tuple((name, canonical_json(value)) for name, value in values.items())


def fingerprint_of(fields: Mapping[str, str]) -> str:
    """Return the digest of an index fingerprint, from its named fields as `IndexFingerprint.fields` holds them."""
    # Sorted keys, no blanks: exactly the canonical JSON of the values themselves.
    text = ",".join(f"{json.dumps(name)}:{fields[name]}" for name in sorted(fields))
    return sha256(f"{{{text}}}".encode()).hexdigest()


def explain_mismatch(before: IndexFingerprint, after: IndexFingerprint) -> tuple[FieldDifference, ...]:
    """Return every field in which two fingerprints differ, in order of name; empty when the digests are equal."""
    old, new = dict(before.fields), dict(after.fields)
    bundled = canonical_json(BUNDLED_PROVIDER)
    model_is_ours = old.get("embeddingProvider") == new.get("embeddingProvider") == bundled
    return tuple(
        FieldDifference(name, old.get(name), new.get(name), _is_ours(name, model_is_ours))
        for name in sorted(old.keys() | new.keys())
        if old.get(name) != new.get(name)
    )


def ignore_fingerprint(ignore_files: Iterable[IgnoreFile], config: Config) -> str:
    """Return the digest of the rules that decide membership: ignore files, globs of the settings, names of secrets.

    Hashed are, in byte order of the keys, `key NUL bytes` of each file, one behind the other; then a frame: the
    canonical JSON of `{"exclude": [...], "files": [[key length, byte length], ...], "include": [...], "names": N}` (and
    `"allow": [...]` before, where names are allowed) and the length of that JSON as eight bytes, big end first. Read
    from its end, the frame says where each file begins, so that no two sets of rules share one stream, whatever a
    hostile ignore file holds.
    """
    entries = sorted((file.key.encode("utf-8", "surrogateescape"), file.data) for file in ignore_files)
    digest = sha256()
    for key, data in entries:
        digest.update(key + b"\0")
        digest.update(data)
    frame = canonical_json(
        membership(config) | {"files": [[len(key), len(data)] for key, data in entries]},
    ).encode()
    digest.update(frame + len(frame).to_bytes(8, "big"))
    return digest.hexdigest()


def membership(config: Config) -> dict[str, Canonical]:
    """Return what decides about membership besides the tree itself: globs, and which names are those of secrets."""
    found: dict[str, Canonical] = {
        "exclude": sorted(config.index.exclude),
        "include": sorted(config.index.include),
        "names": NAMES_VERSION,
    }
    allowed = sorted(config.index.allow_sensitive)
    return found | {"allow": allowed} if allowed else found


def query_fingerprint(config: Config, ranking_version: str) -> str:
    """Return the digest of how answers are ranked: the version of ranking and the whole repository file."""
    return _digest(
        {"config": config.repo_bytes_sha256, "ranking": ranking_version, "query": {"scope": config.query.scope}}
    )


def embed_fingerprint(embedding: EmbeddingIdentity, *, chunker_version: str, ignore_engine_version: str) -> str:
    """Return the first half of a vector's cache key; the other half is the hash of the chunk.

    It takes the version of the ignore engine and no ignore file: a vector does not depend on what else is indexed.
    """
    return _digest(
        {**_embedding_fields(embedding), "chunkerVersion": chunker_version, "ignoreEngine": ignore_engine_version}
    )


def _embedding_fields(embedding: EmbeddingIdentity) -> dict[str, Canonical]:
    return {
        "embeddingProvider": embedding.provider,
        "embeddingModel": embedding.model,
        "embeddingDimension": embedding.dimension,
        "embeddingRevision": embedding.revision,
        "embeddingQueryPrefix": embedding.query_prefix,
        "embeddingDocumentPrefix": embedding.document_prefix,
        "embeddingMaxTokens": embedding.max_tokens,
    }


def _named(prefix: str, pairs: Sequence[tuple[str, str | int]]) -> dict[str, Canonical]:
    named: dict[str, Canonical] = {f"{prefix}.{name}": value for name, value in pairs}
    if len(named) != len(pairs):
        raise ValueError(f"the same {prefix} is named twice")
    return named


_OURS = {"fingerprintFormat", "schemaVersion", "chunkerVersion", "extractorVersion", "tokenizerVersion"}


def _is_ours(name: str, model_is_ours: bool) -> bool:
    if name.startswith("embedding"):
        return model_is_ours
    return name in _OURS or name.startswith(("grammar.", "schema."))


def _digest(values: Mapping[str, Canonical]) -> str:
    return sha256(canonical_json(values).encode("utf-8")).hexdigest()
