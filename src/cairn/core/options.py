"""An option of a question, declared once: its name, type, bounds and help, and which faces have it.

A face is a way to ask: the command line, the tools of agents, Python. `ask/questions.py` holds the declarations; every
face makes its own form of them (argparse, JSON Schema, keyword arguments), and so do the manual and the completion.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Any

from cairn.errors import UsageError

_MOST_SHOWN = 40
Refusal = type[UsageError]


class Face(StrEnum):
    """A way to ask a question."""

    CLI = "command line"
    MCP = "tools of agents"
    PYTHON = "Python"


class PrintedAs(StrEnum):
    """The forms in which the command line prints an answer."""

    TEXT = "text"
    JSON = "json"
    PLAIN = "plain"
    JSONL = "jsonl"
    VIMGREP = "vimgrep"
    DOT = "dot"
    MERMAID = "mermaid"


def called(value: object) -> str:
    """Return what a value of a wrong type is called in a sentence."""
    return "None" if value is None else type(value).__name__


def is_writable(text: str) -> bool:
    """Whether a text can be the name of a file: half a character of UTF-16 cannot."""
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return False
    return True


# --- types ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Flag:
    """True or false."""


@dataclass(frozen=True, slots=True)
class Number:
    """A whole number. `noun` is its name in the sentence that refuses another one, such as `number of results`."""

    least: int
    most: int | None
    noun: str = ""

    def checked(self, number: object, refuses: Refusal = UsageError) -> int:
        """Return the number, or raise `refuses` when it is none or out of its bounds."""
        if (
            not isinstance(number, int)
            or isinstance(number, bool)
            or number < self.least
            or (self.most is not None and number > self.most)
        ):
            bounds = f"of at least {self.least}" if self.most is None else f"from {self.least:,} to {self.most:,}"
            raise refuses(problem=f"The {self.noun} must be a whole number {bounds}.")
        return number


@dataclass(frozen=True, slots=True)
class Text:
    """A text of at most `most` characters, where a face has no other bound."""

    most: int


@dataclass(frozen=True, slots=True)
class TextList:
    """From `least` to `count` texts. `known` are the values that a shell completes; others are refused later or never.

    `make` gives the texts the form in which the question holds them.
    """

    most: int
    count: int
    least: int = 0
    known: Collection[str] = ()
    make: Callable[[Iterable[str]], Collection[str]] = tuple


@dataclass(frozen=True, slots=True)
class Choice:
    """One of some words, or with `many` several of them.

    The words of an enumeration are checked here and become its members; `noun` is what a word is called when it is
    refused. Those of a tuple are left as they are, for the question to check.
    """

    words: type[StrEnum] | tuple[str, ...]
    noun: str = "value"
    many: bool = False

    def listed(self) -> list[str]:
        """Return the words to choose from."""
        return [str(word) for word in self.words]

    def checked(self, word: str) -> str:
        """Return the word as a member of its enumeration, or raise `UsageError`."""
        if isinstance(self.words, tuple):
            return word
        if word not in self.listed():
            known = ", ".join(self.listed())
            raise UsageError(problem=f"There is no {self.noun} called {word[:_MOST_SHOWN]!r}; there are {known}.")
        return self.words(word)


@dataclass(frozen=True, slots=True)
class Json:
    """A value that only JSON can say; `schema` is JSON Schema."""

    schema: Mapping[str, Any]


Type = Flag | Number | Text | TextList | Choice | Json


# --- how a face shows an option ---------------------------------------------------------------------------------------


class _Same(Enum):
    DEFAULT = "the default of the option"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """How a face shows an option, as far as that is not derived from the option itself.

    Values that are `positional` need no name in front; a higher number comes later, and equal ones come as they are
    declared. `metavar`, `nargs` and `const` are words of argparse, and `short` is a second spelling, such as `-i`.
    """

    name: str = ""
    short: str = ""
    help: str = ""
    type: Type | None = None
    default: object = _Same.DEFAULT
    required: bool | None = None
    positional: int = 0
    metavar: str | None = None
    nargs: str | None = None
    const: str | None = None


@dataclass(frozen=True, slots=True)
class Declined:
    """Why a face does not have an option."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option of a question.

    `name` is what the question calls it; `max_tokens` is `--max-tokens` on the command line and `maxTokens` for agents
    unless `cli` or `mcp` say otherwise. `help` is a clause without a capital and a full stop. With `own` the face
    itself uses the value, and it is no part of the question.
    """

    name: str
    type: Type
    help: str
    default: object = None
    required: bool = False
    own: bool = False
    cli: Shown | Declined = field(default_factory=Shown)
    mcp: Shown | Declined = field(default_factory=Shown)
    python: Shown | Declined = field(default_factory=Shown)

    def on(self, face: Face) -> Shown | Declined:
        """Return how a face shows the option, or why it declines it."""
        return {Face.CLI: self.cli, Face.MCP: self.mcp, Face.PYTHON: self.python}[face]

    def checked(self, value: object, refuses: Refusal) -> object:
        """Return a value in the form that the question holds; None, which stands for no value, as it is."""
        if value is None:
            return None
        match self.type:
            case Number():
                return self.type.checked(value, refuses)
            case Choice(many=False):
                return self.type.checked(str(value))
            case Choice() | TextList():
                if isinstance(value, str) or not isinstance(value, Iterable):
                    raise UsageError(problem=f"`{self.name}` takes a list of texts.")
                return tuple(map(self.type.checked, value)) if isinstance(self.type, Choice) else self.type.make(value)
        return value


@dataclass(frozen=True, slots=True)
class OptionOnFace:
    """An option as one face has it: spelled, typed, explained and with its default there."""

    option: Option
    face: Face
    shown: Shown

    @property
    def name(self) -> str:
        """The spelling: `--max-tokens`, `maxTokens` or `max_tokens`; an argument of the command line has no dashes."""
        name = self.option.name
        if self.shown.name:
            return self.shown.name
        if self.face is Face.CLI:
            return name if self.shown.positional else f"--{name.replace('_', '-')}"
        return re.sub("_(.)", lambda found: found[1].upper(), name) if self.face is Face.MCP else name

    @property
    def type(self) -> Type:
        return self.shown.type or self.option.type

    @property
    def default(self) -> Any:
        chosen = self.option.default if self.shown.default is _Same.DEFAULT else self.shown.default
        empty = {Flag: False, TextList: ()}.get(type(self.type))
        if isinstance(self.type, Choice) and self.type.many:
            empty = ()
        return empty if chosen is None else chosen

    @property
    def takes_one_of_many(self) -> bool:
        """Whether the face takes one word where the question takes several."""
        many = isinstance(self.option.type, Choice) and self.option.type.many
        return many and isinstance(self.type, Choice) and not self.type.many

    @property
    def required(self) -> bool:
        return self.option.required if self.shown.required is None else self.shown.required

    @property
    def help(self) -> str:
        return self.shown.help or self.option.help

    def accept(self, value: object, refuses: Refusal) -> None:
        """Raise `refuses` when a program gave a value of another type, or None where there must be a value."""
        if value is None and not self.required and self.default is None:
            return
        texts: list[object] = []
        match self.type:
            case Number():
                self.type.checked(value, refuses)
            case Flag() if not isinstance(value, bool):
                raise refuses(problem=f"`{self.name}` takes True or False, not {called(value)}.")
            case TextList() | Choice(many=True):
                if not isinstance(value, Collection) or isinstance(value, str | bytes | Mapping):
                    raise refuses(problem=f"`{self.name}` takes a list of texts, not {called(value)}.")
                texts = list(value)
            case Text() | Choice() | Json():
                texts = [value]
        for text in texts:
            if not isinstance(text, str):
                raise refuses(problem=f"`{self.name}` takes {self._texts}, not {called(text)}.")
            if not is_writable(text):
                raise refuses(problem=f"`{self.name}` holds half a character, which no name and no file has.")

    @property
    def _texts(self) -> str:
        many = isinstance(self.type, TextList) or (isinstance(self.type, Choice) and self.type.many)
        return "texts" if many else "a text"

    @property
    def sentence(self) -> str:
        """The help as a sentence."""
        return self.help if self.help.endswith(".") else f"{self.help[:1].upper()}{self.help[1:]}."


@dataclass(frozen=True, slots=True)
class OptionTable:
    """The options of one question. `declined` are the faces that do not ask it, each with the reason.

    `refuses` is the error of a number that is out of its bounds.
    """

    name: str
    options: tuple[Option, ...]
    refuses: Refusal = UsageError
    declined: Mapping[Face, str] = field(default_factory=dict)

    def on(self, face: Face) -> Iterator[OptionOnFace]:
        """Yield the options that a face has."""
        for option in self.options:
            shown = option.on(face)
            if isinstance(shown, Shown) and face not in self.declined:
                yield OptionOnFace(option, face, shown)

    def values(self, face: Face, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of the question, by the names that the question gives them, each checked.

        `given` has them by the names of the face: those of JSON or of keyword arguments; argparse stores a value by the
        name of its option. What is not given is left out, and whatever else is in `given` is not looked at. A program
        can give any value, so that those of Python are checked for their type too, also where the face uses them.
        """
        found = {}
        for one in self.on(face):
            name = one.option.name if face is Face.CLI else one.name
            if face is Face.PYTHON and name in given:
                one.accept(given[name], self.refuses)
            if name in given and not one.option.own:
                value = [given[name]] if one.takes_one_of_many else given[name]
                found[one.option.name] = one.option.checked(value, self.refuses)
        return found

    def check(self, **values: object) -> None:
        """Raise the error of the first of these values that is out of its bounds."""
        by_name = {option.name: option for option in self.options}
        for name, value in values.items():
            by_name[name].checked(value, self.refuses)
