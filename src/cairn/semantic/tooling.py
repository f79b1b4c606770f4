"""Names that somebody looks for while the program is built, tested or run: tests, fixtures, hooks, keys of data."""

from __future__ import annotations

import builtins
import posixpath
import re
from collections.abc import Callable, Iterator

from cairn.core.text import word_set
from cairn.core.types import Symbol
from cairn.semantic.ambiguity import Ambiguity, AmbiguitySource
from cairn.semantic.model import Family, family_of
from cairn.semantic.patch import EditRule, Replacement
from cairn.semantic.places import spot
from cairn.semantic.subject import Subject, Written

_GENERATED = re.compile(
    rb"(?i)code generated\b.*\bdo not edit|@generated\b|\bauto(?:matically)?[- ]?generated (?:by|from|file)|do not edit"
)
_HEAD = 2_000
_GO_TESTS = ("Test", "Benchmark", "Fuzz", "Example")
# Methods that the standard library looks for by name in any value that it is handed.
_GO_CALLED = word_set(
    """String Error GoString Format MarshalJSON UnmarshalJSON MarshalText UnmarshalText MarshalBinary UnmarshalBinary
    MarshalXML UnmarshalXML GobEncode GobDecode Scan Value Read Write Close Unwrap Is As Len Less Swap ServeHTTP"""
)
_GO_ENTRIES = frozenset({"main", "init", "TestMain"})
_RUN_BY_TOOLS = word_set(
    """conf.py setup.py noxfile.py tasks.py fabfile.py manage.py settings.py conftest.py gunicorn.conf.py wsgi.py
    asgi.py sitecustomize.py hatch_build.py"""
)
_XUNIT = re.compile(r"(?:setup|teardown)(?:_(?:module|class|method|function))?|setUp\w*|tearDown\w*|asyncSetUp|runTest")
_TEST_FILE = re.compile(r"(?:test_.*|.*_tests?|conftest)\.py|tests?\.py")
# What pytest collects, and what it calls.
_PYTEST = re.compile(r"test|Test|pytest_")
_BUILTINS = frozenset(dir(builtins))
# A class that derives from one of another project is handed messages by methods whose names begin so.
_DISPATCHED = re.compile(
    r"(?:visit|depart|do|handle|on|test|clean|validate|get|help|complete|process|render|parse|format|resolve|save)_\w"
)
_PASSIVE_DECORATORS = word_set(
    """property staticmethod classmethod abstractmethod overload override final cached_property cache lru_cache wraps
    contextmanager asynccontextmanager dataclass total_ordering singledispatch singledispatchmethod setter getter
    deleter runtime_checkable deprecated no_type_check define frozen attrs s skip skipif xfail parametrize mark
    filterwarnings usefixtures patch object dict asyncio given settings example"""
)
_PASSIVE_BASES = re.compile(
    r"(?:object|ABC|Protocol|Generic|type|dict|list|set|tuple|str|int|float|bytes|BaseException|\w*(?:Error|Exception|Warning))#$"
)
_BY_NAME = re.compile(rb"__name__|__qualname__")
_RUST_PASSIVE = word_set("""Debug Clone Copy PartialEq Eq Hash PartialOrd Ord Default""")
_DERIVED = re.compile(rb"#\[derive\(([^)]*)\)\]")
_RUST_EXPORTED = re.compile(
    rb"#\[(?:no_mangle|export_name|wasm_bindgen|pyfunction|pymethods|test_case|unsafe\(no_mangle)"
)
_VALUES = frozenset({"field", "variable", "constant", "property"})
_TEXT_OF_GO = re.compile(rb'`[^`]*`|"(?:[^"\\\n]|\\.)*"')


def found_by_tools(subject: Subject) -> Iterator[Ambiguity]:
    """Yield every question that asks whether somebody finds the subject by its name alone."""
    yield from _generated(subject)
    for one in subject.written:
        line = one.symbol.start_line
        if _is_in_other_form(subject, one):
            yield subject.ask(AmbiguitySource.NAME_FORM, one.path, line)
        if subject.family in _RULES and _RULES[subject.family](subject, one):
            yield subject.ask(AmbiguitySource.NAME_FOR_TOOL, one.path, line)
        if subject.family in _KEYS and _KEYS[subject.family](subject, one):
            yield subject.ask(AmbiguitySource.NAME_OF_DATA, one.path, line)
        if subject.family is Family.PYTHON and _is_fixture(one):
            yield from _given_to(subject)


def _generated(subject: Subject) -> Iterator[Ambiguity]:
    for path in subject.edited:
        syntax = subject.service.facts.syntax(path)
        found = _GENERATED.search(syntax.text, 0, _HEAD) if syntax is not None else None
        if found is not None and syntax is not None:
            yield subject.ask(AmbiguitySource.GENERATED_FILE, path, spot(syntax.text, found.start())[0])


