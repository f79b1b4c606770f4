"""Find the parts of a file that are compiled only under a condition, by its text alone and without a parser.

`#if` of C, C# and Swift, `#[cfg(…)]` of Rust and the platforms of a Go file are told in the traits of each language. In
doubt a part counts as conditional: what is defined in it is then likely, and not proven.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Condition(NamedTuple):
    """A part of a text, and the condition under which it is compiled; a condition of one file is spelled one way."""

    start: int
    end: int
    text: bytes


_DIRECTIVE = re.compile(rb"^[ \t]*#[ \t]*(if|ifdef|ifndef|elif|elseif|else|endif)\b((?:\\\n|[^\n])*)", re.MULTILINE)
_FIRST = re.compile(rb"^[ \t]*#[ \t]*(\w+)[ \t]*(\w*)", re.MULTILINE)
_ALWAYS = frozenset({b"if 1", b"if true"})
_MOST = 5_000


def directives(text: bytes, _path: str) -> tuple[Condition, ...]:
    """Return the branches of `#if` and `#ifdef`, without the guard around a whole header."""
    if b"#" not in text:
        return ()
    found: list[Condition] = []
    # Of each open `#if`: its first words, where the current branch begins, and what that branch is called.
    opened: list[tuple[bytes, int, bytes]] = []
    for count, match in enumerate(_DIRECTIVE.finditer(text)):
        if count >= _MOST:
            return (Condition(0, len(text), b"many"),)
        word, rest = match[1], b" ".join(match[2].split(b"//")[0].split(b"/*")[0].split())
        if word in (b"if", b"ifdef", b"ifndef"):
            head = word + b" " + rest
            opened.append((head, match.end(), head))
            continue
        if not opened:
            continue
        head, start, called = opened.pop()
        found.append(Condition(start, match.start(), called))
        if word != b"endif":
            opened.append((head, match.end(), word + b" " + (rest if word != b"else" else head)))
    found += [Condition(start, len(text), called) for _, start, called in opened]
    guard = _guard(text)
    return tuple(sorted(each for each in found if each.text not in _ALWAYS and each.start != guard))


def _guard(text: bytes) -> int:
    """Return where the part behind an include guard begins; -1 without one."""
    first = _FIRST.search(text)
    if first is None or first[1] != b"ifndef":
        return -1
    following = _FIRST.match(text, text.find(b"\n", first.end()) + 1)
    return first.end() if following and (following[1], following[2]) == (b"define", first[2]) else -1


_CFG = re.compile(rb"#(!?)\[\s*cfg\s*\(((?:[^()\]]|\([^()]*(?:\([^()]*\)[^()]*)*\))*)\)\s*\]")
_TOKEN = re.compile(rb'//[^\n]*|"(?:[^"\\]|\\.)*"|[()\[\]{};,]', re.DOTALL)
_ITEM = re.compile(
    rb"(?:\s|#\[[^\n]*\]|//[^\n]*)*(?:pub(?:\([^)]*\))?\s+)?(?:unsafe|async|const|extern|default|static|fn|struct|enum|union|mod"
    rb"|use|impl|trait|type|macro_rules|let|\w+!)\b"
)
_MOST_BYTES = 4_000_000


def attributes(text: bytes, _path: str) -> tuple[Condition, ...]:
    """Return the items of Rust below `#[cfg(…)]`; `#![cfg(…)]` stands for the whole file."""
    found: list[Condition] = []
    read = 0
    for match in _CFG.finditer(text):
        called = b" ".join(match[2].split())
        if match[1]:
            found.append(Condition(0, len(text), called))
            continue
        end = _end_of_item(text, match.end()) if read < _MOST_BYTES else len(text)
        read += end - match.end()
        found.append(Condition(match.start(), end, called))
    return tuple(sorted(found))


def _end_of_item(text: bytes, start: int) -> int:
    """Return where an item ends: at its semicolon or its last brace; a member or a variant ends with a comma too."""
    is_item, depth = _ITEM.match(text, start) is not None, 0
    for token in _TOKEN.finditer(text, start):
        sign = token[0]
        if sign in (b"(", b"[", b"{"):
            depth += 1
        elif sign in (b")", b"]", b"}"):
            depth -= 1
            if depth < 0:
                return token.start()
            if depth == 0 and sign == b"}":
                return token.end()
        elif depth == 0 and (sign == b";" or (sign == b"," and not is_item)):
            return token.end()
    return len(text)


_BUILD = re.compile(rb"^//(?:go:build|[ \t]*\+build)[ \t]+([^\n]+)", re.MULTILINE)
_SYSTEM_NAMES = """
aix android darwin dragonfly freebsd illumos ios js linux nacl netbsd openbsd plan9 solaris unix wasip1 windows
386 amd64 arm arm64 loong64 mips mips64 mips64le mipsle ppc64 ppc64le riscv64 s390x wasm
"""
_SYSTEMS = frozenset(_SYSTEM_NAMES.split())


def platforms(text: bytes, path: str) -> tuple[Condition, ...]:
    """Return the whole of a Go file that is built for some platforms only, by its name or by its first lines."""
    parts = path.rpartition("/")[2].removesuffix(".go").removesuffix("_test").split("_")[1:]
    named = "_".join(part for part in parts[-2:] if part in _SYSTEMS)
    head = text[: max(0, text.find(b"\npackage ") + 1)]
    built = _BUILD.search(head)
    called = [named.encode()] if named else []
    called += [b" ".join(built[1].split())] if built else []
    return tuple(Condition(0, len(text), each) for each in called)
