"""The repository's `.cairn.toml` and the user's `config.toml`, checked and merged into one `Config`.

The repository file is hostile input. It can leave files out, switch a kind of data file on and lower limits; there is
no key in it that names a path outside the root, a command, an address or an environment variable, and a key that is
not known is refused, so none can be smuggled in. The user's file is trusted but checked the same way.
"""

from __future__ import annotations

import os
import re
import stat
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from hashlib import sha256
from typing import Any, NamedTuple, TypeVar

from cairn.core import limits
from cairn.errors import ConfigError, ConfigUnreadable

# --- What may stand under a key of a settings file: one check for each kind of value.


MAX_SHOWN_CHARS = 48
MAX_TYPE_CHARS = 32
MAX_NAME_CHARS = 200
MAX_URL_CHARS = 1_000

Check = Callable[[object], object]


class Bad(Exception):
    """Why a value is refused, as the end of the sentence `KEY ...`."""


def shown(text: str) -> str:
    """Return a name from the file, quoted, escaped and short, so that a hostile name can say little in a sentence."""
    clipped = text if len(text) <= MAX_SHOWN_CHARS else text[:MAX_SHOWN_CHARS] + "..."
    return ascii(clipped)


def boolean(value: object) -> bool:
    """Check a value that is true or false."""
    if not isinstance(value, bool):
        raise Bad("must be true or false")
    return value


def one_of(*allowed: str) -> Check:
    """Return a check for one of these texts."""

    def check(value: object) -> str:
        if not isinstance(value, str) or value not in allowed:
            raise Bad("must be " + " or ".join(f'"{one}"' for one in allowed))
        return value

    return check


def collisions(value: object) -> object:
    """Check what becomes of files whose names differ only in case; `fail` is what `refuse` was called first."""
    return one_of("keep", "refuse")("refuse" if value == "fail" else value)


