"""The one matcher for ignore files: git's rules, exactly.

A rule is a chain of steps, one for each name of a path. The state in a folder is the set of steps that wait for a name
there; entering a folder moves the set on, so a folder never pays for rules about other places, and folders in which
nothing moves share everything with their parent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter, is_
from typing import NamedTuple

from cairn.core.limits import KIB, MAX_IGNORE_BYTES, MAX_IGNORE_PATTERNS, MAX_PATTERN_BYTES
from cairn.source.patterns import Component, PatternPart, chains

IGNORE_ENGINE_VERSION = "1"
# 1: first shipped form. Part of the key under which vectors are kept.

# A finder returns the position, in its file, of the last rule that matches a name; -1 when none does.
_Finder = Callable[[bytes], int]
_Pair = tuple[_Finder, _Finder]
_Match = Callable[[bytes], re.Match[bytes] | None]
_Group = tuple[_Match, list[int]]

_BOM = b"\xef\xbb\xbf"
_GLOBS_PER_REGEX = 64
# Hostile rules can reach many sets of waiting steps; what is kept of them stays small.
_MOST_KEPT_STEPS = 50_000
_MOST_KEPT_FOLDERS = 4_096


class IgnoreRule(NamedTuple):
    """One line of an ignore file. `pattern` is the line as written, safe to show; `negated` takes a name in."""

    negated: bool
    folder_only: bool
    pattern: str
    source: str
    line: int


class _PathStep:
    """One name of a path that a rule waits for; `then` is the step below, None when the rule has matched."""

    __slots__ = ("_glob", "component", "deep", "folder_only", "order", "then")

    def __init__(self, order: int, folder_only: bool, part: PatternPart, then: _PathStep | None) -> None:
        self.order = order  # which rule of its file
        self.folder_only = folder_only
        self.deep, self.component = part
        self.then = then
        self._glob: _Match | None = None

    def glob(self) -> _Match:
        # Compiled once for each line, however many folders the rule waits in: compiling costs a hundred matches.
        if self._glob is None:
            self._glob = re.compile(self.component.regex, re.DOTALL).match
        return self._glob

    def takes(self, name: bytes) -> bool:
        component = self.component
        return self.glob()(name) is not None if component.regex else name.endswith(component.endings)


class RuleSet:
    """The rules of one ignore file; false when there are none. `warnings` name the lines that were not used."""

    __slots__ = ("_anywhere", "_first", "_kept", "_kept_steps", "rules", "warnings")

    def __init__(self, rules: Sequence[IgnoreRule], steps: Iterable[_PathStep], warnings: Sequence[str]) -> None:
        self.rules = tuple(rules)
        self.warnings = tuple(warnings)
        # Rules without a slash hold in every folder below: indexed once, shared by all of them.
        anywhere: list[_PathStep] = []
        elsewhere: list[_PathStep] = []
        for step in steps:
            (anywhere if step.deep and step.then is None else elsewhere).append(step)
        self._anywhere = _finders(anywhere, _joined)
        self._kept: dict[tuple[_PathStep, ...], _Level] = {}
        self._kept_steps = 0
        self._first = self._level(elsewhere) if rules else None

    def __bool__(self) -> bool:
        return bool(self.rules)

    def _level(self, steps: list[_PathStep]) -> _Level | None:
        """Return what the rules say where exactly these steps wait; None when they say nothing, here and below."""
        if not steps and self._anywhere is None:
            return None
        waiting = tuple(steps)
        level = self._kept.get(waiting)
        if level is None:
            self._kept_steps += len(waiting)
            if self._kept_steps > _MOST_KEPT_STEPS:
                self._kept.clear()
                self._kept_steps = len(waiting)
            level = self._kept[waiting] = _Level(self, waiting)
        return level


class _Level:
    """One ignore file as it holds in one folder."""

    __slots__ = ("_by_glob", "_by_name", "_deep", "_others", "find", "moves", "rules", "ruleset")

    def __init__(self, ruleset: RuleSet, waiting: tuple[_PathStep, ...]) -> None:
        self.ruleset = ruleset
        self.rules = ruleset.rules
        self.find = _both(ruleset._anywhere, _finders([step for step in waiting if step.then is None], _single))
        self._deep = [step for step in waiting if step.deep]
        self._by_name: dict[bytes, list[_PathStep]] = {}
        self._by_glob: list[tuple[_PathStep, _PathStep]] = []
        for step in waiting:
            if step.then is not None and step.component.names:
                for name in step.component.names:
                    self._by_name.setdefault(name, []).append(step.then)
            elif step.then is not None:
                self._by_glob.append((step, step.then))
        # The level of every folder that no step waits for.
        self._others = self if len(self._deep) == len(waiting) else ruleset._level(self._deep)
        self.moves = self._others is not self or bool(self._by_name or self._by_glob)

    def enter(self, name: bytes) -> _Level | None:
        """Return the rules of this ignore file inside the folder `name`."""
        moved = self._by_name.get(name, ())
        if self._by_glob:
            moved = [*moved, *(then for step, then in self._by_glob if step.takes(name))]
        if not moved:
            return self._others
        return self.ruleset._level(sorted({*self._deep, *moved}, key=id))


class IgnoreStack:
    """Everything the ignore files say inside one folder. Immutable."""

    __slots__ = ("_levels", "_moves", "_overridden")

    def __init__(self, levels: tuple[_Level, ...], overridden: bool) -> None:
        self._levels = levels  # the one that decides first comes first
        self._overridden = overridden  # whether the first one is the override
        self._moves = any(level.moves for level in levels)

    @classmethod
    def for_root(cls, gitignore: RuleSet | None, override: RuleSet | None) -> IgnoreStack:
        """Return the stack of the root; `override` decides before every .gitignore, at any depth."""
        first = override._first if override else None
        own = gitignore._first if gitignore else None
        return cls(tuple(level for level in (first, own) if level is not None), first is not None)

    def enter(self, name: bytes, gitignore: RuleSet | None) -> IgnoreStack:
        """Return the stack inside the folder `name`, in which this .gitignore was found."""
        own = gitignore._first if gitignore else None
        if own is None and not self._moves:
            return self
        below = [level.enter(name) for level in self._levels]
        overridden = self._overridden and below[0] is not None
        levels = [level for level in below if level is not None]
        if own is not None:
            levels.insert(int(overridden), own)
        elif len(levels) == len(self._levels) and all(map(is_, levels, self._levels)):
            return self
        return IgnoreStack(tuple(levels), overridden)

    def verdict(self, name: bytes, is_folder: bool) -> IgnoreRule | None:
        """Return the rule that decides about a name in this folder, or None. A link to a folder is not a folder."""
        return _verdict(self._levels, name, is_folder)

    def verdict_beneath(self, name: bytes, is_folder: bool) -> IgnoreRule | None:
        """Return the rule that would decide without the override."""
        return _verdict(self._levels[self._overridden :], name, is_folder)


def _verdict(levels: Sequence[_Level], name: bytes, is_folder: bool) -> IgnoreRule | None:
    for level in levels:
        order = level.find[is_folder](name)
        if order >= 0:
            return level.rules[order]
    return None


def parse_rules(data: bytes, source: str) -> RuleSet:
    """Return the rules in an ignore file's bytes; never fails, whatever the bytes are."""
    warnings: list[str] = []
    if len(data) > MAX_IGNORE_BYTES:
        data = data[: data.rfind(b"\n", 0, MAX_IGNORE_BYTES) + 1]
        warnings.append(f"{source}: only its first {MAX_IGNORE_BYTES // KIB} KiB are used.")
    return _rule_set(data.removeprefix(_BOM).split(b"\n"), source, warnings)


