"""Where a table may start: the vectors that a transformer gives to each piece (torch and transformers).

    python -m training.start --model FOLDER --vocabulary VOCABULARY --out VECTORS.npy

FOLDER holds a BERT-like model and its tokenizer, as `transformers` saves them; nothing is downloaded. Each piece goes
through the whole model alone; the mean of its outputs, centred, is brought to 256 dimensions along the directions in
which the pieces differ most.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from transformers import AutoModel, AutoTokenizer

from cairn.embedding.identity import DIMENSION
from cairn.embedding.static import INNER

_PIECES_AT_ONCE = 4096


def vectors_of(folder: Path, pieces: list[str], device: str) -> Tensor:
    """The mean output of the model for each piece, in its own dimension."""
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    model = AutoModel.from_pretrained(folder, local_files_only=True).to(device).eval()
    found = []
    with torch.no_grad():
        for start in range(0, len(pieces), _PIECES_AT_ONCE):
            some = [piece.removeprefix(INNER) for piece in pieces[start : start + _PIECES_AT_ONCE]]
            given = tokenizer(some, padding=True, truncation=True, max_length=16, return_tensors="pt").to(device)
            real = given["attention_mask"][..., None]
            found.append((model(**given).last_hidden_state * real).sum(1) / real.sum(1))
    return torch.cat(found).float()


def main(arguments: list[str]) -> int:
    """Write the vectors of a vocabulary."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--vocabulary", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = parser.parse_args(arguments)
    wide = vectors_of(options.model, options.vocabulary.read_text("utf-8").split("\n"), options.device)
    wide -= wide.mean(0)
    _, _, directions = torch.linalg.svd(wide, full_matrices=False)
    np.save(options.out, (wide @ directions[:DIMENSION].T).cpu().numpy())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
