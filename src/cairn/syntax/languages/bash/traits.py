"""Traits of Bash and similar shells."""

from __future__ import annotations

from cairn.syntax.traits import Traits

TRAITS = Traits("bash")
