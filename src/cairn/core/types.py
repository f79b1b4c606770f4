"""The values that cross a folder border.

All are immutable. Values made once per file name or per name in a file are `NamedTuple`s (creating one costs a quarter
of a frozen dataclass, and a large repository makes millions); everything else is a frozen, slotted dataclass.
Line numbers are 1-based and inclusive; byte offsets are 0-based and half-open; columns count bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class SkipReason(StrEnum):
    """Why a name in the tree is not in the index; each has one sentence in `SKIP_SENTENCES`."""

    IGNORED = "ignored"
    CAIRNIGNORED = "cairnignored"
    EXCLUDED = "excluded"
    UNTRACKED = "untracked"
    SENSITIVE_NAME = "sensitive_name"
    VCS_INTERNAL = "vcs_internal"
    NESTED_REPOSITORY = "nested_repository"
    OUTSIDE_ROOT = "outside_root"
    SYMLINK_LOOP = "symlink_loop"
    BROKEN_LINK = "broken_link"
    ALIAS = "alias"
    LINK_TARGET_SKIPPED = "link_target_skipped"
    NOT_REGULAR = "not_regular"
    UNREADABLE = "unreadable"
    NAME_NOT_UTF8 = "name_not_utf8"
    PATH_TOO_LONG = "path_too_long"
    TOO_LARGE = "too_large"
    BINARY = "binary"
    NOT_UTF8 = "not_utf8"
    DATA_FILE = "data_file"
    LOCK_FILE = "lock_file"
    MINIFIED = "minified"
    TOO_MANY_CHUNKS = "too_many_chunks"


SKIP_SENTENCES: dict[SkipReason, str] = {
    SkipReason.IGNORED: "An ignore rule of the repository leaves it out.",
    SkipReason.CAIRNIGNORED: "A line of .cairnignore leaves it out, and no other rule does.",
    SkipReason.EXCLUDED: "The include and exclude settings of the repository leave it out.",
    SkipReason.UNTRACKED: "git does not track it, and the repository's settings leave untracked files out.",
    SkipReason.SENSITIVE_NAME: "Its name says that it holds secrets, so it is never read.",
    SkipReason.VCS_INTERNAL: "It belongs to the version control system.",
    SkipReason.NESTED_REPOSITORY: "It is a repository of its own, or a submodule; index it as its own root.",
    SkipReason.OUTSIDE_ROOT: "It is a link that leads out of the root.",
    SkipReason.SYMLINK_LOOP: "It is a link that leads back to itself or through more than 32 links.",
    SkipReason.BROKEN_LINK: "It is a link to something that is not there.",
    SkipReason.ALIAS: "It is a link to something that is indexed under its own name.",
    SkipReason.LINK_TARGET_SKIPPED: "It is a link to something that is itself left out.",
    SkipReason.NOT_REGULAR: "It is a pipe, a socket or a device, not a file.",
    SkipReason.UNREADABLE: "You may not read it.",
    SkipReason.NAME_NOT_UTF8: "Its name is not UTF-8, so it cannot be named in an answer.",
    SkipReason.PATH_TOO_LONG: "Its path is longer than the system can open.",
    SkipReason.TOO_LARGE: "It is larger than the size limit.",
    SkipReason.BINARY: "It holds a NUL byte near its start, so it is not text.",
    SkipReason.NOT_UTF8: "Its text is not UTF-8; or it has the name of code and holds a NUL byte.",
    SkipReason.DATA_FILE: "It is a data file; `!*.ext` in .cairnignore switches its type on.",
    SkipReason.LOCK_FILE: "It is a lock file written by a package manager; `!NAME` in .cairnignore switches it on.",
    SkipReason.MINIFIED: "It is a minified or generated bundle; `!*.ext` in .cairnignore switches its type on.",
    SkipReason.TOO_MANY_CHUNKS: "It falls into more pieces than the limit of 2,000.",
}


# --- what is on disk ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Root:
    """A canonical root: the git top level of the requested folder, else the folder itself, links resolved.

    `of_group`: it is indexed for a group, and its files may belong to any of them.
    """

    path: str
    is_git: bool
    of_group: bool = False


class FileStat(NamedTuple):
    """What decides, without reading, that a file is the one we saw: any difference makes it a suspect."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int


class Candidate(NamedTuple):
    """A file that may be indexed. `key` is its name in every answer, `raw` the bytes that open it.

    `forced` says that a `!` rule of .cairnignore asked for it, so the checks for data and minified files are left out.
    """

    key: str
    raw: bytes
    stat: FileStat
    forced: bool = False


