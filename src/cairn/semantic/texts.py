"""Which texts may name what is renamed: strings, comments that tools read, settings, templates, other files with code.

Of a text it is never proven that it means the symbol, only that it cannot: what is left must be decided. `__all__` of
Python is known, and is edited.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from cairn.core.text import word_set
from cairn.core.types import FileWords, WordKind, WordPlace
from cairn.semantic.ambiguity import Ambiguity, AmbiguitySource
from cairn.semantic.model import Family, family_of
from cairn.semantic.places import spot
from cairn.semantic.subject import Subject

EXPORTS = "__all__"
_PATH = re.compile(rb"[\w$.:\[\]()]*")
_LIST = re.compile(rb"[\w\s,|]*")
_LISTING = word_set(
    """namedtuple make_dataclass Enum IntEnum StrEnum Flag parametrize usefixtures attrgetter itemgetter methodcaller
    __slots__ __match_args__ _fields getattr setattr hasattr delattr pick omit"""
)
_RUNNING = frozenset({"eval", "exec", "compile", "timeit", "repeat", "run_code", "Function", "execute_script"})
_HARMLESS = frozenset({"import", "tag"})
# The first argument of these is a title for people.
_TITLES = word_set(
    """describe it test suite context bench step only skip todo each Run Log Logf Errorf Fatalf Error Fatal"""
)
_FILLED = re.compile(rb"(?:\{|%\(|\$\{)\s*$|(?:\{|%\(|\$\{)[\w.\[\]]*\.$|[\w\])]\.$")
_TEMPLATE = re.compile(rb"\{\{[^}]*[.$]\s*$")
_GO_DIRECTIVE = re.compile(rb"//(?:go:\w+|export)\b")
_TYPE_COMMENT = re.compile(rb"#\s*type:")
_TYPE_OF_DOC = re.compile(rb"@(?:type|param|returns?|typedef|template|extends|implements|property|prop|satisfies)\b")
_SCRIPTS = (".js", ".jsx", ".mjs", ".cjs")
# Files that hold code of a language without being files of it.
_EMBEDDING = {
    Family.PYTHON: word_set(
        """.ipynb .pyx .pxd .pxi .html .jinja .jinja2 .j2 .mako .txt.in .rpy .spec .html.j2 .tpl .tmpl"""
    ),
    Family.TYPESCRIPT: word_set(""".vue .svelte .astro .mdx .html .htm .hbs .ejs .pug .ipynb .njk"""),
    Family.GO: frozenset([".s", ".tmpl", ".gotmpl", ".gohtml", ".html", ".tpl", ".templ", ".c", ".h"]),
}
_SETTINGS = word_set(""".toml .json .yaml .yml .ini .cfg .conf .xml .properties .json5 .jsonc .in""")
_DOCUMENTS = frozenset({".rst", ".md", ".txt", ".adoc"})
_DIRECTIVE = re.compile(rb"^\s*\.\. auto\w+::")
_MOST_OF_A_FILE = 20


def in_texts(subject: Subject) -> Iterator[Ambiguity]:
    """Yield the places at which a text may name the subject, each once."""
    if subject.is_local:
        return
    for path, words in subject.words.items():
        seen: set[int] = set()
        for place in words.places:
            at = spot(words.text, place.start_byte)
            if at in subject.edited.get(path, ()) or at[0] in seen or len(seen) >= _MOST_OF_A_FILE:
                continue
            if _may_name(subject, path, words, place):
                seen.add(at[0])
                yield subject.ask(AmbiguitySource.NAME_IN_TEXT, path, at[0])


def may_hold_code(family: Family | None, path: str) -> bool:
    """Whether a file of this name may hold code of a language: its sources, notebooks, templates."""
    return family_of(path) is family or path.lower().endswith(tuple(_EMBEDDING.get(family or Family.RUBY, ())))


def exported_at(subject: Subject) -> Iterator[tuple[str, int]]:
    """Yield the bytes at which `__all__` of an edited file of Python names the subject."""
    if subject.family is Family.PYTHON:
        for path, words in subject.words.items():
            if path in subject.edited and family_of(path) is Family.PYTHON:
                for place in words.places:
                    if place.holder == EXPORTS and _inside(words, place) == subject.old.encode():
                        yield path, place.start_byte


def _inside(words: FileWords, place: WordPlace) -> bytes:
    return words.text[place.text_start : place.text_end]


def _may_name(subject: Subject, path: str, words: FileWords, place: WordPlace) -> bool:
    if family_of(path) is not subject.family:
        return _elsewhere(subject, path, words, place)
    if place.kind is WordKind.MEMBER or place.holder in _HARMLESS:
        return False
    if place.kind is WordKind.OTHER:
        return _is_directive(subject, path, words.text, place.start_byte)
    if place.holder == EXPORTS:
        return not _is_of_others(subject, path)
    in_string = _TEXTS.get(subject.family, _in_other_string) if subject.family else _in_other_string
    return in_string(subject, words, place)


def _in_python_string(subject: Subject, words: FileWords, place: WordPlace) -> bool:
    text, before = _inside(words, place), words.text[place.text_start : place.start_byte]
    if b"\n" in text and before.rpartition(b"\n")[2].lstrip().startswith((b">>>", b"...")):
        return True
    if place.holder == "doc":
        return False
    if place.holder in _RUNNING or _FILLED.search(before):
        return True
    is_path, is_list = _PATH.fullmatch(text), _LIST.fullmatch(text)
    return is_path is not None or (is_list is not None and place.holder in _LISTING)


def _in_script_string(subject: Subject, words: FileWords, place: WordPlace) -> bool:
    if place.holder in _RUNNING:
        return True
    is_path = _PATH.fullmatch(_inside(words, place))
    return is_path is not None and place.holder not in _TITLES


def _in_go_string(subject: Subject, words: FileWords, place: WordPlace) -> bool:
    """Whether reflection or a template may look an exported name up by this string; no other name of Go can be."""
    if not subject.old[:1].isupper():
        return False
    text, before = _inside(words, place), words.text[place.text_start : place.start_byte]
    if not subject.is_member:
        return place.holder == "Lookup" and text == subject.old.encode()
    is_name = text == subject.old.encode() and place.holder not in _TITLES
    return is_name or _TEMPLATE.search(before) is not None


def _in_other_string(subject: Subject, words: FileWords, place: WordPlace) -> bool:
    before = words.text[place.text_start : place.start_byte]
    return _PATH.fullmatch(_inside(words, place)) is not None or _FILLED.search(before) is not None


_TEXTS = {
    Family.PYTHON: _in_python_string,
    Family.TYPESCRIPT: _in_script_string,
    Family.GO: _in_go_string,
}


def _is_directive(subject: Subject, path: str, text: bytes, at: int) -> bool:
    """Whether a comment with the name is read by a compiler."""
    start = text.rfind(b"\n", 0, at) + 1
    end = text.find(b"\n", at)
    line = text[start : end if end >= 0 else len(text)]
    if subject.family is Family.GO:
        return _GO_DIRECTIVE.match(line) is not None
    if subject.family is Family.PYTHON:
        return _TYPE_COMMENT.search(line) is not None
    if subject.family is Family.TYPESCRIPT and path.endswith(_SCRIPTS):
        return _TYPE_OF_DOC.search(line) is not None
    return False


def _is_of_others(subject: Subject, path: str) -> bool:
    """Whether all that a file of Python calls by this name is known, and is something else."""
    return path not in subject.edited and any(True for _ in subject.unedited(path))


def _elsewhere(subject: Subject, path: str, words: FileWords, place: WordPlace) -> bool:
    """Whether a file that is none of the language may name the subject."""
    text, at = words.text, place.start_byte
    end = at + len(subject.old.encode("utf-8", "surrogateescape"))
    suffix = posixpath.splitext(path)[1].lower()
    if suffix in _DOCUMENTS:
        line = text[text.rfind(b"\n", 0, at) + 1 : at]
        return _DIRECTIVE.match(line) is not None
    if suffix in _EMBEDDING.get(subject.family or Family.RUBY, frozenset()):
        return not (subject.family is Family.GO and not subject.old[:1].isupper() and suffix != ".s")
    if suffix not in _SETTINGS:
        return False
    before, behind = text[at - 1 : at], text[end : end + 1]
    if before in (b".", b":"):
        return True
    is_reached_by_text = subject.family in (Family.PYTHON, Family.TYPESCRIPT)
    return subject.is_member and is_reached_by_text and before in b"\"'" and before == behind != b""
