"""Traits of TypeScript: those of JavaScript, and types."""

from __future__ import annotations

from dataclasses import replace

from cairn.syntax.languages.javascript.traits import TRAITS as JAVASCRIPT

TRAITS = replace(
    JAVASCRIPT,
    name="typescript",
    function="language_typescript",
    queries=("ecmascript.scm", "typescript/query.scm"),
)
