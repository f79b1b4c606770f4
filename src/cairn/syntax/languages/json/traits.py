"""Traits of JSON: keys, which have no uses."""

from __future__ import annotations

from cairn.syntax.traits import Traits

TRAITS = Traits("json")
