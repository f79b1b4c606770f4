"""Which family of languages a file belongs to: by its name alone."""

from __future__ import annotations

from cairn.semantic.model import Family

_SUFFIXES = {
    Family.PYTHON: "py pyi pyw",
    Family.TYPESCRIPT: "ts mts cts tsx js mjs cjs jsx",
    Family.GO: "go",
    Family.RUST: "rs",
    Family.JVM: "java kt kts scala sc",
    Family.CLANG: "c h cc cpp cxx c++ hh hpp hxx h++ ipp inl tpp cu cuh",
    Family.DOTNET: "cs vb",
    Family.RUBY: "rb rake gemspec rbi",
}
_FAMILIES = {suffix: family for family, suffixes in _SUFFIXES.items() for suffix in suffixes.split()}


def family_of(path: str) -> Family | None:
    """The family of the file with this path key; None when no indexer reads it."""
    stem, dot, suffix = path.rpartition("/")[2].rpartition(".")
    return _FAMILIES.get(suffix.lower()) if stem and dot else None