def _rule_set(lines: Iterable[bytes], source: str, warnings: list[str]) -> RuleSet:
    rules: list[IgnoreRule] = []
    steps: list[_PathStep] = []
    patterns = 0
    for number, line in enumerate(lines, start=1):
        text = _trimmed(line)
        if not text:
            continue
        patterns += 1
        if patterns > MAX_IGNORE_PATTERNS:
            warnings.append(f"{source}: only its first {MAX_IGNORE_PATTERNS:,} patterns are used.")
            break
        if len(text) > MAX_PATTERN_BYTES:
            warnings.append(f"{source}:{number}: a pattern longer than {MAX_PATTERN_BYTES:,} bytes is not used.")
            continue
        pattern = text.removeprefix(b"!")
        folder_only = pattern.endswith(b"/")
        possible = chains(pattern[:-1] if folder_only else pattern)
        for chain in possible:
            step: _PathStep | None = None
            for part in reversed(chain):
                step = _PathStep(len(rules), folder_only, part, step)
            if step is not None:
                steps.append(step)
        if possible:
            rules.append(IgnoreRule(text[:1] == b"!", folder_only, _shown(text), source, number))
    return RuleSet(rules, steps, warnings)


def _trimmed(line: bytes) -> bytes:
    """Return the pattern in a line; empty when there is none."""
    if line[:1] == b"#":
        return b""
    line = line.removesuffix(b"\r").partition(b"\0")[0]
    text = line.rstrip(b" ")
    backslashes = len(text) - len(text.rstrip(b"\\"))
    # An odd backslash keeps the first space behind it.
    return text + b" " if backslashes % 2 and len(text) < len(line) else text


def _shown(text: bytes) -> str:
    decoded = text.decode("utf-8", "backslashreplace")
    # A control byte in an ignore file must not reach a terminal.
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in decoded)


# --- finding the last rule that matches a name --------------------------------------------------------------------


def _both(anywhere: _Pair | None, here: _Pair | None) -> _Pair:
    """Join the finders of rules that hold in every folder and of rules that hold in this one into one pair."""
    if anywhere is None or here is None:
        return anywhere or here or (_nothing, _nothing)
    files, folders = ((lambda name, a=a, h=h: max(a(name), h(name))) for a, h in zip(anywhere, here, strict=True))
    return files, folders


def _nothing(_name: bytes) -> int:
    return -1


