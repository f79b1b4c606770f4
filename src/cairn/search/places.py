"""What the path of a file says about its part in a project: a test, an example, a document, a setting, not its own.

By names alone and for every language at once. One table of patterns, for one path or for all paths of a view; scopes
and the penalties of the ranking both ask here. A file may be several of these things at once.
"""

from __future__ import annotations

from enum import IntFlag, StrEnum
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cairn.search.pathtable import Flags, PathPattern, PathTable

Places = NDArray[np.uint8]


class Place(IntFlag):
    """The parts a file can play."""

    TEST = 1
    EXAMPLE = 2
    DOC = 4
    CONFIG = 8
    VENDORED = 16
    GENERATED = 32
    PACKAGE_INDEX = 64


class Scope(StrEnum):
    """Which files are searched: `runtime` are those that are neither tests, documents and examples, nor settings."""

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
    """Below a folder of such a name, at any depth; upper and lower case are the same."""
    return f"{_ANYWHERE}(?i:{'|'.join(words)})/[^\\x00]*"


def _humped(*words: str) -> str:
    """Below a folder whose name ends in one of these words, written with a capital: `androidTest`, `App.UnitTests`."""
    return f"{_ANYWHERE}{_IN_NAME}[a-z0-9.](?:{'|'.join(words)})/[^\\x00]*"


def _named(*names: str) -> str:
    """A file of such a name, ending included."""
    return f"{_ANYWHERE}(?:{'|'.join(names)})"


def _any_case(*names: str) -> str:
    return f"{_ANYWHERE}(?i:{'|'.join(names)})"


# --- the table --------------------------------------------------------------------------------------------------------


class _Rule(NamedTuple):
    """`sure` is enough; `likely` is, unless the file is prose or data: `tests.yml` sets up a run, `specs/` explain."""

    place: Place
    sure: PathPattern
    likely: PathPattern | None = None


_PROSE_OR_DATA = PathPattern(
    r"[^\x00]*\.(?i:md|mdx|markdown|rst|adoc|asciidoc|txt|org|ya?ml|toml|json|jsonc|json5|ini|cfg|conf|xml|lock|csv)"
)
_RULES = (
    _Rule(
        Place.TEST,
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
        Place.EXAMPLE,
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
        Place.DOC,
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
        Place.CONFIG,
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
        Place.VENDORED,
        PathPattern(
            _folder(
                "_?vendor(?:ed|s)?", "third[-_]?party", "3rd[-_]?party", "node_modules", "bower_components", "pods",
                "carthage", "site-packages", "deps", "externals?", "extern", "jspm_packages",
            )
        ),
    ),
    _Rule(
        Place.GENERATED,
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
        Place.PACKAGE_INDEX,
        PathPattern(
            _named(
                r"__init__\.pyi?", r"index\.(?:[cm]?[jt]sx?|vue|svelte)", r"(?:mod|lib)\.rs", r"doc\.go", r"init\.lua",
                r"(?:package|module)-info\.java", r"package\.scala", r"default\.nix",
            )
        ),
    ),
)  # fmt: skip


# --- asking it --------------------------------------------------------------------------------------------------------


def places(table: PathTable) -> Places:
    """For each path, the parts its file plays, as bits of `Place`."""
    found = np.zeros(len(table.paths), np.uint8)
    neither = ~table.matching(_PROSE_OR_DATA)
    for place, sure, likely in _RULES:
        own = table.matching(sure)
        if likely is not None:
            own |= table.matching(likely) & neither
        found |= own.astype(np.uint8) << place.bit_length() - 1
    return found


@lru_cache(4096)
def place_of(path: str) -> Place:
    """The parts that one file plays."""
    return Place(int(places(PathTable([path]))[0]))


def in_scope(found: Places, scope: Scope) -> Flags:
    """Which of these files a scope takes in. Tests come first, then documents and examples, then settings."""
    tests = found & Place.TEST != 0
    docs = (found & (Place.DOC | Place.EXAMPLE) != 0) & ~tests
    config = (found & Place.CONFIG != 0) & ~tests & ~docs
    by_scope: dict[Scope, Flags] = {
        Scope.TESTS: tests,
        Scope.DOCS: docs,
        Scope.CONFIG: config,
        Scope.RUNTIME: ~(tests | docs | config),
        Scope.ALL: np.ones(len(found), np.bool_),
    }
    return by_scope[scope]


def scope_of(path: str) -> Scope:
    """The one scope, other than `all`, that takes this file in."""
    found = np.array([place_of(path)], np.uint8)
    return next(scope for scope in Scope if in_scope(found, scope)[0])


def is_test(path: str) -> bool:
    """A test, or what only tests use: fixtures, mocks, helpers."""
    return Place.TEST in place_of(path)
