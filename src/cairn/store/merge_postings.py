"""The postings of several segments as those of one; no text is read, so what a posting says stays as it was counted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from cairn.store.container import Section
from cairn.store.merge_plan import DoesNotFit, Numbers, Source, refuse
from cairn.store.postings import (
    FIELDS,
    MOST_TERMS,
    Postings,
    field_sections,
    packed,
    strictly_ascending,
    term_hash,
    term_sections,
    terms_in,
    with_final_terms,
)

Keys = NDArray[np.uint64]

_GONE = -1


def merge_postings(sources: Sequence[Source], rows: int) -> Iterator[Section]:
    """The sections of the postings of all rows that are merged.

    A term that only rows which are not merged hold is gone. Terms with equal hashes come in order of their bytes, since
    the postings cannot say which of them occurred first; there are none unless somebody has searched for them.
    """
    read = [Postings(source.segment.sections) for source in sources]
    keys = [_keys(source, postings) for source, postings in zip(sources, read, strict=True)]
    hashes, texts, places = _vocabulary(read, keys)
    yield from term_sections(hashes, texts)
    for field in FIELDS:
        merged = np.concatenate(
            [with_final_terms(own.pop(field), final) for own, final in zip(keys, places, strict=True)]
        )
        merged.sort()
        lengths = np.zeros(rows, np.uint16)
        for source, postings in zip(sources, read, strict=True):
            lengths[source.rows.new] = postings.lengths(field)[source.rows.old]
        yield from field_sections(field, merged, lengths, len(texts))


def _keys(source: Source, postings: Postings) -> dict[str, Keys]:
    """Of each field the postings of merged rows, packed with the row's new number and the source's own terms."""
    if postings.rows != source.segment.rows:
        refuse("its postings are of more or fewer rows than there are")
    moved = np.full(postings.rows, _GONE, np.int64)
    moved[source.rows.old] = source.rows.new
    found = {}
    for field in FIELDS:
        columns = postings.columns(field)
        terms = np.repeat(np.arange(postings.terms, dtype=np.uint64), np.diff(columns.starts))
        counts = columns.tf.astype(np.uint64)
        if not columns.tf.all() or not strictly_ascending(packed(terms, columns.rows.astype(np.uint64), counts)):
            refuse(f"its postings of the field {field} are out of order, or count an occurrence that is none")
        rows = moved[columns.rows]
        live = rows != _GONE
        found[field] = packed(terms[live], rows[live].astype(np.uint64), counts[live])
    return found


def _vocabulary(
    read: Sequence[Postings], keys: Sequence[dict[str, Keys]]
) -> tuple[NDArray[np.uint64], list[bytes], list[Keys]]:
    """Hash and text of every term that is left, in order; and for each source the new id of each of its terms."""
    used = [_used_terms(postings.terms, own) for postings, own in zip(read, keys, strict=True)]
    own_texts = []
    for postings, ids in zip(read, used, strict=True):
        texts = postings.texts()
        own_texts.append([texts[number] for number in ids.tolist()])
    distinct = [set(texts) for texts in own_texts]
    if any(len(once) < len(texts) for once, texts in zip(distinct, own_texts, strict=True)):
        refuse("a term is there twice")
    names = sorted(set().union(*distinct))
    if len(names) > MOST_TERMS:
        raise DoesNotFit("a segment cannot hold so many terms")
    hashes = np.frombuffer(b"".join(term_hash(name.decode()) for name in names), "<u8")
    order = np.argsort(hashes, kind="stable")
    ranks = np.empty(len(names), np.uint64)
    ranks[order] = np.arange(len(names), dtype=np.uint64)
    number = {name: place for place, name in enumerate(names)}
    places = []
    for postings, ids, texts in zip(read, used, own_texts, strict=True):
        own = np.fromiter(map(number.__getitem__, texts), np.int64, len(texts))
        if not np.array_equal(hashes[own], postings.hashes[ids]):
            refuse("term.hash disagrees with the terms")
        final = np.zeros(postings.terms, np.uint64)
        final[ids] = ranks[own]
        places.append(final)
    return hashes[order], [names[place] for place in order.tolist()], places


def _used_terms(terms: int, keys: dict[str, Keys]) -> Numbers:
    used = np.zeros(terms, bool)
    for each in keys.values():
        used[terms_in(each)] = True
    return np.flatnonzero(used)