def _finders(steps: Sequence[_PathStep], group: Callable[[list[_PathStep]], list[_Group]]) -> _Pair | None:
    """Return one finder for files and one for folders."""
    if not steps:
        return None
    for_folders = _finder(steps, group)
    if not any(step.folder_only for step in steps):
        return for_folders, for_folders
    return _finder([step for step in steps if not step.folder_only], group), for_folders


def _finder(steps: Sequence[_PathStep], group: Callable[[list[_PathStep]], list[_Group]]) -> _Finder:
    names: dict[bytes, int] = {}
    endings: dict[bytes, list[tuple[int, bytes]]] = {}
    globs: dict[bytes, _PathStep] = {}
    for step in sorted(steps, key=attrgetter("order"), reverse=True):
        for name in step.component.names:
            names.setdefault(name, step.order)
        for ending in step.component.endings:
            # A name that ends in `.tar.gz` ends in `gz` behind its last dot.
            endings.setdefault(ending.rpartition(b".")[2], []).append((step.order, ending))
        if step.component.regex:
            globs.setdefault(step.component.regex, step)
    groups = group(list(globs.values()))
    if not endings and not groups:
        return lambda name: names.get(name, -1)
    first, last = _edges([step.component for step in globs.values()])

    def find(name: bytes) -> int:
        best = names.get(name, -1)
        same_extension = endings.get(name[name.rfind(b".") + 1 :])
        if same_extension is not None:
            for order, ending in same_extension:
                if order > best and name.endswith(ending):
                    best = order
                    break
        if name[0] not in first and name[-1] not in last:
            return best
        for match, orders in groups:
            if orders[0] < best:
                break
            found = match(name)
            if found is not None:
                return max(best, orders[(found.lastindex or 1) - 1])
        return best

    return find


def _edges(globs: list[Component]) -> tuple[frozenset[int], frozenset[int]]:
    """Return the bytes with which a name that any of these globs may match can begin, or else end."""
    if not all(one.first or one.last for one in globs):
        return frozenset(range(256)), frozenset()
    first = frozenset(b"".join(one.first for one in globs))
    return first, frozenset(b"".join(one.last for one in globs if not one.first))


def _joined(globs: list[_PathStep]) -> list[_Group]:
    """Return few regular expressions for many globs, the last rule first: the first branch that matches decides."""
    groups: list[_Group] = []
    for start in range(0, len(globs), _GLOBS_PER_REGEX):
        some = globs[start : start + _GLOBS_PER_REGEX]
        regex = re.compile(b"|".join(b"(%b)" % step.component.regex for step in some), re.DOTALL)
        groups.append((regex.match, [step.order for step in some]))
    return groups


def _single(globs: list[_PathStep]) -> list[_Group]:
    """Return one regular expression for each glob: the sets of waiting steps differ from folder to folder."""
    return [(step.glob(), [step.order]) for step in globs]


# --- questions about a whole path ---------------------------------------------------------------------------------


def decide(
    path: bytes, is_folder: bool, load: Callable[[bytes], RuleSet | None], override: RuleSet | None
) -> tuple[bytes, IgnoreRule] | None:
    """Return the path that was matched (this one, or the ignored folder above it) and the rule; None without a match.

    `load` returns the rules of the .gitignore in a folder, which is b"" for the root.
    """
    parts = [part for part in path.split(b"/") if part]
    stack = IgnoreStack.for_root(load(b""), override)
    for depth, name in enumerate(parts, start=1):
        here = b"/".join(parts[:depth])
        last = depth == len(parts)
        rule = stack.verdict(name, is_folder or not last)
        if rule is not None and (last or not rule.negated):
            return here, rule
        if not last:
            stack = stack.enter(name, load(here))
    return None


class GlobSet:
    """Globs in the syntax of ignore files, relative to the root."""

    __slots__ = ("_folders", "_root", "warnings")

    def __init__(self, rules: RuleSet) -> None:
        self.warnings = rules.warnings
        self._root = IgnoreStack.for_root(rules, None)
        self._folders: dict[bytes, IgnoreStack | IgnoreRule] = {}

    @classmethod
    def from_patterns(cls, patterns: Sequence[str], source: str) -> GlobSet:
        """Return the set of these globs; the position of a glob is its line."""
        return cls(_rule_set((p.encode("utf-8", "surrogateescape") for p in patterns), source, []))

    def matches(self, path: bytes, is_folder: bool = False) -> IgnoreRule | None:
        """Return the last glob that matches the path, or else the last that matches a folder above it."""
        folder, _, name = path.rpartition(b"/")
        inside = self._inside(folder)
        return inside.verdict(name, is_folder) if isinstance(inside, IgnoreStack) else inside

    def _inside(self, folder: bytes) -> IgnoreStack | IgnoreRule:
        """Return what holds inside a folder: a stack, or the rule that took the whole folder."""
        if not folder:
            return self._root
        known = self._folders.get(folder)
        if known is None:
            known = self._root
            for name in folder.split(b"/"):
                rule = known.verdict(name, True)
                if rule is not None and not rule.negated:
                    known = rule
                    break
                known = known.enter(name, None)
            if len(self._folders) >= _MOST_KEPT_FOLDERS:
                self._folders.clear()
            self._folders[folder] = known
        return known
