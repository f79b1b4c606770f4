"""Traits of Markdown: headings and the sections below them."""

from __future__ import annotations

from cairn.syntax.traits import Traits

TRAITS = Traits("markdown")