class Skip(NamedTuple):
    """A name that is not indexed, and why. `detail` names the rule, the link target or the system's word.

    `folder` is set when the reason holds for everything below, which is then not walked.
    """

    raw: bytes
    reason: SkipReason
    detail: str = ""
    folder: bool = False


@dataclass(frozen=True, slots=True)
class IgnoreFile:
    """An ignore file that took part, with its bytes: the input of the ignore fingerprint."""

    key: str
    data: bytes


@dataclass(frozen=True, slots=True)
class WalkResult:
    """Every name in the tree, once: as a candidate, a skip, or below a skipped folder. Byte order of the raw path.

    `folders` are the raw paths of the folders that were entered (the root is empty bytes): what a watcher watches.
    `links` counts the links, whose outcomes depend on those of other names. `linked` are the raw paths of candidates
    that have another name somewhere, in the tree or outside.
    """

    candidates: tuple[Candidate, ...]
    skips: tuple[Skip, ...]
    collisions: tuple[tuple[bytes, ...], ...]
    ignore_files: tuple[IgnoreFile, ...]
    folders: tuple[bytes, ...]
    warnings: tuple[str, ...] = ()
    links: int = 0
    linked: tuple[bytes, ...] = ()


class Behind(NamedTuple):
    """How many files are not as an indexer read them, and of how many others that puts some facts in doubt."""

    changed: int
    in_doubt: int


NOT_BEHIND = Behind(0, 0)


@dataclass(frozen=True, slots=True)
class SourceFile:
    """Bytes that held still while they were read, their SHA-256 (hex) and the stat they were read under."""

    key: str
    raw: bytes
    data: bytes
    file_hash: str
    stat: FileStat


@dataclass(frozen=True, slots=True)
class Vanished:
    """The file was there when the tree was walked and is not any more: a delete, never an error."""

    raw: bytes


@dataclass(frozen=True, slots=True)
class Unstable:
    """The file changed during every attempt to read it; a strict publish must not go on without it."""

    raw: bytes
    attempts: int


ReadOutcome = SourceFile | Skip | Vanished | Unstable


# --- what changed -------------------------------------------------------------------------------------------------


class FileRecord(NamedTuple):
    """What the last snapshot knows of a file."""

    key: str
    stat: FileStat
    file_hash: str


@dataclass(frozen=True, slots=True)
class Rename:
    """The same bytes under another name: content identity, and so every vector, is kept."""

    old: str
    new: Candidate


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """The authoritative difference between the tree and the last snapshot, each part in byte order of its keys.

    `touched` files differ in their stat tuple only: the same bytes, so nothing is indexed, but the tuple is recorded.
    `skips` are files that turned out, on reading, to be no text; `unstable` ones would not hold still.
    `hashed` counts the files read to decide, `full` says that every file was.
    """

    add: tuple[Candidate, ...] = ()
    modify: tuple[Candidate, ...] = ()
    delete: tuple[str, ...] = ()
    rename: tuple[Rename, ...] = ()
    touched: tuple[Candidate, ...] = ()
    skips: tuple[Skip, ...] = ()
    unstable: tuple[Unstable, ...] = ()
    hashed: int = 0
    full: bool = False

    @property
    def empty(self) -> bool:
        """Nothing to publish; touched files alone change no answer."""
        return not (self.add or self.modify or self.delete or self.rename or self.unstable)


# --- what a file holds --------------------------------------------------------------------------------------------


class SymbolKind(StrEnum):
    """The closed set of things that can be defined; every language maps onto it."""

    MODULE = "module"
    NAMESPACE = "namespace"
    CLASS = "class"
    INTERFACE = "interface"
    STRUCT = "struct"
    ENUM = "enum"
    UNION = "union"
    TRAIT = "trait"
    OBJECT = "object"
    IMPL = "impl"
    TYPE = "type"
    FUNCTION = "function"
    METHOD = "method"
    CONSTRUCTOR = "constructor"
    PROPERTY = "property"
    FIELD = "field"
    CONSTANT = "constant"
    VARIABLE = "variable"
    ENUM_MEMBER = "enum_member"
    MACRO = "macro"
    HEADING = "heading"
    KEY = "key"
    RULE = "rule"
    TABLE = "table"
    ELEMENT = "element"


class ReferenceKind(StrEnum):
    """How a name is used."""

    CALL = "call"
    TYPE = "type"
    BASE = "base"
    ANNOTATION = "annotation"


