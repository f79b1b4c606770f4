"""The rules of the house: who may import whom, and which doors to the outside stand in which file.

`complaints` reads one module's source and says, in sentences, what in it breaks a rule. A new door is opened by naming
its file here, in a change that somebody reads.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

import cairn.store
from cairn.syntax.languages import traits_of
from cairn.syntax.languages.pins import PINS

MOST_LINES = 700
MOST_FUNCTION_LINES = 60
MEDIAN_LINES = 200

# --- which way the doors between rooms open ---------------------------------------------------------------------------

# The rooms from the bottom to the top of the house. A room imports its own modules and those of the rooms named here,
# all of which stand above it in this table: so no import, late ones included, ever leads back.
BASE = {"errors", "core"}
INDEX = BASE | {"source", "syntax", "embedding", "store", "engine", "sync"}
QUESTIONS = {"search", "graph", "semantic"}
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "core": {"errors"},
    "source": BASE,
    "syntax": BASE,
    "store": BASE,
    # The cache of vectors lasts, so it goes through the one door to the disk.
    "embedding": BASE | {"store"},
    "engine": BASE | {"store"},
    "sync": BASE | {"source", "syntax", "embedding", "store", "engine"},
    "search": BASE | {"store", "embedding", "engine"},
    "semantic": BASE | {"store", "source"},
    "graph": BASE | {"search", "store", "semantic", "syntax", "engine"},
    "edit": BASE | {"source", "store"},
    # Of edits it reads whether one was cut off, and nothing else; see WRITERS_OF_TREES.
    "ask": INDEX | QUESTIONS | {"edit"},
    "answer": BASE | QUESTIONS | {"store", "sync", "edit", "ask"},
    # Asks like everybody else, and knows the right answers.
    "evaluation": BASE | {"source", "sync", "search", "answer", "ask"},
    "watch": BASE | {"source", "store", "sync", "ask"},
    "tools": BASE | QUESTIONS | {"sync", "ask", "answer"},
    "install": BASE | {"source"},
    "daemon": BASE | {"__init__", "source", "store", "sync", "ask", "answer", "semantic", "watch", "tools"},
    # install: the file of the token is a plain file of the user's own, as settings of agents are.
    "mcp": BASE | {"__init__", "install", "store", "sync", "ask", "answer", "source", "tools", "daemon"},
    "cli": INDEX
    | QUESTIONS
    | {"__init__", "ask", "answer", "evaluation", "watch", "tools", "install", "daemon", "mcp", "edit"},
    "aio": INDEX | QUESTIONS | {"ask"},
    "__init__": {"errors", "core", "ask", "search", "graph", "sync"},
    # The command before anything is loaded. Of `daemon` it takes the wire, which needs nothing.
    "thin": {"__init__", "errors", "cli", "daemon"},
    "__main__": {"thin"},
}

# The store is entered by its door, `cairn.store`, and nobody outside it imports a module below: rows are read through a
# view, which knows what is live, so that no room can reach a segment, its tables or its columns.
DOOR_OF_THE_STORE = frozenset(cairn.store.__all__)


# The rooms that ask for a trait of a language and never for its name (see `syntax/traits.py`).
BLIND_TO_NAMES = {"graph", "search", "ask"}
LANGUAGES = frozenset({*PINS, *(traits_of(name).family for name in PINS)}) - {""}


# --- doors to the outside ---------------------------------------------------------------------------------------------


class Door(NamedTuple):
    """Names that reach the outside, and the only files that may use them. A name ending in `.` covers all below it."""

    what: str
    names: frozenset[str]
    files: frozenset[str]


def _door(what: str, names: str, files: str = "") -> Door:
    return Door(what, frozenset(names.split()), frozenset(files.split()))


DOORS = (
    _door(
        "opens a file",
        "open io.open io.FileIO io.open_code os.open os.fdopen codecs.open .open .read_text .read_bytes pathlib. mmap."
        " glob. fileinput. linecache.",
        # beneath: repository files. git: its own exclude files, to count what they hide. config: the user's settings.
        # languages, envelope, static: files of this package. main, thin: the null device, when the reader of a pipe has
        # gone.
        # thin: the folder of the daemon's socket.
        # pool: the null device as a worker's stderr, and what the kernel says of its memory.
        # clock: what the kernel says of processes.
        # batch: a file of questions that the user names.
        # fs: the store, which nothing else opens, not even to read. checkup: what the kernel says of watches.
        # semantic/keeper, semantic/process: what the kernel says of the processes of an indexer.
        # judged: questions and their answers in a folder that the user names. history: writes, see below.
        # agents/files: settings of coding agents, which `cairn install` edits; each a plain file of the user's own.
        # mcp/stdio: the null device in place of the pipe.
        # mounts: what the kernel says of file systems.
        # address: the folder of the daemon's socket, whose name may be too long. memory: what the kernel says of it.
        "evaluation/judged.py evaluation/history.py install/files.py daemon/address.py daemon/memory.py"
        " source/beneath.py source/git.py core/config.py syntax/languages/__init__.py answer/envelope.py cli/main.py"
        " source/mounts.py sync/pool.py core/clock.py sync/checkup.py semantic/process.py semantic/keeper.py"
        # tree_writer: what it writes, below a folder that beneath has opened.
        " store/disk.py store/fs.py embedding/static.py cli/search.py thin.py mcp/stdio.py edit/tree_writer.py",
    ),
    _door(
        "lists a folder",
        "os.scandir os.listdir os.walk os.fwalk .iterdir .rglob",
        # Walk, listing and watch list by a descriptor that beneath has opened; fs lists the store. The pool lists the
        # descriptors of its own process, which a fork must let go of; memory counts them.
        # semantic/keeper and semantic/process list processes.
        "source/walk.py source/listing.py source/left_out.py source/watch.py store/disk.py sync/pool.py"
        " daemon/memory.py semantic/process.py semantic/keeper.py",
    ),
    # memory: gives freed memory back to the system. keeper: is the parent of whatever loses its own.
    _door(
        "asks the system directly", "ctypes.", "source/beneath.py source/watch.py daemon/memory.py semantic/keeper.py"
    ),
    _door(
        "runs a program",
        "subprocess. os.system os.popen os.fork os.forkpty os.posix_spawn os.posix_spawnp pty. os.startfile"
        " os.execv os.execve os.execl os.execle os.execlp os.execvp os.execvpe os.spawnv os.spawnl os.spawnve"
        " asyncio.create_subprocess_exec asyncio.create_subprocess_shell",
        # starting: the daemon, which is this very program. process: an indexer, behind its keeper.
        "source/git.py daemon/client.py semantic/process.py semantic/keeper.py",
    ),
    _door(
        "lets the system look for a program",
        "os.system os.popen os.posix_spawnp os.execlp os.execlpe os.execvp os.execvpe os.spawnlp os.spawnlpe os.spawnvp"
        " os.spawnvpe os.startfile subprocess.getoutput subprocess.getstatusoutput asyncio.create_subprocess_shell",
    ),
    # root: whether a folder may be entered. registrar: whether the program that runs now can be started by its name.
    _door("looks for a program", "os.X_OK", "source/programs.py source/root.py install/registrar.py"),
    _door("looks for a program", "shutil.which os.get_exec_path os.defpath distutils.", "source/programs.py"),
    _door("starts worker processes", "multiprocessing. concurrent.futures.", "sync/pool.py"),
    _door(
        "looks at the clock",
        "time. datetime.datetime.now datetime.datetime.utcnow datetime.date.today",
        # keeper: a program of its own, which waits a moment between two looks.
        "core/clock.py semantic/keeper.py",
    ),
    _door(
        "writes to a disk",
        "os.rename os.renames os.replace os.link os.symlink os.unlink os.remove os.rmdir os.removedirs os.mkdir"
        " os.makedirs os.mkfifo os.mknod os.fsync os.fdatasync os.sync os.truncate os.ftruncate os.posix_fallocate"
        " os.write os.writev os.pwrite os.pwritev os.sendfile os.splice os.copy_file_range os.setxattr os.removexattr"
        " os.chmod os.fchmod os.lchmod os.chown os.fchown os.lchown os.utime os.O_CREAT os.O_TRUNC os.O_RDWR"
        " os.O_APPEND open-for-writing .write_text .write_bytes shutil. tempfile.",
        # Everything that lasts goes through here, so a disk that fails or loses power can stand in for the real one.
        # history: an old revision as a temporary folder, gone when it has been asked; nothing there lasts.
        # agents/files: replaces settings of coding agents, which are no part of any store.
        # tree_writer: files of a codebase, which a person has asked for; see WRITERS_OF_TREES.
        "store/disk.py evaluation/history.py install/files.py edit/tree_writer.py",
    ),
    # disk, fs: open a database of the store. rows: builds one in memory. segment: asks one. registry: writes its own,
    # and so does semantic/database.
    _door(
        "uses a database",
        "sqlite3.",
        "store/disk.py store/fs.py store/format/rows.py store/format/segment.py store/registry.py semantic/database.py",
    ),
    _door("takes a lock", "fcntl. os.lockf", "store/disk.py"),
    _door(
        "goes to the network",
        "socket. _socket. ssl. urllib. http. requests. httpx. aiohttp. urllib3. ftplib. smtplib. xmlrpc. socketserver."
        " webbrowser.",
        # The remote model, which only the user's own settings can switch on. mcp_http: listens on the loopback, when
        # the user has asked for it. thin, and the rest of serve: the daemon of the same user, at a socket in a folder
        # of their own.
        "embedding/http.py mcp/http.py thin.py"
        " daemon/address.py daemon/listening.py daemon/client.py daemon/connection.py daemon/process.py",
    ),
    _door(
        "speaks MCP, which most installs do without",
        "mcp. mcp_types. anyio. uvicorn. starlette.",
        # The command imports these when it is run. mcp_stdio: reads stdin. mcp_http: listens.
        "mcp/server.py mcp/messages.py mcp/stdio.py mcp/http.py mcp/crowd.py",
    ),
    _door(
        "speaks to a search server, which most installs do without",
        "pymilvus. grpc.",
        # Only where the user's own settings name one; the package is imported when it is first asked.
        "engine/milvus.py",
    ),
    _door("makes an ignore matcher", "cairn.source.ignore.IgnoreStack.for_root", "source/ignore.py source/walk.py"),
    _door("holds a lock that a fork may inherit; see `core/lazy.py`", "functools.cached_property"),
    _door("runs made-up code", "eval exec pickle. marshal. shelve. builtins.eval builtins.exec"),
    _door("imports what workers must not carry", "pandas. torch. pyarrow."),
    _door(
        "imports what workers must not carry",
        "numpy.",
        "store/format/postings.py store/format/soundness.py store/tend/merge.py"
        " embedding/model.py embedding/static.py embedding/http.py ask/overlay.py"
        " search/places.py search/places.py search/filters.py search/searcher.py"
        " embedding/cache.py store/format/build.py search/nearness.py search/snippets.py search/pattern.py"
        " engine/local.py search/signals.py search/lexical.py search/rank.py search/signals.py store/read/live.py"
        " engine/scan.py engine/contract.py engine/rows.py engine/milvus_rows.py"
        " search/nearness.py search/exact.py search/grep.py search/symbols.py search/paths.py search/symbols.py"
        " search/searcher.py graph/atlas.py",
    ),
)


# What writes to a codebase, and the files that may reach it: the commands that say so. Whoever answers a question, for
# a person or an agent, in this process or in a daemon, has no way to it.
WRITERS_OF_TREES = ("cairn.edit.applying", "cairn.edit.tree_writer")
MAY_WRITE_TREES = frozenset({"edit/applying.py", "cli/rename.py"})

# The one module that looks for programs; what it finds lies in no codebase.
FINDS_PROGRAMS = "source/programs.py"
_RUNS = (
    "subprocess.Popen",
    "subprocess.run",
    "subprocess.call",
    "subprocess.check_",
    "os.exec",
    "os.spawn",
    "os.posix_",
)


def complaints(file: str, source: str, doors: tuple[Door, ...] = DOORS) -> list[str]:
    """Every rule that this module breaks; `file` is its path below the package, with `/`."""
    tree = ast.parse(source)
    found = [*_directions(file, tree), *_doors(file, tree, doors), *_programs(file, tree), *_languages(file, tree)]
    return [*found, *_sizes(file, source, tree)]


def _room(file: str) -> str:
    return file.partition("/")[0].removesuffix(".py")


def _imports(tree: ast.AST) -> Iterator[tuple[str, str, int]]:
    """Every (local name, full dotted name, line) that an import anywhere in the module brings."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                yield alias.asname or top, alias.name if alias.asname else top, node.lineno
                yield "", alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                yield "", "relative import", node.lineno
            for alias in node.names:
                yield alias.asname or alias.name, f"{node.module}.{alias.name}", node.lineno


