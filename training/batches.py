"""The records on the device, and the bags of pieces that one batch of them is made of (torch)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from training.dataset import FIELDS, Arrays

# Smaller rests of a repository give no hard negatives.
_LEAST_BLOCK = 8
# What is left out by chance, so that no pair hangs on one word.
_TEXT_DROPOUT = 0.1
_PATH_KEPT = 0.6
_NAME_AS_QUERY = 0.12


class Bag(NamedTuple):
    """Pieces with weights, and the row of the batch that each belongs to."""

    pieces: Tensor
    weights: Tensor
    rows: Tensor


class Field(NamedTuple):
    """One field of all records: where each record's pieces start, the pieces, and the root of their counts."""

    starts: Tensor
    pieces: Tensor
    weights: Tensor

    def bag(self, records: Tensor) -> Bag:
        starts = self.starts[records]
        lengths = self.starts[records + 1] - starts
        rows = torch.repeat_interleave(torch.arange(len(records), device=records.device), lengths)
        before = torch.cumsum(lengths, 0) - lengths
        places = torch.arange(len(rows), device=records.device) + (starts - before)[rows]
        return Bag(self.pieces[places], self.weights[places], rows)

    def lengths(self, records: Tensor) -> Tensor:
        return self.starts[records + 1] - self.starts[records]


class Data:
    """All records on one device."""

    def __init__(self, arrays: Arrays, device: str) -> None:
        self.device = device
        self.repository: NDArray[np.int32] = arrays["repository"].astype(np.int32)
        self.text_key = torch.from_numpy(arrays["text_key"]).to(device)
        self.code_key = torch.from_numpy(arrays["code_key"]).to(device)
        self.fields = {name: _field(arrays, name, device) for name in FIELDS}

    def batches(self, size: int, block: int, chance: np.random.Generator) -> Iterator[Tensor]:
        """Records in batches of blocks of one repository: what lies near the answer is the hardest to tell apart."""
        blocks = []
        for repository in np.unique(self.repository):
            own = chance.permutation(np.flatnonzero(self.repository == repository))
            blocks += [own[start : start + block] for start in range(0, len(own), block)]
        blocks = [own for own in blocks if len(own) >= _LEAST_BLOCK]
        order = np.concatenate([blocks[number] for number in chance.permutation(len(blocks))])
        for start in range(0, max(1, len(order) - size + 1), size):
            yield torch.from_numpy(order[start : start + size]).to(self.device)

    def queries(self, records: Tensor) -> tuple[Bag, Tensor]:
        """What is asked, and which rows ask by the name alone."""
        named = self.fields["name"].lengths(records) >= 2
        by_name = named & (torch.rand(len(records), device=self.device) < _NAME_AS_QUERY)
        text, name = self.fields["text"].bag(records), self.fields["name"].bag(records)
        text = _masked(_dropped(text, _TEXT_DROPOUT), ~by_name)
        return _joined(text, _masked(name, by_name)), by_name

    def answers(self, records: Tensor, by_name: Tensor, dropout: float) -> Bag:
        """What answers: code, often with its path, sometimes with the comment, which real files keep."""
        code = _dropped(self.fields["code"].bag(records), dropout)
        path = _masked(self.fields["path"].bag(records), self._chance(len(records)) < _PATH_KEPT)
        text = self.fields["text"].bag(records)
        kept = self._chance(len(records)) < torch.where(by_name, 0.5, 0.15)
        # A comment that is also the question would give the answer away: most of its words go.
        thinned = torch.where(by_name[text.rows], text.weights, _dropped(text, 0.6).weights)
        return _joined(code, path, _masked(text._replace(weights=thinned), kept))

    def _chance(self, count: int) -> Tensor:
        return torch.rand(count, device=self.device)


def _field(arrays: Arrays, name: str, device: str) -> Field:
    return Field(
        torch.from_numpy(arrays[f"{name}_starts"]).to(device),
        torch.from_numpy(arrays[f"{name}_pieces"].astype(np.int32)).to(device),
        torch.from_numpy(np.sqrt(arrays[f"{name}_counts"].astype(np.float32))).to(device),
    )


def _dropped(bag: Bag, share: float) -> Bag:
    return bag._replace(weights=bag.weights * (torch.rand_like(bag.weights) >= share))


def _masked(bag: Bag, rows: Tensor) -> Bag:
    return bag._replace(weights=bag.weights * rows[bag.rows])


def _joined(*bags: Bag) -> Bag:
    return Bag(*(torch.cat(parts) for parts in zip(*bags, strict=True)))