class Symbol(NamedTuple):
    """A definition. `parent` is the index of the enclosing definition in the file's list, or -1.

    `container` is the dotted path of the enclosing names, empty at the top. `signature` is what a caller sees, on one
    line; `doc` is the comment that belongs to it, without its comment marks.
    """

    kind: str
    name: str
    container: str
    signature: str
    doc: str
    start_byte: int
    end_byte: int
    start_line: int
    end_line: int
    name_byte: int
    exported: bool
    parent: int


class Reference(NamedTuple):
    """A use of a name. `receiver` is the text before the dot (or its like), empty when the name stands alone.

    `scope` is the index of the innermost definition that holds the use, or -1.
    """

    kind: str
    name: str
    receiver: str
    start_byte: int
    line: int
    column: int
    scope: int


class Import(NamedTuple):
    """One imported name: `from module import name as alias`. `name` is empty for a whole module, `*` for everything."""

    module: str
    name: str
    alias: str
    start_byte: int
    line: int


class Chunk(NamedTuple):
    """A piece of a file. The chunks of a file tile it: concatenated they give it back, byte for byte.

    `symbols` are indexes of the definitions that begin here; `breadcrumb` names the enclosing definitions, outermost
    first. `chunk_hash` is the SHA-256 of the payload, `chunk_id` its identity without the path (hex).
    """

    ordinal: int
    start_byte: int
    end_byte: int
    start_line: int
    end_line: int
    kind: str
    symbols: tuple[int, ...]
    breadcrumb: tuple[str, ...]
    chunk_hash: str
    chunk_id: str


class ParseState(StrEnum):
    """How much of the syntax was understood."""

    PARSED = "parsed"
    PARTIAL = "partial"
    LINES = "lines"


class Shorthand(StrEnum):
    """Whether one name stands for a property and its value: in an object, or in a pattern that takes one apart.

    `SAME` is where both can only have the same name: `const { name } = require(...)`, which indexers see through, and
    a struct of Go that holds another one without a name of its own.
    """

    NONE = "none"
    OBJECT = "object"
    PATTERN = "pattern"
    SAME = "same"


class NamePlace(NamedTuple):
    """A byte at which a name begins in code."""

    start_byte: int
    shorthand: Shorthand = Shorthand.NONE


class WordKind(StrEnum):
    """What a word is at a place that a rename of its definition might have to change as well."""

    MEMBER = "member"
    """Code: it names a member of a type, of a class or of an object, where that is written down."""
    TEXT = "text"
    """It stands in a string."""
    OTHER = "other"
    """It stands in a comment, in a file that was not parsed, or where the syntax does not say."""


class WordPlace(NamedTuple):
    """A place of a word: the byte at which it begins, and of a text where it begins and ends, and who holds it.

    `holder` is the function that is given the text or the name that it is assigned to, or `import` where it names a
    module, `doc` where it only describes the code, `tag` behind a field of Go.
    """

    start_byte: int
    kind: WordKind
    text_start: int = 0
    text_end: int = 0
    holder: str = ""


class FileWords(NamedTuple):
    """The text of a file, and the places of one word in it beside those where it is a name of the code."""

    text: bytes
    places: tuple[WordPlace, ...]


@dataclass(frozen=True, slots=True)
class Syntax:
    """What the syntax of one file says. `partial` are the line ranges that could not be parsed."""

    language: str
    state: ParseState
    symbols: tuple[Symbol, ...] = ()
    references: tuple[Reference, ...] = ()
    imports: tuple[Import, ...] = ()
    exports: tuple[str, ...] = ()
    partial: tuple[tuple[int, int], ...] = ()
    interface_hash: str = ""


@dataclass(frozen=True, slots=True)
class FileFacts:
    """Everything the index will know of one file, as it leaves a worker; its bytes travel along, read once."""

    source: SourceFile
    syntax: Syntax
    chunks: tuple[Chunk, ...]


class StoredFile(NamedTuple):
    """What a store knows of one file, without its text.

    With `skip` set it is the record of a file that was read and left out, so that it is not read again while its stat
    stays: then `detail` says more, and there is no hash, no language, no state and no chunk.
    """

    key: str
    stat: FileStat
    file_hash: str
    language: str
    state: str
    skip: SkipReason | None
    detail: str
    size: int
    chunks: int
    interface_hash: str


SkipRecord = StoredFile

ExtractOutcome = FileFacts | Skip | Vanished | Unstable