def _directions(file: str, tree: ast.AST) -> Iterator[str]:
    room = _room(file)
    if room not in MAY_IMPORT:
        yield f"{file}: no rule says what {room} may import"
        return
    for _, name, line in _imports(tree):
        if name == "relative import":
            yield f"{file}:{line}: imports relatively; write the whole name"
        parts = name.split(".")
        if parts[0] != "cairn":
            continue
        target = parts[1] if len(parts) > 1 and parts[1] in MAY_IMPORT else "__init__"
        if target not in MAY_IMPORT[room] | {room} and len(parts) > 1:
            yield f"{file}:{line}: {room} may not import {name}"
        elif target == "store" and room != "store" and not _is_by_the_door(parts):
            yield f"{file}:{line}: {room} may not reach {name}"
        elif name.startswith(WRITERS_OF_TREES) and file not in MAY_WRITE_TREES:
            yield f"{file}:{line}: may not write to a codebase ({name})"


def _is_by_the_door(parts: list[str]) -> bool:
    return len(parts) == 3 and parts[2] in DOOR_OF_THE_STORE


def _doors(file: str, tree: ast.AST, doors: tuple[Door, ...]) -> Iterator[str]:
    for name, line in _names_used(tree):
        for door in doors:
            if file not in door.files and _opens(door, name):
                yield f"{file}:{line}: {door.what} ({name})"


