"""The one table of indexers: which reads which family, how it is called, and how it is installed.

Each run gets a folder of its own for its input and its output; nothing is written in the user's tree. What an indexer
would take from its surroundings (installed packages, settings in the tree, the commit) is given to it here instead, so
that the same files give the same index on every machine.
"""

from __future__ import annotations

import json
import os
import posixpath
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from cairn.core.limits import MAX_SOURCE_ROOTS
from cairn.semantic.model import Context, Family

OUTPUT = "index.scip"
# A part of every symbol: a version that moves would give each of them a new name.
_VERSION = "0"


class IndexerWork(NamedTuple):
    """The work of one run: the root (a real, absolute path), the context and its files, and the folder for the output.

    `wanted` are the files that are asked for; an indexer that cannot take fewer reads the whole context. `read` returns
    the bytes of a file by its path key.
    """

    root: str
    context: Context
    files: tuple[str, ...]
    wanted: tuple[str, ...]
    scratch: str
    environ: Mapping[str, str]
    read: Callable[[str], bytes | None]

    @property
    def folder(self) -> str:
        """The absolute folder of the context."""
        return os.path.join(self.root, self.context.root) if self.context.root else self.root

    def within(self, path: str) -> str:
        """Return a path key relative to the folder of the context."""
        return posixpath.relpath(path, self.context.root or ".")

    def put(self, name: str) -> str:
        """Return the absolute path of a name in the folder of this run."""
        return os.path.join(self.scratch, name)


class RunPlan(NamedTuple):
    """One way to run an indexer: its arguments, the files it is given, and its whole environment but PATH and HOME."""

    arguments: tuple[str, ...]
    given: tuple[tuple[str, bytes], ...] = ()
    environ: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Indexer:
    """One row of the table. `plans` returns the ways to run the indexer; the next one is tried when one fails.

    `runtime` is the program that the indexer needs beside itself, and may see. With `runs_builds` it starts what the
    project names (a build, a compiler), so it is run only where the user trusts the project. `tested` says that our own
    tests run it.
    """

    name: str
    family: Family
    install: str
    plans: Callable[[IndexerWork], tuple[RunPlan, ...]]
    runtime: str = ""
    runs_builds: bool = False
    tested: bool = False


# --- Python -----------------------------------------------------------------------------------------------------------

# The indexer looks for settings in the tree, and above it. One name there is answered with a file of ours, so that the
# tree stays as it is and neither its settings nor a stranger's decide what is read.
_OVERLAY = """\
const fs = require("fs");
const asked = {asked}, given = {given};
for (const name of ["existsSync", "readFileSync", "statSync", "lstatSync", "openSync", "realpathSync"]) {{
  const real = fs[name];
  fs[name] = Object.assign((path, ...rest) => real.call(fs, path === asked ? given : path, ...rest), real);
}}
"""
_SETTINGS = "pyrightconfig.json"
# A package `requests` among tests is not what the code means by `import requests`.
_NOT_IMPORTED_FROM = frozenset(
    (
        *("test", "tests", "testing", "testdata", "fixtures", "example", "examples", "sample", "samples", "doc"),
        *("docs", "bench", "benchmarks", "scripts"),
    )
)


def _python(work: IndexerWork) -> tuple[RunPlan, ...]:
    # A relative folder gives an empty index and no complaint.
    assert os.path.isabs(work.folder)
    settings = {
        "include": sorted(work.within(path) for path in work.files if not set(path) & set("*?")),
        "exclude": [],
        "extraPaths": [work.within(one) if one else "." for one in source_roots(work.context, work.files)],
        "typeCheckingMode": "off",
    }
    overlay = _OVERLAY.format(
        asked=json.dumps(os.path.join(work.folder, _SETTINGS)), given=json.dumps(work.put(_SETTINGS))
    )
    arguments = (
        "index",
        "--quiet",
        f"--cwd={work.folder}",
        f"--project-name={_slug(work.context)}",
        f"--project-version={_VERSION}",
        f"--environment={work.put('environment.json')}",
        f"--output={work.put(OUTPUT)}",
    )
    given = (
        (_SETTINGS, json.dumps(settings).encode()),
        # No package of this machine is one of the project's: references would lead to those instead of the tree.
        ("environment.json", b"[]"),
        ("overlay.cjs", overlay.encode()),
    )
    return (RunPlan(arguments, given, (("NODE_OPTIONS", f"--require={json.dumps(work.put('overlay.cjs'))}"),)),)