def from_one_to(most: int) -> Check:
    """Return a check for a whole number from 1 to `most`."""

    def check(value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
            raise Bad(f"must be a whole number from 1 to {most}")
        return value

    return check


def at_most(cap: int) -> Check:
    """Return a check for a limit that may only be lowered."""

    def check(value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise Bad(f"must be a whole number from 1 to {cap}")
        if not 1 <= value <= cap:
            raise Bad(f"must be from 1 to {cap}: the limit can be lowered, never raised or switched off")
        return value

    return check


def list_of(one: Callable[[str], str]) -> Check:
    """Return a check for a list of texts, each checked; the result is sorted and without doubles."""

    def check(value: object) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise Bad("must be a list of texts")
        if len(value) > limits.MAX_CONFIG_GLOBS:
            raise Bad(f"has {len(value)} entries; at most {limits.MAX_CONFIG_GLOBS} are allowed")
        return tuple(sorted({one(item) for item in value}))

    return check


def path_glob(pattern: str) -> str:
    """Check a pattern relative to the root, as in an ignore file but without `!`: settings can only leave out."""
    named = shown(pattern)
    if len(pattern.encode()) > limits.MAX_PATTERN_BYTES:
        raise Bad(f"holds {named}, which is longer than {limits.MAX_PATTERN_BYTES} bytes")
    if not pattern or pattern != pattern.strip():
        raise Bad(f"holds {named}; a pattern is not empty and has no blanks around it")
    if any(ord(char) < 0x20 or ord(char) == 0x7F for char in pattern):
        raise Bad(f"holds {named}; a pattern has no control characters")
    if pattern[0] in "!#":
        raise Bad(f"holds {named}; a pattern cannot begin with {pattern[0]}")
    if pattern[0] == "/":
        raise Bad(f"holds {named}; write it relative to the root, without the first /")
    # `..` would lead out of the root, an address holds `//`, and neither `.` nor an empty part ever matches a name.
    if any(part in ("", ".", "..") for part in pattern.removesuffix("/").split("/")):
        raise Bad(f"holds {named}; the parts of a pattern cannot be empty, . or ..")
    return pattern


def folder(path: str) -> str:
    """Check a folder of this machine: absolute, or below the user's home."""
    if not path.startswith(("/", "~/")) or len(path) > MAX_URL_CHARS or not path.isprintable():
        raise Bad(f"holds {shown(path)}; a folder is an absolute path, or one that begins with ~/")
    return path


def programs(value: object) -> tuple[tuple[str, str], ...]:
    """Check a table of programs: the name of each, and where it is on this machine."""
    if not isinstance(value, dict):
        raise Bad("must be a table of programs")
    for name, path in value.items():
        if not _PROGRAM.fullmatch(name) or not isinstance(path, str):
            raise Bad(f"holds {shown(name)}; write the name of an indexer, and the path of its program as a text")
    return tuple(sorted((name, folder(path)) for name, path in value.items()))


_PROGRAM = re.compile(r"[a-z][a-z0-9-]{0,63}")
_TYPE = re.compile(r"[a-z0-9][a-z0-9_+-]*(?:\.[a-z0-9_+-]+)*")


def file_type(name: str) -> str:
    """Check an extension."""
    if len(name) > MAX_TYPE_CHARS or not _TYPE.fullmatch(name):
        raise Bad(f'holds {shown(name)}; a type is an extension in small letters without its dot, such as "csv"')
    return name


# What is wrong with these is said without showing them: an address may hold a password, and people paste keys.
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_URL = re.compile(
    rf"(https?)://({_LABEL}(?:\.{_LABEL})*|\[[0-9A-Fa-f:.]+\])(?::([0-9]{{1,5}}))?(?:/[A-Za-z0-9._~!$&'()*+,;=:%-]*)*"
)
_LOOPBACK = re.compile(r"localhost|127(?:\.[0-9]{1,3}){3}|\[::1\]", re.IGNORECASE)
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")


def is_loopback(url: str) -> bool:
    """Whether a checked address is one of this machine's own, so that nothing leaves it."""
    found = _URL.fullmatch(url)
    return found is not None and _LOOPBACK.fullmatch(found[2]) is not None


def url(value: object) -> str:
    """Return the whole address of the call, whether it was given whole or as the base of a server."""
    return server(value).removesuffix("/embeddings") + "/embeddings"


def server(value: object) -> str:
    """Check the address of a server; without encryption only on this machine."""
    found = _URL.fullmatch(value) if isinstance(value, str) and len(value) <= MAX_URL_CHARS else None
    if not isinstance(value, str) or found is None or int(found[3] or 1) not in range(1, 1 << 16):
        raise Bad("must be the address of a server in full, without user, password, ? or #")
    if found[1] != "https" and not is_loopback(value):
        raise Bad("must begin with https: only a server on this machine may be asked without encryption")
    return value.rstrip("/")


def variable(value: object) -> str:
    """Check the name of an environment variable."""
    if not isinstance(value, str) or len(value) > MAX_NAME_CHARS or not _VARIABLE.fullmatch(value):
        raise Bad("must be the name of an environment variable in capitals, never the key itself")
    return value


def model_name(value: object) -> str:
    """Check a name that a person reads."""
    if not isinstance(value, str) or not 1 <= len(value) <= MAX_NAME_CHARS or not value.isprintable():
        raise Bad(f"must be a name of 1 to {MAX_NAME_CHARS} printable characters")
    return value


def prefix(value: object) -> str:
    """Check a text that is put before others."""
    if not isinstance(value, str) or len(value) > limits.MAX_EMBED_PREFIX_CHARS:
        raise Bad(f"must be a text of at most {limits.MAX_EMBED_PREFIX_CHARS} characters")
    return value


REPO_CONFIG_NAME = ".cairn.toml"
USER_CONFIG_NAME = "config.toml"
INSTALLED_NAME = "installed.json"
# Indexers that the user has installed for Cairn alone.
TOOLS_NAME = "tools"
# What programs show that speak to `cairn mcp --http`.
BEARER_NAME = "mcp-token"
# Below the home, and there only while an edit of a tree is under way or was cut off.
OPEN_EDITS = ("edits", "open")
HTTP_PROVIDER = "http"
PROVIDERS = ("bundled", HTTP_PROVIDER)
SCOPES = ("runtime", "tests", "docs", "config", "all")
CATCHUP_READS = ("last_good", "block")
# Whether `cairn mcp` starts and asks the daemon.
DAEMON_OFF = "off"
DAEMON = ("auto", DAEMON_OFF)
ENGINES = ("local", "milvus")

MAX_KEY_DEPTH = 8


@dataclass(frozen=True, slots=True)
class IndexConfig:
    """What of the tree is indexed. Globs and types are sorted and without doubles.

    `include` narrows (empty: everything), `exclude` takes away and wins; neither can bring back what an ignore rule,
    a secret name, the size limit or the border of the root leaves out. `types` are extensions of data files that are
    switched on. `collisions` and `allow_sensitive`, the files that are no secrets whatever their names say, are the
    user's choice alone, and so are `ask_above` (a folder with more files than that is indexed only when somebody asks
    for it) and `auto_reindex` (servers take up by themselves what a repository's settings propose).
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    untracked: bool = True
    collisions: str = "keep"
    submodules: str = "skip"
    allow_sensitive: tuple[str, ...] = ()
    ask_above: int = limits.AUTO_INDEX_FILES
    auto_reindex: bool = False


@dataclass(frozen=True, slots=True)
class LimitConfig:
    """The limits in force: the hard caps, or whatever is lower in either file."""

    max_file_bytes: int = limits.MAX_FILE_BYTES
    max_chunks_per_file: int = limits.MAX_CHUNKS_PER_FILE
    max_bytes_per_batch: int = limits.MAX_BYTES_PER_BATCH


@dataclass(frozen=True, slots=True)
class EmbeddingConfig:
    """Who makes the vectors: the bundled model, or a server that the user names. A repository may name one of these.

    `url` is the whole address that texts are sent to. The key itself is in no file: `key_env` names the environment
    variable that holds it.
    """

    provider: str = PROVIDERS[0]
    model: str = ""
    url: str = ""
    key_env: str | None = None
    dimension: int = 0
    query_prefix: str = ""
    document_prefix: str = ""
    max_tokens: int = limits.EMBED_MAX_TOKENS
    batch: int = limits.EMBED_BATCH


@dataclass(frozen=True, slots=True)
class QueryConfig:
    """What only ranking and output look at; None leaves the choice to the built-in profile."""

    scope: str | None = None


@dataclass(frozen=True, slots=True)
class SearchConfig:
    """Whether the first search in a folder indexes it.

    `catchup_reads` says whether a search during a catch-up answers from the last good snapshot, or not at all
    (`block`).
    """

    auto_index: bool = True
    catchup_reads: str = CATCHUP_READS[0]


@dataclass(frozen=True, slots=True)
class ServeConfig:
    """Folders that agents may use besides the served one and the indexed ones, and the settings of the daemon.

    In `managed_roots` they may also change indexes, as they may in the served one.
    With `auto_watch` a server watches the codebases that it serves; without it catches up once, when it starts.
    """

    allowed_roots: tuple[str, ...] = ()
    managed_roots: tuple[str, ...] = ()
    auto_watch: bool = True
    daemon: str = DAEMON[0]
    idle_seconds: int = limits.DAEMON_IDLE_SECONDS
    memory_mib: int = limits.DAEMON_MEMORY_MIB


@dataclass(frozen=True, slots=True)
class StoreConfig:
    """Whether new stores are made for a group; None: only where the user asks for it."""

    shared: bool | None = None


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """Where rows are searched: here, or by a server that the user names; `token_env` names the variable of its key.

    A store with secrets in it is sent there only with `allow_secrets`.
    """

    kind: str = ENGINES[0]
    uri: str = ""
    token_env: str | None = None
    allow_secrets: bool = False


@dataclass(frozen=True, slots=True)
class SemanticConfig:
    """Which programs are run as indexers (by name; others are searched for), and the limits of a run.

    `trusted_roots` are projects whose own builds may be run, for the indexers that need them.
    """

    tools: tuple[tuple[str, str], ...] = ()
    trusted_roots: tuple[str, ...] = ()
    seconds: int = limits.INDEXER_SECONDS
    memory_mib: int = limits.INDEXER_MEMORY_MIB
    disk_mib: int = limits.INDEXER_DISK_MIB


@dataclass(frozen=True, slots=True)
class Config:
    """The settings of both files. `repo_bytes_sha256` (hex) covers the repository file to the byte."""

    index: IndexConfig = field(default_factory=IndexConfig)
    limits: LimitConfig = field(default_factory=LimitConfig)
    embedding: EmbeddingConfig = field(default_factory=EmbeddingConfig)
    query: QueryConfig = field(default_factory=QueryConfig)
    search: SearchConfig = field(default_factory=SearchConfig)
    store: StoreConfig = field(default_factory=StoreConfig)
    serve: ServeConfig = field(default_factory=ServeConfig)
    engine: EngineConfig = field(default_factory=EngineConfig)
    semantic: SemanticConfig = field(default_factory=SemanticConfig)
    repo_bytes_sha256: str | None = None
    warnings: tuple[str, ...] = ()


def load_config(
    repo_bytes: bytes | None,
    user_bytes: bytes | None = None,
    *,
    user_file: str = f"~/.cairn/{USER_CONFIG_NAME}",
    user_alone: bool = True,
    shared: bool = False,
) -> Config:
    """Return the settings in force; None stands for a missing file. Raises `ConfigError` and nothing else.

    For a `shared` store untracked files are left out unless the repository says otherwise. Where others than the user
    could have written the user's file (`user_alone` false), it cannot name a server that texts and keys are sent to.
    """
    repo = _read(REPO_CONFIG_NAME, repo_bytes, _REPO_KEYS)
    user = _read(user_file, user_bytes, _USER_KEYS)
    lowered: dict[str, int] = {}
    for file_limits in (repo.get("limits", {}), user.get("limits", {})):
        for name, value in file_limits.items():
            lowered[name] = min(value, lowered.get(name, value))
    for table in () if user_alone else sorted({"embedding", "engine"} & set(user)):
        raise ConfigError(file=user_file, why=f"others may write it, and [{table}] says where your text is sent")
    if not user_alone and "semantic" in user:
        raise ConfigError(file=user_file, why="others may write it, and [semantic] says which programs are run")
    if not user_alone and "allow_sensitive" in user.get("index", {}):
        raise ConfigError(file=user_file, why="others may write it, and allow_sensitive says which secrets are read")
    index = replace(IndexConfig(untracked=not shared), **repo.get("index", {}), **user.get("index", {}))
    both = sorted(set(index.include) & set(index.exclude))
    return Config(
        index=index,
        limits=replace(LimitConfig(), **lowered),
        embedding=_embedding(user_file, user.get("embedding", {}), repo.get("embedding", {}).get("model")),
        query=replace(QueryConfig(), **repo.get("query", {})),
        search=replace(SearchConfig(), **user.get("search", {})),
        store=replace(StoreConfig(), **user.get("store", {})),
        serve=replace(ServeConfig(), **user.get("serve", {})),
        engine=_engine(user_file, user.get("engine", {})),
        semantic=replace(SemanticConfig(), **user.get("semantic", {})),
        repo_bytes_sha256=None if repo_bytes is None else sha256(repo_bytes).hexdigest(),
        warnings=tuple(
            f"{REPO_CONFIG_NAME} both includes and excludes {shown(glob)}; exclude wins." for glob in both[:5]
        ),
    )


def _embedding(file: str, given: Mapping[str, Any], wanted: str | None) -> EmbeddingConfig:
    """Return the model that the user asks for, or the one of the user's that the repository names (`wanted`).

    Refuses a half-written choice instead of filling it in silently, and a name that the user's settings do not list.
    """
    own = {key: value for key, value in given.items() if key != "models"}
    if own and "provider" not in own:
        raise ConfigError(file=file, why='[embedding] needs provider = "http" or provider = "bundled"')
    usual = _model(file, "[embedding]", own)
    listed = {PROVIDERS[0]: EmbeddingConfig()} | ({usual.model: usual} if usual.model else {})
    for name, keys in given.get("models", ()):
        listed[name] = _model(file, f"[embedding.models.{name}]", {"provider": HTTP_PROVIDER, "model": name, **keys})
    if wanted is None:
        return usual
    if wanted not in listed:
        why = f"[embedding] model names {shown(wanted)}, which your own settings do not list"
        raise ConfigError(file=REPO_CONFIG_NAME, why=why)
    return listed[wanted]


def _model(file: str, table: str, given: Mapping[str, Any]) -> EmbeddingConfig:
    missing = [key for key in ("url", "model", "dimension") if key not in given]
    if given.get("provider") == HTTP_PROVIDER and missing:
        raise ConfigError(file=file, why=f'{table} with provider = "http" needs {" and ".join(missing)}')
    return replace(EmbeddingConfig(), **given)


def _engine(file: str, given: Mapping[str, Any]) -> EngineConfig:
    if (given.get("kind") == ENGINES[1]) != ("uri" in given):
        raise ConfigError(file=file, why='[engine] needs both kind = "milvus" and uri, or neither')
    return replace(EngineConfig(), **given)


def cairn_home(environ: Mapping[str, str]) -> str:
    """Return the absolute folder for the user's settings and data: `$CAIRN_HOME`, else `~/.cairn`."""
    home = environ.get("CAIRN_HOME") or os.path.join(environ.get("HOME") or os.path.expanduser("~"), ".cairn")
    # A relative home would move with the working folder, and so into whatever repository we stand in.
    if not os.path.isabs(home) or "\0" in home:
        raise ConfigError(file="CAIRN_HOME", why="it must be an absolute path")
    return home


def user_config_path(environ: Mapping[str, str]) -> str:
    """Return where the user's settings are, whether or not the file exists."""
    return os.path.join(cairn_home(environ), USER_CONFIG_NAME)


class UserFile(NamedTuple):
    """The bytes of the user's settings (None: no file), and whether only the user could have written them."""

    data: bytes | None
    alone: bool = True


def read_user_config(environ: Mapping[str, str]) -> UserFile:
    """Return the user's settings. Links are followed, because the file is the user's own."""
    path = user_config_path(environ)
    try:
        with open(path, "rb") as file:
            return UserFile(file.read(limits.MAX_CONFIG_BYTES + 1), _is_alone(os.fstat(file.fileno()), path))
    except (FileNotFoundError, NotADirectoryError):
        return UserFile(None)
    except OSError as problem:
        raise ConfigUnreadable(file=path, why=os.strerror(problem.errno or 0)) from None


def _is_alone(found: os.stat_result, path: str) -> bool:
    """Whether nobody but the user can have written this file.

    In a folder of a group, any member may put a file under its name, or a link to one of ours that came from elsewhere,
    such as one in a repository.
    """
    others = stat.S_IWGRP | stat.S_IWOTH
    if not os.stat(os.path.dirname(path)).st_mode & others:
        return True
    own = os.path.samestat(found, os.lstat(path)) and found.st_nlink == 1
    return own and found.st_uid in (os.geteuid(), 0) and not found.st_mode & others


# --- one file: bytes -> checked values --------------------------------------------------------------------------------

Tables = Mapping[str, Mapping[str, Check | str]]
T = TypeVar("T")


def _read(file: str, data: bytes | None, tables: Tables) -> dict[str, dict[str, Any]]:
    """Return the checked values of one file, table by table; refuses a table or key that the file may not hold."""
    if data is None:
        return {}
    document = parse_toml(file, data)
    checked: dict[str, dict[str, Any]] = {}
    for table, content in document.items():
        keys = _known(file, "table", table, tables)
        if not isinstance(content, dict):
            raise ConfigError(file=file, why=f"{table} must be a table, written as [{table}]")
        values = checked.setdefault(table, {})
        for key, value in content.items():
            check = _known(file, f"key in [{table}]", key, keys)
            if isinstance(check, str):
                raise ConfigError(file=file, why=f"[{table}] {key} {check}")
            try:
                values[key] = check(value)
            except Bad as bad:
                raise ConfigError(file=file, why=f"[{table}] {key} {bad}") from None
    return checked


def _known(file: str, what: str, name: str, known: Mapping[str, T]) -> T:
    if name in known:
        return known[name]
    near = get_close_matches(name[:MAX_SHOWN_CHARS], known, n=1)
    advice = f"did you mean {near[0]}?" if near else f"known are {', '.join(sorted(known))}"
    raise ConfigError(file=file, why=f"there is no {what} called {shown(name)} ({advice})")


def parse_toml(file: str, data: bytes) -> dict[str, object]:
    """Return what a file of settings or of a project says; raises `ConfigError` for bad or costly TOML."""
    if len(data) > limits.MAX_CONFIG_BYTES:
        raise ConfigUnreadable(file=file, why=f"it is larger than {limits.MAX_CONFIG_BYTES} bytes")
    if b"\0" in data:
        raise ConfigUnreadable(file=file, why="it holds a NUL byte, so it is not text")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigUnreadable(file=file, why=f"byte {error.start + 1} is not UTF-8") from None
    _refuse_deep_keys(file, text)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(file=file, why=_syntax_problem(str(error))) from None
    except RecursionError:
        raise ConfigError(file=file, why="its arrays or tables are nested too deeply") from None
    except ValueError:  # Python refuses to read integers of thousands of digits
        raise ConfigError(file=file, why="a number in it is too long") from None


# Strings and comments. Every branch ends at the end of the text too, so that the scan is linear whatever is unclosed.
_STRINGS_AND_COMMENTS = re.compile(
    r'"""(?:\\.|[^\\])*?(?:"{3,5}|\Z)'
    r"|'''.*?(?:'{3,5}|\Z)"
    r'|"(?:\\.|[^"\\\n])*+"?'
    r"|'[^'\n]*+'?"
    r"|\#[^\n]*+",
    re.DOTALL,
)


def _refuse_deep_keys(file: str, text: str) -> None:
    """Refuse `a.a.a.a...`: tomllib takes quadratic time for it, a quarter of a minute for a file of 64 KiB."""
    bare = _STRINGS_AND_COMMENTS.sub("", text)
    if any(part.count(".") > MAX_KEY_DEPTH for part in re.split(r"[\n,={}\[\]]", bare)):
        raise ConfigError(file=file, why=f"a key in it has more than {MAX_KEY_DEPTH} parts")


def _syntax_problem(message: str) -> str:
    """Return the place of a syntax error; the rest of the parser's message may quote the file."""
    place = re.search(r"\(at (line \d+, column \d+|end of document)\)\Z", message)
    where = place.group(1) if place else "some place"
    if message.startswith(("Cannot overwrite", "Cannot declare", "Duplicate", "Cannot redefine", "Cannot mutate")):
        return f"a key or table is given twice (at {where})"
    return f"it is not valid TOML (at {where})"


# --- which keys there are, and what may stand there -------------------------------------------------------------------

_LIMIT_KEYS: Mapping[str, Check | str] = {
    "max_file_bytes": at_most(limits.MAX_FILE_BYTES),
    "max_chunks_per_file": at_most(limits.MAX_CHUNKS_PER_FILE),
    "max_bytes_per_batch": at_most(limits.MAX_BYTES_PER_BATCH),
}
_MODEL_KEYS: Mapping[str, Check] = {
    "url": url,
    "model": model_name,
    "dimension": from_one_to(limits.MAX_EMBED_DIMENSION),
    "key_env": variable,
    "query_prefix": prefix,
    "document_prefix": prefix,
    "max_tokens": from_one_to(limits.MAX_EMBED_TOKENS),
    "batch": from_one_to(limits.MAX_EMBED_BATCH),
}


def models(value: object) -> tuple[tuple[str, Mapping[str, object]], ...]:
    """Check a table of further models on servers: the name that a repository may give, and the keys of each."""
    if not isinstance(value, dict) or not all(isinstance(keys, dict) for keys in value.values()):
        raise Bad("must be a table of models, each written as [embedding.models.NAME]")
    if len(value) > limits.MAX_CONFIG_MODELS:
        raise Bad(f"has {len(value)} entries; at most {limits.MAX_CONFIG_MODELS} are allowed")
    return tuple((str(model_name(name)), _keys_of_model(name, keys)) for name, keys in sorted(value.items()))


def _keys_of_model(name: str, keys: Mapping[str, object]) -> Mapping[str, object]:
    found = {}
    for key, value in keys.items():
        if key not in _MODEL_KEYS:
            raise Bad(f"holds {shown(name)} with a key {shown(key)}; known are {', '.join(sorted(_MODEL_KEYS))}")
        try:
            found[key] = _MODEL_KEYS[key](value)
        except Bad as bad:
            raise Bad(f"holds {shown(name)}, whose {key} {bad}") from None
    return found


_REPO_ONLY = f"belongs in {REPO_CONFIG_NAME}, so that everyone who indexes the repository gets the same index"
_USER_ONLY = f"is for each user to decide: set it in your own {USER_CONFIG_NAME}"
_REPO_KEYS: Tables = {
    "index": {
        "include": list_of(path_glob),
        "exclude": list_of(path_glob),
        "types": list_of(file_type),
        "untracked": boolean,
        "collisions": _USER_ONLY,
        "ask_above": _USER_ONLY,
        "auto_reindex": _USER_ONLY,
        "submodules": one_of("skip"),
        "allow_sensitive": _USER_ONLY,
    },
    "limits": _LIMIT_KEYS,
    "query": {"scope": one_of(*SCOPES)},
    "embedding": {"model": model_name},
}
_USER_KEYS: Tables = {
    "index": {
        **dict.fromkeys(("include", "exclude", "types", "untracked", "submodules"), _REPO_ONLY),
        "collisions": collisions,
        "allow_sensitive": list_of(path_glob),
        "ask_above": from_one_to(limits.MAX_ASK_ABOVE),
        "auto_reindex": boolean,
    },
    "search": {"auto_index": boolean, "catchup_reads": one_of(*CATCHUP_READS)},
    "serve": {
        "allowed_roots": list_of(folder),
        "managed_roots": list_of(folder),
        "auto_watch": boolean,
        "daemon": one_of(*DAEMON),
        "idle_seconds": from_one_to(limits.MAX_DAEMON_IDLE_SECONDS),
        "memory_mib": from_one_to(limits.MAX_DAEMON_MEMORY_MIB),
    },
    "store": {"shared": boolean},
    "semantic": {
        "tools": programs,
        "trusted_roots": list_of(folder),
        "seconds": from_one_to(limits.MAX_INDEXER_SECONDS),
        "memory_mib": from_one_to(limits.MAX_INDEXER_MEMORY_MIB),
        "disk_mib": from_one_to(limits.MAX_INDEXER_DISK_MIB),
    },
    "engine": {"kind": one_of(*ENGINES), "uri": server, "token_env": variable, "allow_secrets": boolean},
    "limits": _LIMIT_KEYS,
    "embedding": {"provider": one_of(*PROVIDERS), **_MODEL_KEYS, "models": models},
}
