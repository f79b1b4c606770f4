"""Tell the roles of a file by its path: a test, an example, a document, a setting, foreign or generated code.

One table of patterns holds for every language, for one path or for all paths of a view. Scopes and the penalties of the
ranking both use it. A file may have several roles.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntFlag, StrEnum
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import re2  # type: ignore[import-untyped]
from numpy.typing import NDArray

# --- All paths of a view as one text, so that one pass matches a pattern against sixty thousand paths.


Flags = NDArray[np.bool_]


class PathPattern:
    """A pattern of whole paths, written without the leading slash; no part of it may match a NUL."""

    def __init__(self, *bodies: str) -> None:
        body = "|".join(bodies)
        # Neighbouring paths that match are one match, because a match costs a hundred times as much as a byte.
        self._runs = re2.compile(f"(?s)(?:\0/(?:{body}))+\0".encode())

    def matches(self, path: str) -> bool:
        """Whether one path matches."""
        return self._runs.search(f"\0/{path}\0".encode()) is not None

    def spans(self, text: bytes) -> list[tuple[int, int]]:
        return [match.span() for match in self._runs.finditer(text)]


class PathTable:
    """Many paths, ready to be matched together; made once for a view."""

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = paths
        encoded = [path.encode() for path in paths]
        self._text = b"".join(b"\0/" + path for path in encoded) + b"\0"
        sizes = np.fromiter(map(len, encoded), np.int64, len(encoded)) + 2
        self._starts = np.cumsum(sizes) - sizes

    def matching(self, pattern: PathPattern) -> Flags:
        """Return for each path whether it matches."""
        edges = np.zeros(len(self.paths) + 1, np.int8)
        if spans := pattern.spans(self._text):
            ends = np.array(spans, np.int64)
            edges[np.searchsorted(self._starts, ends[:, 0])] += 1
            # A run ends with the NUL that begins the next path.
            edges[np.searchsorted(self._starts, ends[:, 1] - 1)] -= 1
        return np.cumsum(edges[:-1]) > 0


def glob_pattern(*globs: str) -> PathPattern:
    """Return the pattern of the paths that match one of these globs, as people write them in a query.

    `*` and `?` match inside a name, `**` also across folders, `[ab]` one of the characters. A glob without a slash
    matches a file or a folder anywhere; a slash before or inside the glob ties it to the root. A folder matches all
    files in it.
    """
    return PathPattern(*map(_glob, globs))


def _glob(written: str) -> str:
    body = written.removeprefix("./").strip("/")
    anchored = written.startswith(("/", "./")) or "/" in body
    anywhere = "" if anchored else r"(?:[^\x00]*/)?"
    return f"{anywhere}{_translated(body)}(?:/[^\\x00]*)?"


def _translated(written: str) -> str:
    found: list[str] = []
    at = 0
    while at < len(written):
        if written.startswith("**/", at):
            found.append(r"(?:[^\x00]*/)?")
            at += 3
        elif written.startswith("**", at):
            found.append(r"[^\x00]*")
            at += 2
        elif written[at] == "*":
            found.append(r"[^/\x00]*")
            at += 1
        elif written[at] == "?":
            found.append(r"[^/\x00]")
            at += 1
        elif written[at] == "[" and (end := written.find("]", at + 2)) > 0:
            found.append(_one_of(written[at + 1 : end]))
            at = end + 1
        else:
            found.append(re2.escape(written[at]))
            at += 1
    return "".join(found)


def _one_of(members: str) -> str:
    """Return a class of characters; `!` or `^` at its start negates it, and `a-z` is a range if it is in order."""
    negated = members[0] in "!^" and len(members) > 1
    members = members[negated:]
    parts: list[str] = []
    at = 0
    while at < len(members):
        end = members[at + 2] if members[at + 1 : at + 2] == "-" and at + 2 < len(members) else ""
        if end >= members[at] and end:
            parts.append(f"{_quoted(members[at])}-{_quoted(end)}")
            at += 3
        else:
            parts.append(_quoted(members[at]))
            at += 1
    # A negated class must not match a slash or the NUL between two paths.
    return f"[^/\\x00{''.join(parts)}]" if negated else f"[{''.join(parts)}]"


def _quoted(char: str) -> str:
    return f"\\x{{{ord(char):x}}}"


Places = NDArray[np.uint8]


class FileRole(IntFlag):
    """The roles that a file can have."""

    TEST = 1
    EXAMPLE = 2
    DOC = 4
    CONFIG = 8
    VENDORED = 16
    GENERATED = 32
    PACKAGE_INDEX = 64


class SearchScope(StrEnum):
    """Which files are searched; `runtime` are all files but tests, documents, examples and settings."""

    RUNTIME = "runtime"
    TESTS = "tests"
    DOCS = "docs"
    CONFIG = "config"
    ALL = "all"


# --- how a rule is written --------------------------------------------------------------------------------------------

_IN_NAME = r"[^/\x00]*"
_ANYWHERE = r"(?:[^\x00]*/)?"
_ENDINGS = r"(?:\.[^/.\x00]+)"


def _folder(*words: str) -> str:
    """Return a pattern of the files below a folder of such a name, at any depth, in upper or lower case."""
    return f"{_ANYWHERE}(?i:{'|'.join(words)})/[^\\x00]*"


def _humped(*words: str) -> str:
    """Return a pattern of the files below a folder whose name ends in such a capitalized word, as in `androidTest`."""
    return f"{_ANYWHERE}{_IN_NAME}[a-z0-9.](?:{'|'.join(words)})/[^\\x00]*"


def _named(*names: str) -> str:
    """Return a pattern of the files of such a name, ending included."""
    return f"{_ANYWHERE}(?:{'|'.join(names)})"


def _any_case(*names: str) -> str:
    return f"{_ANYWHERE}(?i:{'|'.join(names)})"


# --- the table --------------------------------------------------------------------------------------------------------


class _Rule(NamedTuple):
    """The patterns of one role. `likely` does not count for prose and data: `tests.yml` is a setting, not a test."""

    place: FileRole
    sure: PathPattern
    likely: PathPattern | None = None


_PROSE_OR_DATA = PathPattern(
    r"[^\x00]*\.(?i:md|mdx|markdown|rst|adoc|asciidoc|txt|org|ya?ml|toml|json|jsonc|json5|ini|cfg|conf|xml|lock|csv)"
)
_RULES = (
    _Rule(
        FileRole.TEST,
        PathPattern(
            _folder(
                "tests?", "testing", "__tests?__", "__mocks__", "mocks?", "__fixtures__", "fixtures?", "testdata",
                "__snapshots__", "e2e", "cypress", "unittests?", "testsuites?", "testlib", "testutils?", "testhelpers?",
                f"tests?[-_.]{_IN_NAME}", f"{_IN_NAME}[-_.]tests?",
            ),
            _humped("Tests?", "Specs?", "TestCases?", "TestKit"),
            _any_case(rf"{_IN_NAME}\.(?:bats|t|feature|snap|test)", r"conftest\.py", r"spec_helper\.rb"),
        ),
        PathPattern(
            _folder("specs?"),
            _any_case(
                f"tests?{_ENDINGS}+", f"(?:tests?|mocks?)[-_.]{_IN_NAME}{_ENDINGS}",
                f"{_IN_NAME}[-_.](?:tests?|specs?|e2e|unittests?|mocks?|testcases?){_ENDINGS}*",
                f"(?:testutils?|testhelpers?|testcases?|testsuite|unittests?){_ENDINGS}+",
            ),
            _named(
                f"{_IN_NAME}[a-z0-9](?:Tests?|TestCases?|Specs?|IT|TestBase|TestUtils?|TestHelpers?){_ENDINGS}+",
                f"(?:Test|Mock)[A-Z]{_IN_NAME}{_ENDINGS}",
            ),
        ),
    ),
    _Rule(
        FileRole.EXAMPLE,
        PathPattern(
            _folder(
                "_?examples?", "samples?", "demos?", "tutorials?", "playgrounds?", "cookbooks?", "quickstarts?",
                f"(?:examples?|samples?|demos?)[-_.]{_IN_NAME}", f"{_IN_NAME}[-_.](?:examples?|samples|demos?)",
            ),
            _humped("Examples?", "Samples", "Demos?"),
            _any_case(
                f"(?:examples?|demos?){_ENDINGS}+", f"(?:example|demo)[-_.]{_IN_NAME}",
                f"{_IN_NAME}[-_.](?:examples?|demo){_ENDINGS}*",
            ),
            _named(f"{_IN_NAME}[a-z0-9](?:Examples?|Demo){_ENDINGS}"),
        ),
    ),
    _Rule(
        FileRole.DOC,
        PathPattern(
            _folder(
                "docs?", "documentation", "manuals?", "wiki", "guides?", "adrs?", "man", "javadocs?",
                f"{_IN_NAME}[-_.]docs?",
            ),
            _any_case(
                rf"{_IN_NAME}\.(?:md|mdx|markdown|mkd|qmd|rmd|rst|rest|adoc|asciidoc|org|pod|tex)",
                r"readme(?:[-_.][^/\x00]*)?",
                r"(?:changelog|changes|contributing|contributors|licen[sc]e|copying|authors|maintainers|news|history"
                r"|notice|todo|roadmap|thanks|credits)(?:[-_][a-z0-9]+)?(?:\.txt)?",
            ),
        ),
    ),
    _Rule(
        FileRole.CONFIG,
        PathPattern(
            rf"{_ANYWHERE}\.[^\x00]+",
            _any_case(
                rf"{_IN_NAME}\.(?:toml|ya?ml|ini|cfg|conf|cnf|properties|json|jsonc|json5|env|tfvars|plist|lock|mk|cmake"
                r"|gradle|sbt|sln|csproj|fsproj|vbproj|vcxproj|props|targets|nix|bazel|bzl|gemspec|podspec|cabal|nimble)",
                rf"{_IN_NAME}\.(?:config|conf)\.[cm]?[jt]s",
                r"(?:dockerfile|containerfile|makefile)(?:[-_.][^/\x00]*)?",
                "gnumakefile", "kbuild", "kconfig", "jenkinsfile", "vagrantfile", "procfile", "gemfile", "rakefile",
                "podfile", "brewfile", "pipfile", "justfile", "fastfile", "tiltfile", "build", "workspace",
                "sconstruct",
                r"cmakelists\.txt", r"meson\.build", r"meson_options\.txt", r"go\.(?:mod|sum|work)", r"mix\.exs",
                r"(?:pom|build|web)\.xml", r"build\.gradle\.kts", r"settings\.gradle\.kts", r"package\.swift",
                r"setup\.py", r"noxfile\.py", r"build\.zig\.zon", r"(?:requirements|constraints)[^/\x00]*\.(?:txt|in)",
            ),
        ),
    ),
    _Rule(
        FileRole.VENDORED,
        PathPattern(
            _folder(
                "_?vendor(?:ed|s)?", "third[-_]?party", "3rd[-_]?party", "node_modules", "bower_components", "pods",
                "carthage", "site-packages", "deps", "externals?", "extern", "jspm_packages",
            )
        ),
    ),
    _Rule(
        FileRole.GENERATED,
        PathPattern(
            _folder("_*generated_*", "autogen", "gen", "dist", "generated[-_.]sources", f"{_IN_NAME}[-_.]generated"),
            _any_case(
                rf"{_IN_NAME}\.pb(?:\.gw)?\.(?:go|cc|h|ts|js|dart|swift|rb|c)", rf"{_IN_NAME}_pb2(?:_grpc)?\.pyi?",
                rf"{_IN_NAME}[-_.](?:gen|generated|autogen)\.[^/.\x00]+", rf"{_IN_NAME}\.(?:g|freezed)\.dart",
                rf"{_IN_NAME}\.(?:g|g\.i|designer)\.cs", r"zz_generated[^/\x00]*", r"bindata\.go",
                r"moc_[^/\x00]*\.cpp",
                rf"{_IN_NAME}\.tab\.[ch]", r"lex\.yy\.c", rf"{_IN_NAME}[-.]min\.(?:js|css)", rf"{_IN_NAME}\.bundle\.js",
            ),
        ),
    ),
    _Rule(
        FileRole.PACKAGE_INDEX,
        PathPattern(
            _named(
                r"__init__\.pyi?", r"index\.(?:[cm]?[jt]sx?|vue|svelte)", r"(?:mod|lib)\.rs", r"doc\.go", r"init\.lua",
                r"(?:package|module)-info\.java", r"package\.scala", r"default\.nix",
            )
        ),
    ),
)  # fmt: skip


# --- asking the table -------------------------------------------------------------------------------------------------


def places(table: PathTable) -> Places:
    """Return for each path the roles of its file, as bits of `FileRole`."""
    found = np.zeros(len(table.paths), np.uint8)
    neither = ~table.matching(_PROSE_OR_DATA)
    for place, sure, likely in _RULES:
        own = table.matching(sure)
        if likely is not None:
            own |= table.matching(likely) & neither
        found |= own.astype(np.uint8) << place.bit_length() - 1
    return found


@lru_cache(4096)
def place_of(path: str) -> FileRole:
    """Return the roles of one file."""
    return FileRole(int(places(PathTable([path]))[0]))


def in_scope(found: Places, scope: SearchScope) -> Flags:
    """Return which files a scope contains. Tests come first, then documents and examples, then settings."""
    tests = found & FileRole.TEST != 0
    docs = (found & (FileRole.DOC | FileRole.EXAMPLE) != 0) & ~tests
    config = (found & FileRole.CONFIG != 0) & ~tests & ~docs
    by_scope: dict[SearchScope, Flags] = {
        SearchScope.TESTS: tests,
        SearchScope.DOCS: docs,
        SearchScope.CONFIG: config,
        SearchScope.RUNTIME: ~(tests | docs | config),
        SearchScope.ALL: np.ones(len(found), np.bool_),
    }
    return by_scope[scope]


def scope_of(path: str) -> SearchScope:
    """Return the scope, other than `all`, that contains a file."""
    found = np.array([place_of(path)], np.uint8)
    return next(scope for scope in SearchScope if in_scope(found, scope)[0])


@lru_cache(32_768)
def is_test(path: str) -> bool:
    """Whether a file is a test, or something that only tests use: fixtures, mocks, helpers."""
    return FileRole.TEST in place_of(path)