def source_roots(context: Context, files: Iterable[str]) -> tuple[str, ...]:
    """Return the folders from which modules are imported, the deepest first: they hold a package and are none.

    A folder whose packages another folder has as well is left out, and so is one among tests or examples: the wrong one
    of two might be taken.
    """
    parts = [posixpath.split(path) for path in files]
    folders = {folder for folder, _ in parts}
    packages = {folder for folder, name in parts if name in ("__init__.py", "__init__.pyi")}
    offered: dict[str, set[str]] = defaultdict(set)
    for package in packages:
        at = package
        while at in packages and at != context.root:
            at, name = posixpath.split(at)
        if at not in packages and at != context.root:
            offered[at].add(name)
    src = posixpath.join(context.root, "src")
    if src not in packages and any(at == src or at.startswith(f"{src}/") for at in folders):
        offered[src].add("")
    within = {at: posixpath.relpath(at, context.root or ".") for at in offered}
    offering = {at: names for at, names in offered.items() if not _NOT_IMPORTED_FROM & set(within[at].split("/"))}
    times = Counter(name for names in offering.values() for name in names if name)
    sure = [at for at, names in offering.items() if at == src or all(times[name] == 1 for name in names)]
    return tuple(sorted(sure, key=lambda at: (-at.count("/"), at))[:MAX_SOURCE_ROOTS])


# --- TypeScript and JavaScript ----------------------------------------------------------------------------------------


def _typescript(work: IndexerWork) -> tuple[RunPlan, ...]:
    real = _nearest(work, ("tsconfig.json", "jsconfig.json"))
    # Settings that lean on a package which is not installed here stop it; then it goes without them.
    return (*((_typescript_with(work, real),) if real else ()), _typescript_with(work, None))


def _typescript_with(work: IndexerWork, real: str | None) -> RunPlan:
    options: dict[str, object] = {
        **dict.fromkeys(("composite", "incremental", "declaration", "checkJs"), False),
        **dict.fromkeys(("noEmit", "allowJs", "skipLibCheck"), True),
    }
    said = (work.read(real) or b"") if real else b""
    if b'"typeRoots"' not in said:
        # Looked for beside the settings, which are not in the tree.
        above = [work.context.root]
        while above[-1]:
            above.append(posixpath.dirname(above[-1]))
        options["typeRoots"] = [os.path.join(work.root, at, "node_modules/@types") for at in above]
    if real is None:
        options |= {"target": "esnext", "module": "esnext", "moduleResolution": "node", "jsx": "preserve"}
    settings = {
        **({"extends": os.path.join(work.root, real)} if real else {}),
        "compilerOptions": options,
        "include": [],
        "files": [os.path.join(work.root, path) for path in sorted(work.wanted)],
    }
    arguments = (
        "index",
        "--no-progress-bar",
        f"--cwd={work.folder}",
        f"--output={work.put(OUTPUT)}",
        work.put("tsconfig.json"),
    )
    return RunPlan(arguments, (("tsconfig.json", json.dumps(settings).encode()),))


# --- Go ---------------------------------------------------------------------------------------------------------------


def _go(work: IndexerWork) -> tuple[RunPlan, ...]:
    workspace = _nearest(work, ("go.work",))
    environ = {
        **go_environ(work.environ, work.scratch),
        "GOWORK": os.path.join(work.root, workspace) if workspace else "off",
    }
    packages = sorted({f"./{posixpath.dirname(work.within(path))}".rstrip("/") for path in work.wanted})
    arguments = (
        "index",
        "--quiet",
        f"--module-root={work.folder}",
        f"--module-version={_VERSION}",
        f"--output={work.put(OUTPUT)}",
        *(("./...",) if work.wanted == work.files else packages),
    )
    return (RunPlan(arguments, environ=tuple(environ.items())),)


def go_environ(environ: Mapping[str, str], scratch: str) -> dict[str, str]:
    """Return the variables with which Go reads what is there: it downloads nothing and runs no other program."""
    home = environ.get("HOME", "")
    modules = environ.get("GOMODCACHE") or os.path.join(
        (environ.get("GOPATH") or os.path.join(home, "go")).split(os.pathsep)[0], "pkg", "mod"
    )
    return {
        # Modules that were downloaded are used; none is downloaded for us, and no other Go either.
        "GOMODCACHE": modules,
        "GOPROXY": "off",
        "GOTOOLCHAIN": "local",
        "GOSUMDB": "off",
        "GOENV": "off",
        "GOTELEMETRY": "off",
        "GOFLAGS": "-buildvcs=false",
        "GOCACHE": environ.get("GOCACHE")
        or os.path.join(environ.get("XDG_CACHE_HOME") or os.path.join(home, ".cache"), "go-build"),
        # With it a compiler would be run, with flags that the files name.
        "CGO_ENABLED": "0",
        # The indexer would ask git for a version; it is given one.
        "GIT_DIR": os.path.join(scratch, "no-git"),
    }


