"""The weights of the ranking: how much each signal counts.

Fitted on 2026-11-15 by random ascent on the development halves of two benchmarks together: 631 questions about 32
public repositories, and 725 commit subjects of 29 others, plain and with the words of the right name taken out (679).
NDCG@10 there: 0.902 (names of symbols 0.983); 0.747; 0.476; with each repository of the first left out of the fit in
turn, 0.895. Without names of files: 0.850; 0.697; 0.455. A step of a hundredth in any weight moves these by up to
0.002: read no more into the third digit.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

WEIGHTS: Final = MappingProxyType(
    {
        "text": 0.624,
        "meaning": 0.652,
        "name_said": 0.346,
        "name_matched": 0.659,
        "name_in_text": 0.131,
        "folder": 1.641,
        "named_so": 0.508,
        "symbols": 0.069,
        "definition": 0.458,
        "used": 0.096,
        "coverage": 0.324,
        # Set by hand: a quoted phrase or a given path is meant exactly.
        "phrase": 1.000,
        "path": 1.000,
    }
)
# The weights when no name of a file may count (`without` the group `filename`).
WITHOUT_NAMES: Final = MappingProxyType(
    {
        "text": 0.200,
        "meaning": 0.600,
        "symbols": 0.300,
        "definition": 0.370,
        "used": 0.120,
        "coverage": 0.320,
        "joined": 0.100,
        "phrase": 1.000,
    }
)

# Factors on the scores of files that are rarely wanted.
PENALTIES: Final = MappingProxyType({"tests": 0.37, "docs": 0.37, "vendored": 0.37, "config": 0.61, "old": 0.74})

# How much a word counts by the field of the chunk that it is in.
TEXT_FIELDS: Final = MappingProxyType({"body": 1.0, "path": 2.0})
# The score of a file is the sum of its best chunks: the best one, half of the next, and so on.
FALLING: Final = (1.0, 0.5, 0.25, 0.125)

# Words that say what is done or asked rather than what the code is about; they count by this share.
VAGUE_SHARE: Final = 0.4
VAGUE_WORDS: Final = (
    "fix fixes fixed add adds added remove removes removed removing improve improves improved improving refactor"
    " support supports supporting use uses used using make makes making allow allows allowing avoid avoids ensure"
    " ensures update updates updating change changes changed handle handles handling handled implement implements"
    " implementation implemented minor simplify cleanup clean correct correctly instead logic mechanism way works work"
    " working better properly proper several various also only just now new more some other different need needs get"
    " gets getting return returns returning set sets setting introduce prevent rename renamed move moved replace"
    " replaced enable disable drop switch tweak adjust provide provides issue bug problem case cases behavior behaviour"
    " feature option code thing things via per between after before during without within about against across based"
    " define defined definition defines perform performs performing internal internally unused"
)
