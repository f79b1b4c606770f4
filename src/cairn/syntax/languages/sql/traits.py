"""Traits of SQL: tables, views, functions and columns."""

from __future__ import annotations

from cairn.syntax.lexis import AFTER_DASHES, BLOCK, Lexis
from cairn.syntax.traits import Traits

TRAITS = Traits("sql", lexis=Lexis((AFTER_DASHES, BLOCK), (r"'(?:[^']|'')*(?:'|\Z)",)))
