"""TOML: tables and keys, which nothing in a file uses."""

from __future__ import annotations

from cairn.syntax.traits import Traits

TRAITS = Traits("toml")
