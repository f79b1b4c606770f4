"""Trains the table: texts near the code they are about, far from the other code of the batch (torch; CPU or GPU).

    python -m training.train --dataset DATASET.npz --out WEIGHTS.npz [--start VECTORS.npy]

A text is the sum of its pieces' vectors, each times the root of its count and a learned weight, which differs between
queries and code. The loss is the symmetric InfoNCE over the batch, at 256, 128 and 64 dimensions, so that the first
ones say the most. VECTORS (pieces x 256, float32) is where the table starts; without them it starts by chance.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from cairn.embedding.identity import DIMENSION
from training.batches import Bag, Data
from training.dataset import Arrays
from training.export import quantised
from training.vocabulary import SIZE

TEMPERATURE = 0.05
# Dimensions, and what their loss counts.
MATRYOSHKA = ((DIMENSION, 1.0), (128, 0.3), (64, 0.15))
_WARM_UP_STEPS = 100
_LEAST_RATE = 0.02
_WEIGHTS_LEARN_FASTER = 5


class Table(nn.Module):
    """A vector for each piece, and the logarithm of its weight in a query and in code."""

    def __init__(self, start: Tensor) -> None:
        super().__init__()
        self.vectors = nn.Parameter(start.clone())
        self.in_query = nn.Parameter(torch.zeros(len(start)))
        self.in_code = nn.Parameter(torch.zeros(len(start)))

    def forward(self, bag: Bag, rows: int, weights: Tensor) -> Tensor:
        weighted = bag.weights * torch.exp(weights[bag.pieces])
        # Bags are joined field by field; the kernel wants each row's pieces side by side.
        order = torch.argsort(bag.rows, stable=True)
        ends = torch.cumsum(torch.bincount(bag.rows, minlength=rows), 0)
        starts = torch.cat([ends.new_zeros(1), ends[:-1]])
        return functional.embedding_bag(
            bag.pieces[order], self.vectors, starts.to(bag.pieces.dtype), per_sample_weights=weighted[order], mode="sum"
        )


def loss_of(queries: Tensor, answers: Tensor, same: Tensor) -> Tensor:
    """How badly each query finds its own answer among all, and each answer its query; `same` pairs do not count."""
    target = torch.arange(len(queries), device=queries.device)
    total = queries.new_zeros(())
    for dimension, share in MATRYOSHKA:
        scores = functional.normalize(queries[:, :dimension]) @ functional.normalize(answers[:, :dimension]).T
        scores = (scores / TEMPERATURE).masked_fill(same, -1e4)
        both = functional.cross_entropy(scores, target) + functional.cross_entropy(scores.T, target)
        total = total + share * both / 2
    return total


def same_pairs(data: Data, records: Tensor) -> Tensor:
    """Pairs of the batch with the same text or the same code: right answers to each other, not wrong ones."""
    texts, codes = data.text_key[records], data.code_key[records]
    return ((texts[:, None] == texts) | (codes[:, None] == codes)).fill_diagonal_(False)


def start_table(arrays: Arrays, vectors: Path | None, seed: int) -> Tensor:
    """Given or random directions, shorter the more often a piece is said."""
    counts = np.bincount(arrays["code_pieces"], minlength=SIZE) + np.bincount(arrays["text_pieces"], minlength=SIZE)
    rare = torch.from_numpy(1e-3 / (1e-3 + counts / max(1, counts.sum()))).float()
    if vectors is not None:
        start = torch.from_numpy(np.load(vectors)).float()
    else:
        start = torch.randn(SIZE, DIMENSION, generator=torch.Generator().manual_seed(seed))
    return functional.normalize(start) * rare[:, None]


def train(data: Data, start: Tensor, options: argparse.Namespace) -> Table:
    """The trained table; says how it goes."""
    torch.manual_seed(options.seed)
    chance = np.random.default_rng(options.seed)
    table = Table(start).to(data.device)
    rate, faster = options.rate, options.rate * _WEIGHTS_LEARN_FASTER
    groups = [{"params": [table.vectors]}, {"params": [table.in_query, table.in_code], "lr": faster}]
    optimizer = torch.optim.Adam(groups, lr=rate)
    steps = options.epochs * max(1, len(data.repository) // options.batch)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _rate(step, steps))
    began, step = time.monotonic(), 0
    for epoch in range(options.epochs):
        losses = []
        for records in data.batches(options.batch, options.block, chance):
            asked, by_name = data.queries(records)
            queries = table(asked, len(records), table.in_query)
            answers = table(data.answers(records, by_name, options.dropout), len(records), table.in_code)
            loss = loss_of(queries, answers, same_pairs(data, records))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            losses.append(loss.detach())
            step += 1
        mean = float(torch.stack(losses).mean())
        print(f"epoch {epoch + 1}: step {step}, loss {mean:.3f}, {time.monotonic() - began:.0f} s", flush=True)
    return table


def _rate(step: int, steps: int) -> float:
    warm = min(1.0, (step + 1) / min(_WARM_UP_STEPS, max(1, steps // 5)))
    return warm * max(_LEAST_RATE, 0.5 * (1 + math.cos(math.pi * min(1.0, step / steps))))


def save(table: Table, out: Path) -> None:
    """Write the weights in whole numbers; the weight in code goes into the table, the query's is relative to it."""
    with torch.no_grad():
        vectors = (table.vectors * torch.exp(table.in_code)[:, None]).cpu().numpy()
        in_query = torch.exp(table.in_query - table.in_code).cpu().numpy()
    np.savez(out, **quantised(vectors, in_query)._asdict())


def main(arguments: list[str]) -> int:
    """Train and write the weights."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--start", type=Path)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch", type=int, default=4096)
    parser.add_argument("--block", type=int, default=128, help="records of one repository that stand together")
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--dropout", type=float, default=0.15, help="share of the code's pieces left out")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    with np.load(options.dataset) as found:
        arrays = dict(found)
    start = start_table(arrays, options.start, options.seed)
    save(train(Data(arrays, options.device), start, options), options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
