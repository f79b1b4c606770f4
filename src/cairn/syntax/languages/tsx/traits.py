"""Traits of TypeScript with JSX elements."""

from __future__ import annotations

from dataclasses import replace

from cairn.syntax.languages.typescript.traits import TRAITS as TYPESCRIPT

TRAITS = replace(
    TYPESCRIPT,
    name="tsx",
    wheel="tree-sitter-typescript",
    function="language_tsx",
    queries=("ecmascript.scm", "jsx.scm", "typescript/query.scm"),
)