def _is_in_other_form(subject: Subject, one: Written) -> bool:
    """Whether the new name means something to the language or its tools, or the old one is also written otherwise."""
    old, new = subject.old, subject.new
    if subject.family is Family.GO:
        called = new in _GO_CALLED if subject.is_member else new in _GO_ENTRIES
        return called or old[:1].isupper() is not new[:1].isupper()
    if subject.family is Family.PYTHON:
        # Outside of its class `__name` is written `_Class__name`.
        hidden = any(each.startswith("__") and not each.endswith("__") for each in (old, new))
        special = new.startswith("__") and new.endswith("__")
        collected = _PYTEST.match(new) is not None and _PYTEST.match(old) is None
        hides = not subject.is_member and new in _BUILTINS
        return special or collected or hides or (subject.is_member and hidden)
    if subject.family is Family.TYPESCRIPT:
        return old[:1].isupper() is not new[:1].isupper() and any(path.endswith("x") for path in subject.edited)
    return False


# --- Go ---------------------------------------------------------------------------------------------------------------


def examples(subject: Subject) -> Iterator[tuple[str, Replacement]]:
    """Yield the edits of the functions that `go vet` takes for examples of the subject: `ExampleOld_suffix`."""
    if subject.family is not Family.GO or not subject.old[:1].isupper():
        return
    folders = {posixpath.dirname(one.path): one for one in subject.written}
    for path in subject.service.facts.paths_now():
        one = folders.get(posixpath.dirname(path))
        if one is None or not path.endswith("_test.go"):
            continue
        syntax = subject.service.facts.syntax(path)
        for symbol in syntax.symbols if syntax is not None else ():
            at = _of_example(subject, one, symbol)
            if at is not None and syntax is not None:
                line, column = spot(syntax.text, symbol.name_byte)
                start = column + at
                yield path, Replacement(line, start, start + len(subject.old), subject.new.encode(), EditRule.EXAMPLE)


def _of_example(subject: Subject, one: Written, symbol: Symbol) -> int | None:
    """Return where in the name of an example the subject is named; None where it is not."""
    if symbol.kind != "function" or not symbol.name.startswith("Example"):
        return None
    first, _, rest = symbol.name.removeprefix("Example").partition("_")
    if not subject.is_member:
        return len("Example") if first == subject.old else None
    owner = one.symbol.container.rpartition(".")[2]
    named = rest.partition("_")[0]
    return len("Example") + len(first) + 1 if first == owner and named == subject.old else None


def _is_for_go(subject: Subject, one: Written) -> bool:
    if subject.is_member:
        return False
    if subject.old in _GO_ENTRIES:
        return True
    if not one.path.endswith("_test.go") or one.symbol.kind != "function":
        return False
    prefix = next((each for each in _GO_TESTS if subject.old.startswith(each)), None)
    if prefix == "Example":
        return subject.new.partition("_")[0] != subject.old.partition("_")[0]
    rest = subject.new.removeprefix(prefix) if prefix is not None else ""
    return prefix is not None and (not subject.new.startswith(prefix) or rest[:1].islower())


def _is_key_in_go(subject: Subject, one: Written) -> bool:
    """Whether an encoder may write a field under its name: it is exported and no tag gives it another."""
    owner = one.owner
    if one.symbol.kind != "field" or owner is None or not subject.old[:1].isupper():
        return False
    line_end = one.syntax.text.find(b"\n", one.symbol.end_byte)
    if b"`" in one.syntax.text[one.symbol.start_byte : line_end if line_end >= 0 else None]:
        return False
    if b"`" in one.syntax.text[owner.start_byte : owner.end_byte]:
        return True
    word = re.compile(rb"(?i)(?<!\w)" + re.escape(subject.old.encode()) + rb"(?=\"?\s*[:=\"]|`|$)")
    return any(_has_text(subject, path, word) for path in subject.service.facts.paths_now())


def _has_text(subject: Subject, path: str, word: re.Pattern[bytes]) -> bool:
    syntax = subject.service.facts.syntax(path) if family_of(path) is Family.GO else None
    if syntax is None or word.search(syntax.text) is None:
        return False
    return any(word.search(text[0][1:]) for text in _TEXT_OF_GO.finditer(syntax.text))


# --- Python -----------------------------------------------------------------------------------------------------------


def _is_fixture(one: Written) -> bool:
    return any(name == "fixture" for name, _ in one.decorators)


def _given_to(subject: Subject) -> Iterator[Ambiguity]:
    for path in subject.code:
        for line in sorted({line for line, _ in subject.unedited(path)}):
            yield subject.ask(AmbiguitySource.FIXTURE, path, line)


