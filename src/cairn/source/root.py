"""Find the canonical root for what a person typed, and turn raw names into the keys that stand for them everywhere.

A root and a key are two different things with two different functions: a root is an absolute real path, a key is
relative text that can never lead out of it.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import unicodedata
from collections.abc import Sequence
from typing import NoReturn

from cairn.core.limits import KIB
from cairn.core.types import Candidate, Root
from cairn.errors import (
    BadPathKey,
    PathOutsideRoot,
    RootIsBare,
    RootNotAFolder,
    RootNotFound,
    RootUnreadable,
    SourceError,
)
from cairn.source.beneath import Tree, root_trouble

# What git's own folder holds, and so a bare repository.
BARE_NAMES = ("HEAD", "objects", "refs")
_HEAD = re.compile(rb"ref:[ \t]*refs/[^\0\n]+\n?|[0-9a-f]{40}(?:[0-9a-f]{24})?\n?")
_HEAD_BYTES = 4 * KIB
_GITDIR = b"gitdir:"
_GITDIR_BYTES = 8 * KIB
_NOT_SLUG = re.compile(r"[^a-z0-9]+")
_HEX = re.compile(r"[0-9a-f]{16,}")


def find_root(requested: str) -> Root:
    """Return the git top level that holds the folder, else the folder itself, with every link resolved.

    A bare repository has no files of its own and is refused. git itself is not asked: a repository's own
    `core.worktree` could move its answer to any folder of the machine.
    """
    try:
        # First of all, because an empty request is no folder, but its real path would be the current one.
        asked = os.stat(requested)
        folder = os.path.realpath(requested, strict=True)
    except NotADirectoryError:
        # `file.py/x`: the part that is a file is not what was asked for.
        raise RootNotFound(path=_shown(requested)) from None
    except OSError as error:
        raise root_trouble(requested, error) from error
    except ValueError:
        # The name holds a NUL; no folder can have that name.
        raise RootNotFound(path=_shown(requested)) from None
    if not stat.S_ISDIR(asked.st_mode):
        raise RootNotAFolder(path=_shown(requested))
    top = folder
    # Somebody else's `.git` in a shared folder such as /tmp must not claim what others keep below it.
    owners = {asked.st_uid, os.geteuid()}
    while not _holds_git(top, owners):
        parent = os.path.dirname(top)
        if parent == top:
            _refuse_bare(folder, owners)
            return _readable(Root(folder, is_git=False))
        top = parent
    return _readable(Root(top, is_git=True))


def repository_roots(folder: str) -> tuple[str, ...]:
    """Return the work trees of the repository that holds a folder: the one around it, and the one it is a part of.

    A submodule and a linked worktree are parts of the work tree whose `.git` holds their git folder. Without a
    repository, or where nothing can be looked at, there is none.
    """
    try:
        root = find_root(folder)
    except (SourceError, RootIsBare):
        return ()
    if not root.is_git:
        return ()
    outer = _outer_root(os.path.join(root.path, ".git"))
    return (root.path,) if outer is None else (root.path, outer)


def is_bare(tree: Tree, above: bytes = b"") -> bool:
    """Whether a folder of a tree is the folder of a git repository itself; `above` is its raw path with a slash."""
    try:
        if not all(stat.S_ISDIR(tree.lstat(above + name.encode()).st_mode) for name in BARE_NAMES[1:]):
            return False
        head = above + BARE_NAMES[0].encode()
        if stat.S_ISLNK(tree.lstat(head).st_mode):
            # So it was before git 1.5.
            return tree.read_link(head).startswith(b"refs/")
        return _HEAD.fullmatch(tree.read_small(head, _HEAD_BYTES) or b"") is not None
    except (OSError, SourceError):
        return False


def path_key(raw: bytes) -> str:
    """Return the text that names a file in every answer: relative, NFC, `/` between parts; refuses escapes."""
    if raw.isascii():
        key = raw.decode("ascii")
    else:
        try:
            key = unicodedata.normalize("NFC", raw.decode("utf-8"))
        except UnicodeDecodeError:
            _refuse(raw, "it is not UTF-8")
    # Nearly every path passes on these few looks; only names with a leading dot are taken apart.
    if not key or key[0] in "/." or key[-1] == "/" or "/." in key or "//" in key or "\0" in key:
        _check_parts(raw, key)
    return key


def path_key_ci(key: str) -> str:
    """Return the key as a file system that ignores case would compare it."""
    if key.isascii():
        return key.lower()
    # Folding the decomposed text makes composed and decomposed spellings meet.
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", key).casefold())


def relative_to_root(root: Root, path: str, cwd: str) -> bytes:
    """Return the raw path below the root of what a person typed in `cwd`; empty for the root itself.

    Links on the way are resolved, a link at the end is not: it is a name of the tree. Refuses what is not in the root.
    """
    if "\0" in path:
        raise BadPathKey(path=_shown(path), why="it holds a NUL")
    full = os.path.join(cwd, path)
    folder, name = os.path.split(full.rstrip("/") or "/")
    ways = [os.path.realpath(full)]
    if name not in ("", ".", ".."):
        ways.insert(0, os.path.join(os.path.realpath(folder), name))
    # The second way serves a link from elsewhere into the root, such as a shortcut to the root itself.
    for way in ways:
        below = _below(os.fsencode(root.path), os.fsencode(way))
        if below is not None:
            return below
    raise PathOutsideRoot(path=_shown(path), root=_shown(root.path))


def find_collisions(candidates: Sequence[Candidate]) -> tuple[tuple[bytes, ...], ...]:
    """Return the groups of files whose names differ only in case or in their Unicode form."""
    # A walk asks this of every file, and nearly every name is plain ASCII: no call of ours for those.
    folded = [c.key.lower() if c.key.isascii() else path_key_ci(c.key) for c in candidates]
    if len(set(folded)) == len(folded):
        return ()
    groups: dict[str, list[bytes]] = {}
    for key, candidate in zip(folded, candidates, strict=True):
        groups.setdefault(key, []).append(candidate.raw)
    return tuple(sorted(tuple(sorted(group)) for group in groups.values() if len(group) > 1))


def store_id(root: Root, index_fingerprint: str) -> str:
    """Return the name of the store of this root under this index fingerprint: one per worktree, one per meaning."""
    if not _HEX.match(index_fingerprint):
        raise ValueError("an index fingerprint is at least 16 hexadecimal digits")
    slug = _NOT_SLUG.sub("-", os.path.basename(root.path).lower()).strip("-")[:40].strip("-")
    place = hashlib.sha256(os.fsencode(root.path)).hexdigest()
    return f"{slug or 'root'}__{place[:16]}__{index_fingerprint[:16]}"


def printable(raw: bytes) -> str:
    r"""Return a name that is safe to show: no two names look the same, and none can steer a terminal.

    Bytes that are no UTF-8 and ASCII controls become `\xNN`, other characters that do not print (bidirectional marks
    among them) `\u{N}`, and a backslash is doubled.
    """
    text = raw.decode("utf-8", "surrogateescape")
    if text.isprintable() and "\\" not in text:
        return text
    return "".join(_escaped(char) for char in text)


def _escaped(char: str) -> str:
    if char == "\\":
        return "\\\\"
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x80 or 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code & 0xFF:02x}"
    return f"\\u{{{code:x}}}"


def _shown(path: str) -> str:
    return printable(os.fsencode(path))


def _readable(root: Root) -> Root:
    # Both rights are needed: to list a folder and to go through it.
    if not os.access(root.path, os.R_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids):
        raise RootUnreadable(path=_shown(root.path), why="permission denied")
    return root


def _holds_git(folder: str, owners: set[int]) -> bool:
    """Whether a work tree of one of these owners begins here: a `.git` folder with a HEAD, or a `.git` file."""
    marker = os.path.join(folder, ".git")
    try:
        found = os.stat(marker)
        if found.st_uid not in owners:
            return False
        if stat.S_ISDIR(found.st_mode):
            return os.path.lexists(os.path.join(marker, "HEAD"))
        if not stat.S_ISREG(found.st_mode):
            return False
        home, name = os.path.split(os.path.realpath(marker))
        with Tree(Root(home, is_git=False)) as tree:
            return (tree.read_small(os.fsencode(name), len(_GITDIR)) or b"").startswith(_GITDIR)
    except (OSError, SourceError):
        # A `.git` that cannot be looked at makes no folder a work tree.
        return False


def _refuse_bare(folder: str, owners: set[int]) -> None:
    """Raise `RootIsBare` when a folder that is in no work tree is a bare repository of these owners, or lies in one."""
    top = folder
    while os.path.dirname(top) != top:
        try:
            # The look costs a descriptor, which nearly no folder needs.
            if os.stat(os.path.join(top, BARE_NAMES[1])).st_uid in owners:
                with Tree(Root(top, is_git=False)) as tree:
                    if is_bare(tree):
                        raise RootIsBare(path=_shown(top))
        except (OSError, RootUnreadable):
            # What cannot be looked at is no repository that anybody could index.
            pass
        top = os.path.dirname(top)


def _outer_root(marker: str) -> str | None:
    """Return the work tree whose git folder a `.git` file leads into; None when there is none."""
    if not os.path.isfile(marker):
        return None
    home, name = os.path.split(os.path.realpath(marker))
    try:
        with Tree(Root(home, is_git=False)) as tree:
            said = (tree.read_small(os.fsencode(name), _GITDIR_BYTES) or b"").partition(b"\n")[0]
    except SourceError:
        return None
    written = os.fsdecode(said.removeprefix(_GITDIR).strip())
    if "\0" in written:
        return None
    outer, inside, _ = os.path.realpath(os.path.join(home, written)).partition("/.git/")
    return outer if inside and os.path.isdir(os.path.join(outer, ".git")) else None


def _below(root: bytes, path: bytes) -> bytes | None:
    if path == root:
        return b""
    # Compared by whole names: /r-evil begins with /r and is not in it.
    inside = root if root.endswith(b"/") else root + b"/"
    return path.removeprefix(inside) if path.startswith(inside) else None


def _check_parts(raw: bytes, key: str) -> None:
    if "\0" in key:
        _refuse(raw, "it holds a NUL")
    if key.startswith("/"):
        _refuse(raw, "it is absolute")
    for part in key.split("/"):
        if not part:
            _refuse(raw, "a part of it is empty")
        if part in (".", ".."):
            _refuse(raw, f"it has the part `{part}`")


def _refuse(raw: bytes, why: str) -> NoReturn:
    raise BadPathKey(path=printable(raw), why=why)