# --- those that ask a build -------------------------------------------------------------------------------------------


def _rust(work: IndexerWork) -> tuple[RunPlan, ...]:
    environ = (("CARGO_NET_OFFLINE", "true"), ("CARGO_TARGET_DIR", work.put("target")))
    return (RunPlan(("scip", work.folder, "--output", work.put(OUTPUT)), environ=environ),)


def _jvm(work: IndexerWork) -> tuple[RunPlan, ...]:
    return (RunPlan(("index", "--output", work.put(OUTPUT), "--targetroot", work.put("target"))),)


def _clang(work: IndexerWork) -> tuple[RunPlan, ...]:
    commands = _nearest(work, ("compile_commands.json", "build/compile_commands.json")) or "compile_commands.json"
    where = os.path.join(work.root, commands)
    return (RunPlan((f"--compdb-path={where}", f"--index-output-path={work.put(OUTPUT)}")),)


def _dotnet(work: IndexerWork) -> tuple[RunPlan, ...]:
    return (RunPlan(("index", "--output", work.put(OUTPUT), "--working-directory", work.folder)),)


def _ruby(work: IndexerWork) -> tuple[RunPlan, ...]:
    metadata = f"{_slug(work.context)}@{_VERSION}"
    return (RunPlan(("--index-file", work.put(OUTPUT), "--gem-metadata", metadata, work.folder)),)


def _nearest(work: IndexerWork, names: tuple[str, ...]) -> str | None:
    """Return the path key of the nearest of these files, in the folder of the context or above it; None without any."""
    at = work.context.root
    while True:
        for name in names:
            if work.read(path := posixpath.join(at, name)) is not None:
                return path
        if not at:
            return None
        at = posixpath.dirname(at)


def _slug(context: Context) -> str:
    """Return the name of the context in characters that every indexer takes."""
    return re.sub(r"[^A-Za-z0-9._@/-]+", "-", context.name).strip("-") or "project"


# `{tools}` is a folder that only Cairn looks in; every other way to have them on PATH is as good.
INDEXERS = (
    Indexer(
        "scip-python",
        Family.PYTHON,
        "npm install --prefix {tools} @sourcegraph/scip-python@0.6.6",
        _python,
        runtime="node",
        tested=True,
    ),
    Indexer(
        "scip-typescript",
        Family.TYPESCRIPT,
        "npm install --prefix {tools} @sourcegraph/scip-typescript@0.4.0",
        _typescript,
        runtime="node",
        tested=True,
    ),
    Indexer(
        "scip-go",
        Family.GO,
        "GOBIN={tools}/bin go install github.com/scip-code/scip-go/cmd/scip-go@v0.2.9",
        _go,
        runtime="go",
        tested=True,
    ),
    Indexer("rust-analyzer", Family.RUST, "rustup component add rust-analyzer", _rust, "cargo", runs_builds=True),
    Indexer(
        "scip-java",
        Family.JVM,
        "coursier bootstrap --standalone -o {tools}/bin/scip-java com.sourcegraph:scip-java_2.13:0.12.3"
        " --main com.sourcegraph.scip_java.ScipJava",
        _jvm,
        "java",
        runs_builds=True,
    ),
    Indexer(
        "scip-clang",
        Family.CLANG,
        "mkdir -p {tools}/bin && gh release download --repo sourcegraph/scip-clang --pattern scip-clang-x86_64-linux"
        " -O {tools}/bin/scip-clang && chmod +x {tools}/bin/scip-clang",
        _clang,
        runs_builds=True,
    ),
    Indexer(
        "scip-dotnet",
        Family.DOTNET,
        "dotnet tool install --tool-path {tools}/bin scip-dotnet",
        _dotnet,
        "dotnet",
        runs_builds=True,
    ),
    Indexer("scip-ruby", Family.RUBY, "gem install --bindir {tools}/bin scip-ruby", _ruby, runs_builds=True),
)
BY_FAMILY = {indexer.family: indexer for indexer in INDEXERS}