def _is_for_python(subject: Subject, one: Written) -> bool:
    name, kind = subject.old, one.symbol.kind
    base = posixpath.basename(one.path)
    if name.startswith("pytest_") or _XUNIT.fullmatch(name):
        return True
    if _TEST_FILE.fullmatch(base) and not subject.new.startswith(_kept_prefix(name)):
        return True
    if base in _RUN_BY_TOOLS and not subject.is_member and not _is_fixture(one):
        return True
    if kind == "method" and _DISPATCHED.match(name) and _is_below_others(subject):
        return True
    return not _is_fixture(one) and any(_registers(one, *each, subject) for each in one.decorators)


def _kept_prefix(name: str) -> str:
    return next((each for each in ("test", "Test") if name.startswith(each)), "")


def _registers(one: Written, name: str, at: int, subject: Subject) -> bool:
    """Whether a decorator may use the name of what it decorates: one of another project, or one that reads names."""
    if name in _PASSIVE_DECORATORS:
        return False
    facts = subject.service.facts
    symbols = facts.symbols_at(one.path, *spot(one.syntax.text, at))
    homes = [place for symbol in symbols for place in facts.definitions(symbol)]
    if not homes:
        return True
    for place in homes:
        syntax = facts.syntax(place.path)
        for each in syntax.symbols if syntax is not None else ():
            if syntax is not None and each.start_line <= place.start_line <= each.end_line and each.name == name:
                return _BY_NAME.search(syntax.text, each.start_byte, each.end_byte) is not None
    return False


def _is_below_others(subject: Subject) -> bool:
    """Whether the class of the subject derives from a class of another project that does more than hold data."""
    facts = subject.service.facts
    return any(
        not facts.is_ours(base) and not _PASSIVE_BASES.search(facts.symbol(base).rpartition("/")[2])
        for base in facts.types_of(subject.related)
    )


def _is_key_in_python(subject: Subject, one: Written) -> bool:
    """Whether a class may collect its attributes by their names: it has a metaclass, or a base of another project."""
    owner = one.owner
    if owner is None or owner.kind != "class" or one.symbol.kind not in _VALUES:
        return False
    # A property is no data, but may stand for an attribute of the base.
    return _is_below_others(subject) or (not list(one.decorators) and _has_metaclass(subject))


def _has_metaclass(subject: Subject) -> bool:
    facts = subject.service.facts
    for base in facts.types_of(subject.related):
        for place in facts.definitions(base):
            syntax = facts.syntax(place.path)
            for each in syntax.symbols if syntax is not None else ():
                if syntax is not None and each.kind == "class" and each.start_line <= place.start_line <= each.end_line:
                    text = syntax.text[each.start_byte : each.end_byte]
                    if b"metaclass=" in text[:_HEAD] or b"__init_subclass__" in text:
                        return True
    return False


# --- TypeScript and Rust ----------------------------------------------------------------------------------------------


def _is_key_in_typescript(subject: Subject, one: Written) -> bool:
    """Whether a decorator of a member may use its name, as those of database columns do."""
    return subject.is_member and any(True for _ in one.decorators)


def _is_key_in_rust(subject: Subject, one: Written) -> bool:
    """Whether something derived may use the name of a field or a variant, as `Serialize` does."""
    owner = one.owner
    if owner is None or owner.kind not in ("struct", "enum"):
        return False
    start = max(0, owner.start_byte - _HEAD)
    above = one.syntax.text[start : owner.name_byte]
    cut = max(above.rfind(b"\n}"), above.rfind(b";\n"), 0)
    derived = {
        each.strip().rpartition("::")[2]
        for found in _DERIVED.finditer(above, cut)
        for each in found[1].decode("utf-8", "replace").split(",")
    }
    return bool(derived - _RUST_PASSIVE - {""})


def _is_for_rust(_subject: Subject, one: Written) -> bool:
    start = max(0, one.symbol.start_byte - 300)
    above = one.syntax.text[start : one.symbol.name_byte]
    return _RUST_EXPORTED.search(above, max(above.rfind(b"\n}"), above.rfind(b";\n"), 0)) is not None


_Rule = Callable[[Subject, Written], bool]
_RULES: dict[Family | None, _Rule] = {Family.GO: _is_for_go, Family.PYTHON: _is_for_python, Family.RUST: _is_for_rust}
_KEYS: dict[Family | None, _Rule] = {
    Family.GO: _is_key_in_go,
    Family.PYTHON: _is_key_in_python,
    Family.TYPESCRIPT: _is_key_in_typescript,
    Family.RUST: _is_key_in_rust,
}