def _opens(door: Door, name: str) -> bool:
    if name in door.names or (f".{name.rpartition('.')[2]}" in door.names and name.startswith("?.")):
        return True
    return any(name.startswith(prefix) or name + "." == prefix for prefix in door.names if prefix.endswith("."))


def _names_used(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Every full dotted name that the module imports or refers to; `?.name` is an attribute called on any value."""
    known = {local: full for local, full, _ in _imports(tree) if local}
    for _, full, line in _imports(tree):
        yield full, line
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield known.get(node.id, node.id), node.lineno
        elif isinstance(node, ast.Attribute) and (dotted := _dotted(node, known)):
            yield dotted, node.lineno
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute) and not _dotted(node.func, known).startswith(tuple(known.values())):
                yield f"?.{node.func.attr}", node.lineno
            if isinstance(node.func, ast.Name) and node.func.id == "open" and _writes(node):
                yield "open-for-writing", node.lineno


def _dotted(node: ast.expr, known: dict[str, str]) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id not in known:
        return ""
    return ".".join([known[node.id], *reversed(parts)])


def _writes(call: ast.Call) -> bool:
    modes = [*call.args[1:2], *(word.value for word in call.keywords if word.arg == "mode")]
    return any(not isinstance(mode, ast.Constant) or set(str(mode.value)) & set("wax+") for mode in modes)


def _programs(file: str, tree: ast.AST) -> Iterator[str]:
    """Programs are found in one module: no other reads PATH, and none hands a name to the system to look for."""
    known = {local: full for local, full, _ in _imports(tree) if local}
    shown = {id(word.value) for node in ast.walk(tree) if isinstance(node, ast.Call) for word in node.keywords}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node.value == "PATH" and file != FINDS_PROGRAMS and id(node) not in shown:
            yield f"{file}:{node.lineno}: reads or writes PATH; ask {FINDS_PROGRAMS}"
        if isinstance(node, ast.Call) and _dotted(node.func, known).startswith(_RUNS):
            first = node.args[0] if node.args else None
            if isinstance(first, ast.List | ast.Tuple) and first.elts:
                first = first.elts[0]
            if first is None or isinstance(first, ast.Constant | ast.JoinedStr | ast.BinOp):
                yield f"{file}:{node.lineno}: names a program; ask {FINDS_PROGRAMS}"
            if any(word.arg in (None, "shell", "executable") for word in node.keywords):
                yield f"{file}:{node.lineno}: runs a program by another name than its first argument"


def _languages(file: str, tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node.value in LANGUAGES and _room(file) in BLIND_TO_NAMES:
            yield f"{file}:{node.lineno}: names a language ({node.value!r}); ask for a trait"


def _sizes(file: str, source: str, tree: ast.AST) -> Iterator[str]:
    lines = source.count("\n")
    if lines > MOST_LINES:
        yield f"{file}: {lines} lines, at most {MOST_LINES}"
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > MOST_FUNCTION_LINES:
                yield f"{file}:{node.lineno}: {node.name} has {length} lines, at most {MOST_FUNCTION_LINES}"
