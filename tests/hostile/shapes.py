"""The hostile tree: named shapes that a repository may hold against us, and what must become of each.

Every shape plants itself below a folder of its own. `expected` is the outcome of the walk, `reads` that of the stable
read of its candidates; both name only what is certain. A shape may be walked as a root of its own or as a folder of a
larger tree, so nothing here depends on where the folder lies.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from cairn.core.limits import MAX_FILE_BYTES, MAX_IGNORE_BYTES
from cairn.core.types import SkipReason as Why

CANDIDATE = "candidate"
SOURCE = "source"
TEXT = b"def answer():\n    return 42\n"
# More steps up than any test folder is deep.
FAR_UP = b"../" * 40
_ROOT_USER = os.geteuid() == 0

Outcomes = dict[bytes, str]


@dataclass(frozen=True)
class Shape:
    """One way to be hostile. `optional` names are planted only where the system allows it."""

    name: str
    plant: Callable[[Path], None]
    expected: Outcomes = field(default_factory=dict)
    reads: Outcomes = field(default_factory=dict)
    optional: frozenset[bytes] = frozenset()
    note: str = ""

    def expected_in(self, folder: Path) -> Outcomes:
        """What is expected of the names that could really be planted there."""
        return {
            name: outcome
            for name, outcome in self.expected.items()
            if name not in self.optional or os.path.lexists(os.path.join(os.fsencode(folder), name))
        }


def uproot(folder: Path) -> None:
    """Remove a planted folder, whatever it holds."""
    if not _ROOT_USER:
        for path, folders, _ in os.walk(folder):
            for name in folders:
                below = os.path.join(path, name)
                if not os.path.islink(below):
                    os.chmod(below, 0o700)
    shutil.rmtree(folder)


# --- small hands --------------------------------------------------------------------------------------------------


def _path(folder: Path, name: bytes) -> bytes:
    return os.path.join(os.fsencode(folder), name)


def _write(folder: Path, name: bytes, data: bytes = TEXT) -> None:
    path = _path(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)


def _link(folder: Path, name: bytes, target: bytes) -> None:
    path = _path(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    os.symlink(target, path)


def _sparse(folder: Path, name: bytes, size: int) -> None:
    _write(folder, name, TEXT)
    with contextlib.suppress(OSError):  # a file system with a lower limit keeps the small file, which is optional
        os.truncate(_path(folder, name), size)
    if os.stat(_path(folder, name)).st_size != size:
        os.unlink(_path(folder, name))


def _repository(folder: Path, name: bytes) -> None:
    _write(folder, name + b"/HEAD", b"ref: refs/heads/main\n")
    _write(folder, name + b"/config", b"[core]\n\tbare = false\n")
    os.makedirs(_path(folder, name + b"/objects"))
    os.makedirs(_path(folder, name + b"/refs"))


def tree(
    *,
    files: dict[bytes, bytes] | tuple[bytes, ...] = (),
    links: dict[bytes, bytes] | None = None,
    pipes: tuple[bytes, ...] = (),
    repositories: tuple[bytes, ...] = (),
    folders: tuple[bytes, ...] = (),
) -> Callable[[Path], None]:
    """What plants these; `@HERE@` in a link's target is the folder's own absolute path."""

    def plant(folder: Path) -> None:
        for name in repositories:
            _repository(folder, name)
        for name in folders:
            os.makedirs(_path(folder, name))
        for name in files:
            _write(folder, name, files[name] if isinstance(files, dict) else TEXT)
        for name, target in (links or {}).items():
            _link(folder, name, target.replace(b"@HERE@", os.fsencode(folder.resolve())))
        for name in pipes:
            os.makedirs(os.path.dirname(_path(folder, name)), exist_ok=True)
            os.mkfifo(_path(folder, name))

    return plant


def file_shape(name: str, file: bytes, data: bytes, read: str, *, walk: str = CANDIDATE, note: str = "") -> Shape:
    """A shape of one file with these bytes."""
    reads = {file: read} if walk == CANDIDATE else {}
    return Shape(name, lambda folder: _write(folder, file, data), {file: walk}, reads, note=note)


def name_shape(name: str, file: bytes, *, walk: str = CANDIDATE, note: str = "") -> Shape:
    """A shape of one harmless file with a harmful name."""
    return file_shape(name, file, TEXT, SOURCE, walk=walk, note=note)


def link_shape(name: str, target: bytes, walk: str, *, link: bytes = b"link.py", note: str = "") -> Shape:
    """A shape of one link beside a plain file `real.py` and a folder `inner` with `inner/code.py`."""

    plant = tree(files=(b"real.py", b"inner/code.py"), links={link: target})
    expected = {link: walk, b"real.py": CANDIDATE, b"inner/code.py": CANDIDATE}
    return Shape(name, plant, expected, {b"real.py": SOURCE, b"inner/code.py": SOURCE}, note=note)


# --- links --------------------------------------------------------------------------------------------------------


def _chain(length: int) -> Callable[[Path], None]:
    links = {b"hop%02d.py" % step: b"hop%02d.py" % (step - 1) for step in range(2, length + 1)}
    return tree(files=(b"real.py",), links={b"hop01.py": b"real.py"} | links)


_mutual_loop = tree(links={b"a.py": b"b.py", b"b.py": b"a.py"})
_folder_loop = tree(files=(b"deep/code.py",), links={b"deep/again": b"..", b"deep/self": b"."})
_folder_mutual = tree(files=(b"a/one.py", b"b/two.py"), links={b"a/to_b": b"../b", b"b/to_a": b"../a"})
_through_link = tree(files=(b"inner/code.py",), links={b"door": b"inner", b"link.py": b"door/code.py"})
_through_outer = tree(links={b"door": b"/etc", b"link.py": b"door/passwd"})
_chained_out = tree(links={b"a.py": b"b.py", b"b.py": b"c.py", b"c.py": b"/etc/passwd"})
_out_and_back = tree(files=(b"real.py",), links={b"link.py": FAR_UP + b".@HERE@/real.py"})
_to_secret = tree(files={b".env": b"TOKEN=canary\n"}, links={b"settings.py": b".env"})
_to_ignored = tree(files={b".gitignore": b"hidden.py\n", b"hidden.py": TEXT}, links={b"shown.py": b"hidden.py"})
_ignored_link = tree(files={b".gitignore": b"link.py\n", b"real.py": TEXT}, links={b"link.py": b"real.py"})
_into_git = tree(
    repositories=(b"nested/.git",), files=(b"nested/code.py",), links={b"config.py": b"nested/.git/config"}
)
_to_pipe = tree(pipes=(b"pipe",), links={b"link.py": b"pipe"})

LINKS = (
    link_shape("link-relative-inside", b"real.py", Why.ALIAS),
    link_shape("link-relative-dotted", b"./inner/.././real.py", Why.ALIAS),
    link_shape("link-up-inside", b"../real.py", Why.ALIAS, link=b"inner/link.py"),
    link_shape("link-absolute-inside", b"@HERE@/real.py", Why.ALIAS, note="counts as inside, name by name"),
    link_shape("link-absolute-outside", b"/etc/passwd", Why.OUTSIDE_ROOT),
    link_shape("link-relative-outside", FAR_UP + b"etc/passwd", Why.OUTSIDE_ROOT),
    link_shape("link-to-proc", b"/proc/self/environ", Why.OUTSIDE_ROOT),
    link_shape("link-to-magic-link", b"/proc/self/root/etc/passwd", Why.OUTSIDE_ROOT),
    link_shape("link-to-endless-device", b"/dev/zero", Why.OUTSIDE_ROOT),
    link_shape("link-to-system-root", b"/", Why.OUTSIDE_ROOT),
    link_shape("link-outside-dangling", b"/no/such/canary", Why.OUTSIDE_ROOT, note="the outside is never looked at"),
    link_shape("link-dangling", b"no_such.py", Why.BROKEN_LINK),
    link_shape("link-through-file", b"real.py/x", Why.BROKEN_LINK),
    link_shape("link-file-as-folder", b"real.py/", Why.BROKEN_LINK),
    link_shape("link-target-with-newline", b"no\nsuch\x1b[31m.py", Why.BROKEN_LINK),
    link_shape("link-self-loop", b"link.py", Why.SYMLINK_LOOP),
    link_shape("link-folder-inside", b"inner", Why.ALIAS, link=b"door"),
    link_shape("link-folder-absolute-inside", b"@HERE@/inner/", Why.ALIAS, link=b"door"),
    link_shape("link-folder-outside", b"/etc", Why.OUTSIDE_ROOT, link=b"door"),
    link_shape("link-folder-like-a-file", b"inner", Why.ALIAS),
    Shape("link-mutual-loop", _mutual_loop, {b"a.py": Why.SYMLINK_LOOP, b"b.py": Why.SYMLINK_LOOP}),
    Shape("link-chain-32", _chain(32), {b"hop%02d.py" % n: Why.ALIAS for n in range(1, 33)}),
    Shape("link-chain-33", _chain(33), {b"hop32.py": Why.ALIAS, b"hop33.py": Why.SYMLINK_LOOP}),
    Shape("link-chain-out", _chained_out, dict.fromkeys((b"a.py", b"b.py", b"c.py"), Why.OUTSIDE_ROOT)),
    Shape("link-folder-loop", _folder_loop, {b"deep/again": Why.ALIAS, b"deep/self": Why.ALIAS}),
    Shape("link-folder-mutual", _folder_mutual, {b"a/to_b": Why.ALIAS, b"b/to_a": Why.ALIAS}),
    Shape("link-through-link", _through_link, {b"door": Why.ALIAS, b"link.py": Why.ALIAS}),
    Shape("link-out-and-back", _out_and_back, {b"link.py": Why.OUTSIDE_ROOT}, note="leaving is enough"),
    Shape("link-through-outer", _through_outer, dict.fromkeys((b"door", b"link.py"), Why.OUTSIDE_ROOT)),
    Shape("link-to-secret", _to_secret, {b".env": Why.SENSITIVE_NAME, b"settings.py": Why.LINK_TARGET_SKIPPED}),
    Shape("link-to-ignored", _to_ignored, {b"hidden.py": Why.IGNORED, b"shown.py": Why.LINK_TARGET_SKIPPED}),
    Shape("link-ignored", _ignored_link, {b"link.py": Why.IGNORED, b"real.py": CANDIDATE}),
    Shape("link-into-git", _into_git, {b"nested": Why.NESTED_REPOSITORY, b"config.py": Why.LINK_TARGET_SKIPPED}),
    Shape("link-to-pipe", _to_pipe, {b"pipe": Why.NOT_REGULAR, b"link.py": Why.LINK_TARGET_SKIPPED}),
)


# --- things that are no files -------------------------------------------------------------------------------------


def _socket(folder: Path) -> None:
    # A socket's address is short, so it is bound by its name from within the folder.
    home = os.open(".", os.O_RDONLY)
    try:
        os.chdir(folder)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind("socket.py")
    finally:
        os.fchdir(home)
        os.close(home)


def _devices(folder: Path) -> None:
    for name, kind, number in ((b"zero.py", stat.S_IFCHR, (1, 5)), (b"disk.py", stat.S_IFBLK, (7, 250))):
        with contextlib.suppress(OSError):  # only the superuser may, and not in every container
            os.mknod(_path(folder, name), kind | 0o600, os.makedev(*number))


def _unreadable_file(folder: Path) -> None:
    _write(folder, b"locked.py")
    os.chmod(_path(folder, b"locked.py"), 0)


def _unreadable_folder(folder: Path) -> None:
    _write(folder, b"locked/code.py")
    os.chmod(_path(folder, b"locked"), 0)


_DEVICES = {b"zero.py": Why.NOT_REGULAR, b"disk.py": Why.NOT_REGULAR}
_LOCKED_FOLDER: Outcomes = {b"locked/code.py": CANDIDATE} if _ROOT_USER else {b"locked": Why.UNREADABLE}

NO_FILES = (
    Shape("pipe", lambda folder: os.mkfifo(_path(folder, b"pipe.py")), {b"pipe.py": Why.NOT_REGULAR}),
    Shape("socket", _socket, {b"socket.py": Why.NOT_REGULAR}),
    Shape("devices", _devices, dict(_DEVICES), optional=frozenset(_DEVICES)),
    Shape("unreadable-file", _unreadable_file, {}, {b"locked.py": SOURCE if _ROOT_USER else Why.UNREADABLE}),
    Shape("unreadable-folder", _unreadable_folder, _LOCKED_FOLDER),
    Shape("folder-like-a-file", lambda folder: _write(folder, b"mod.py/code.py"), {b"mod.py/code.py": CANDIDATE}),
    Shape("empty-folder", lambda folder: os.mkdir(_path(folder, b"empty"))),
)


# --- names --------------------------------------------------------------------------------------------------------


def _every_byte(folder: Path) -> None:
    for name in every_byte_names():
        _write(folder, name)


def every_byte_names() -> list[bytes]:
    """Each byte that a name can hold, in a name of its own."""
    return [b"byte-%c.py" % byte for byte in range(1, 256) if byte != 0x2F]


def _too_long(folder: Path) -> None:
    at = os.open(folder, os.O_RDONLY)
    for _ in range(20):
        os.mkdir(b"d" * 250, dir_fd=at)
        below = os.open(b"d" * 250, os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    with open(os.open(b"code.py", os.O_CREAT | os.O_WRONLY, dir_fd=at), "wb") as file:
        file.write(TEXT)
    os.close(at)


_NFC, _NFD = "caf\u00e9.py".encode(), "cafe\u0301.py".encode()


NAMES = (
    name_shape("name-newline", b"new\nline.py"),
    name_shape("name-quotes", b'it\'s "quoted" `now` $(touch canary).py'),
    name_shape("name-tab-and-return", b"tab\there\r.py"),
    name_shape("name-escape-code", b"\x1b]0;owned\x07\x1b[2J.py"),
    name_shape("name-bidi", "evil\u202eyp.exe".encode()),
    name_shape("name-zero-width", "a\u200b\ufeff.py".encode()),
    name_shape("name-255-bytes", b"n" * 252 + b".py"),
    name_shape("name-not-utf8", b"caf\xe9.py", walk=Why.NAME_NOT_UTF8),
    name_shape("name-encoded-surrogate", b"\xed\xa0\x80.py", walk=Why.NAME_NOT_UTF8),
    name_shape("name-option", b"--version"),
    name_shape("name-rm-rf", b"-rf"),
    name_shape("name-space", b" "),
    name_shape("name-trailing-space-and-dot", b"code.py ."),
    name_shape("name-windows-device", b"con"),
    name_shape("name-backslash", b"a\\b.py", note="one name here, not a folder and a file"),
    name_shape("name-backslash-up", b"..\\..\\etc\\passwd.py"),
    name_shape("name-drive", b"C:\\code.py"),
    name_shape("name-three-dots", b".../code.py"),
    name_shape("name-tilde", b"~/code.py"),
    name_shape("name-glob", b"[a-z]*?{x,y}!#.py"),
    Shape("name-folder-not-utf8", lambda folder: _write(folder, b"f\xff/code.py")),
    Shape(
        "name-every-byte",
        _every_byte,
        {name: CANDIDATE if name.isascii() else Why.NAME_NOT_UTF8 for name in every_byte_names()},
    ),
    Shape("name-unicode-twins", tree(files=(_NFC, _NFD)), note="one key, two files: a collision"),
    Shape("name-case-twins", tree(files=(b"Code.py", b"code.py", b"CODE.py")), note="a collision of three"),
    Shape("name-folder-case-twins", tree(files=(b"Src/code.py", b"src/code.py")), note="a collision"),
    Shape(
        "nested-200-deep",
        lambda folder: _write(folder, b"d/" * 200 + b"code.py"),
        {b"d/" * 200 + b"code.py": CANDIDATE},
        {b"d/" * 200 + b"code.py": SOURCE},
    ),
    Shape("path-too-long", _too_long, note="longer than any single open accepts: never a candidate"),
)


# --- bytes --------------------------------------------------------------------------------------------------------


def _sparse_shape(name: str, size: int, walk: str, reads: Outcomes) -> Shape:
    return Shape(
        name,
        lambda folder: _sparse(folder, b"sparse.py", size),
        {b"sparse.py": walk},
        reads,
        optional=frozenset({b"sparse.py"}),
    )


_LINE = b"x = 1  # a line of ordinary text of some length, as most files have\n"
_FULL = (_LINE * (MAX_FILE_BYTES // len(_LINE) + 1))[: MAX_FILE_BYTES - 1] + b"\n"

BYTES = (
    file_shape("empty", b"empty.py", b"", SOURCE),
    file_shape("only-bom", b"bom.py", b"\xef\xbb\xbf", SOURCE),
    file_shape("bom-and-text", b"bom.py", b"\xef\xbb\xbf" + TEXT, SOURCE),
    file_shape("only-newlines", b"lines.py", b"\n" * 100_000, SOURCE),
    file_shape("utf16-little", b"wide.py", b"\xff\xfe" + TEXT.decode().encode("utf-16-le"), Why.NOT_UTF8),
    file_shape("utf16-big-without-nul", b"wide.py", b"\xfe\xff" + "你好".encode("utf-16-be") * 9, Why.NOT_UTF8),
    file_shape("utf32", b"wide.py", TEXT.decode().encode("utf-32"), Why.NOT_UTF8),
    file_shape("latin1", b"old.py", b"# caf\xe9\n", Why.NOT_UTF8),
    file_shape("late-bad-byte", b"late.py", TEXT * 10_000 + b"\xff\n", Why.NOT_UTF8),
    file_shape("overlong-slash", b"long.py", b"x = '\xc0\xaf'\n", Why.NOT_UTF8),
    file_shape("surrogate-inside", b"surrogate.py", b"x = '\xed\xa0\x80'\n", Why.NOT_UTF8),
    file_shape("cut-character", b"cut.py", "x = '€'".encode()[:-2], Why.NOT_UTF8),
    file_shape("nul-first", b"nul.py", b"\0" + TEXT, Why.NOT_UTF8),
    file_shape("nul-last-sniffed", b"nul.py", b"a" * 8191 + b"\0" + TEXT, Why.NOT_UTF8),
    file_shape("nul-late", b"nul.py", (_LINE * 200)[:9000] + b"\0" + TEXT, SOURCE, note="beyond the sniffed bytes"),
    file_shape("elf-named-source", b"program.py", b"\x7fELF\x02\x01\x01" + b"\0" * 500, Why.NOT_UTF8),
    file_shape("crlf", b"dos.py", TEXT.replace(b"\n", b"\r\n"), SOURCE),
    file_shape("lone-cr", b"mac.py", TEXT.replace(b"\n", b"\r"), SOURCE),
    file_shape("no-final-newline", b"end.py", TEXT.rstrip(), SOURCE),
    file_shape("escape-codes-inside", b"bell.py", b"# \x1b[2J\x07\x08\n", SOURCE),
    file_shape("exactly-the-limit", b"full.py", _FULL, SOURCE),
    file_shape("one-over-the-limit", b"full.py", _FULL + b"\n", Why.TOO_LARGE, walk=Why.TOO_LARGE),
    file_shape("one-huge-line", b"line.py", b"x" * 1_000_000, SOURCE, note="not web code, so not minified"),
    file_shape("minified-script", b"bundle.js", b"var a=1;" * 5_000, Why.MINIFIED),
    file_shape("minified-style", b"bundle.css", b"a{b:c}" * 5_000 + b"\n", Why.MINIFIED),
    file_shape("minified-after-licence", b"lib.js", b"// licence\n" * 9 + b"f();" * 9_000, Why.MINIFIED),
    file_shape("long-line-in-script", b"app.js", b"let a = 1;\n" * 9_000 + b"x" * 6_000 + b"\n", SOURCE),
    file_shape("nested-brackets", b"deep.py", b"(" * 20_000 + b")" * 20_000, SOURCE),
    Shape(
        "one-line-json",
        lambda folder: _write(folder, b"data.json", b"[" + b"1," * 2_500_000 + b"1]"),
        reads={b"data.json": Why.MINIFIED},
    ),
    Shape(
        "nested-json",
        lambda folder: _write(folder, b"deep.json", b"[" * 30_000 + b"]" * 30_000),
        reads={b"deep.json": Why.MINIFIED},
    ),
    _sparse_shape("sparse-tebibyte", 1 << 40, Why.TOO_LARGE, {}),
    Shape(
        "sparse-within-limit",
        lambda folder: _sparse(folder, b"hole.py", 1 << 20),
        {b"hole.py": CANDIDATE},
        {b"hole.py": Why.NOT_UTF8},
        frozenset({b"hole.py"}),
    ),
)


# --- secrets, repositories, ignore files, settings ----------------------------------------------------------------


_KEYS = dict.fromkeys((b".env", b"id_rsa", b"server.pem"), b"canary\n")
_HOOK = {b"mirror/hooks/post-checkout": b"#!/bin/sh\ntouch canary\n"}
_POINTER = b"gitdir: ../../../../../../../../tmp/elsewhere\n"
_BESIDE_FILE = {b"beside.py": TEXT}


def _ignore(data: bytes, name: bytes = b"beside.py") -> Callable[[Path], None]:
    return tree(files={b".gitignore": data, name: TEXT})


def _config(data: bytes) -> Callable[[Path], None]:
    return tree(files={b".cairn.toml": data, b"beside.py": TEXT})


def _ignored_crowd(folder: Path) -> None:
    _write(folder, b".gitignore", b"/build/\n")
    for number in range(1_000):
        _write(folder, b"build/%d/made%d.py" % (number % 50, number), b"canary\n")
    _write(folder, b"beside.py")


_STARS = b"\n".join(b"*a" * 60 + b"%d" % number for number in range(300)) + b"\n**/**/**/**/**/x\n[\n[!\n\\\n!\n/\n"
_BESIDE: Outcomes = {b"beside.py": CANDIDATE}
_SUB: Outcomes = {b"sub/.git": Why.VCS_INTERNAL, b"sub/code.py": CANDIDATE}

REPOSITORY = (
    Shape(
        "secrets-by-name",
        tree(files=_KEYS | {b"environment.py": TEXT}),
        dict.fromkeys(_KEYS, Why.SENSITIVE_NAME) | {b"environment.py": CANDIDATE},
    ),
    Shape(
        "nested-repository",
        tree(repositories=(b"nested/.git",), files=(b"nested/code.py", b"beside.py")),
        {b"nested": Why.NESTED_REPOSITORY} | _BESIDE,
    ),
    Shape("submodule", tree(files={b"sub/.git": _POINTER, b"sub/code.py": TEXT}), {b"sub": Why.NESTED_REPOSITORY}),
    Shape(
        "git-file-garbage",
        tree(files={b"sub/.git": b"this is no pointer\n", b"sub/code.py": TEXT}),
        _SUB,
        note="no pointer, so no repository; never indexed either",
    ),
    Shape("git-folder-empty", tree(folders=(b"sub/.git",), files=(b"sub/code.py",)), _SUB),
    Shape(
        "git-pipe",
        tree(pipes=(b"sub/.git",), files=(b"sub/code.py",)),
        {b"sub/code.py": CANDIDATE},
        note="looking for a repository must not block",
    ),
    Shape(
        "bare-repository-like",
        tree(repositories=(b"mirror",), files=_HOOK | _BESIDE_FILE),
        dict(_BESIDE),
        note="plain files to git; nothing in it may run",
    ),
    Shape("ignore-is-folder", tree(files=(b".gitignore/code.py", b"beside.py")), dict(_BESIDE)),
    Shape("ignore-is-pipe", tree(pipes=(b".gitignore",), files=_BESIDE_FILE), dict(_BESIDE)),
    Shape(
        "ignore-is-link-out",
        tree(links={b".gitignore": b"/etc/passwd"}, files=_BESIDE_FILE),
        {b".gitignore": Why.OUTSIDE_ROOT} | _BESIDE,
    ),
    Shape("ignore-of-a-megabyte", _ignore(b"# padding\n" * (16 * MAX_IGNORE_BYTES // 10)), _BESIDE),
    Shape("ignore-hostile-patterns", _ignore(_STARS, b"a" * 120 + b".py"), {b"a" * 120 + b".py": CANDIDATE}),
    Shape("ignore-one-long-pattern", _ignore(b"*a" * 20_000 + b"b\n"), _BESIDE),
    Shape("ignore-binary", _ignore(b"\0\xff\xfe*.o\0\n\x80\n"), _BESIDE),
    Shape("ignored-crowd", _ignored_crowd, {b"build": Why.IGNORED} | _BESIDE),
    Shape(
        "config-is-link-out",
        tree(links={b".cairn.toml": b"/etc/passwd"}, files=_BESIDE_FILE),
        {b".cairn.toml": Why.OUTSIDE_ROOT} | _BESIDE,
    ),
    Shape("config-huge", _config(b"# padding\n" * 20_000), note="as a root it is refused, below one it is a file"),
    Shape("config-binary", _config(b"\0\x01\xff" * 100), note="as a root it is refused, below one it is a file"),
)

SHAPES: tuple[Shape, ...] = LINKS + NO_FILES + NAMES + BYTES + REPOSITORY
