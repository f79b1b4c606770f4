"""Traits of CSS: rules, selectors and imported style sheets."""

from __future__ import annotations

from cairn.syntax.traits import Traits

TRAITS = Traits("css")
