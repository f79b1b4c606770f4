"""Traits of SQL: tables, views, functions and columns."""

from __future__ import annotations

from cairn.syntax.traits import Traits

TRAITS = Traits("sql")
