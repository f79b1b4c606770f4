"""Renders what the syntax layer finds in a file as lines a person can read and diff."""

from __future__ import annotations

from pathlib import Path

from cairn.syntax.languages import load
from cairn.syntax.parse import broken_lines, parse
from cairn.syntax.symbols import Extracted, extract

FOLDER = Path(__file__).parent.parent / "golden" / "syntax"


def samples() -> list[Path]:
    """One folder per language, one `sample.*` in each."""
    return sorted(FOLDER.glob("*/sample*"))


def facts_of(data: bytes, language: str) -> Extracted:
    grammar = load(language)
    assert grammar is not None, language
    tree = parse(data, grammar)
    assert tree is not None
    return extract(data, tree.root_node, grammar)


def render(data: bytes, language: str) -> str:
    """Definitions, references, imports, exports and broken lines, one per line, in the order of the file."""
    grammar = load(language)
    assert grammar is not None, language
    tree = parse(data, grammar)
    assert tree is not None
    facts = extract(data, tree.root_node, grammar)
    lines = ["# definitions: kind name span visibility | signature | doc"]
    for s in facts.symbols:
        name = f"{s.container}.{s.name}" if s.container else s.name
        doc = s.doc.split("\n")[0]
        seen = "exported" if s.exported else "private"
        lines.append(f"{s.kind} {name} {s.start_line}-{s.end_line} {seen} | {s.signature} | {doc}")
    lines.append("# references: kind receiver name line:column in scope")
    for r in facts.references:
        scope = facts.symbols[r.scope].name if r.scope >= 0 else "-"
        lines.append(f"{r.kind} {r.receiver or '-'} {r.name} {r.line}:{r.column} in {scope}")
    lines.append("# imports: module name alias line")
    lines.extend(f"{i.module or '-'} {i.name or '-'} {i.alias or '-'} {i.line}" for i in facts.imports)
    lines.append("# exports")
    lines.extend(facts.exports)
    lines.append("# broken lines")
    lines.extend(f"{first}-{last}" for first, last in broken_lines(data, tree.root_node))
    return "\n".join(lines) + "\n"
