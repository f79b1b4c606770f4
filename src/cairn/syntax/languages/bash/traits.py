"""Bash and other shells of its kind."""

from __future__ import annotations

from cairn.syntax.traits import Traits

TRAITS = Traits("bash")
