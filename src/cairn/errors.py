"""Every error: a sentence, a stable code, and an exit status.

The docstring is the message. Its first paragraph says what happened, with the error's own fields filled in; the second
says what to do next. Codes are stable (they appear in JSON, logs and the manual); exit bands are published: 2 usage,
20-29 source tree, 30-39 configuration, 70-79 lease, 80-89 publish refused, 90-99 integrity, 130 interrupted.
"""

from __future__ import annotations

import errno
from typing import ClassVar

# Trouble of this process or machine, not of a file: to go on without the file would lose it in silence.
OUR_TROUBLE = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})


class CairnError(Exception):
    """Something went wrong inside Cairn.

    This is a bug in Cairn, not in your repository; please report it with the command you ran.
    """

    code: ClassVar[str] = "internal"
    exit_status: ClassVar[int] = 1
    retryable: ClassVar[bool] = False

    def __init__(self, **fields: object) -> None:
        self.fields = fields
        sentence, advice = _paragraphs(type(self))
        self.sentence = sentence.format(**fields)
        self.advice = advice.format(**fields)
        super().__init__(self.sentence)


def _paragraphs(error: type[CairnError]) -> tuple[str, str]:
    # Folding all white space undoes the indentation too; `inspect.cleandoc` would cost more to import than we do.
    sentence, _, advice = (error.__doc__ or "").partition("\n\n")
    return " ".join(sentence.split()), " ".join(advice.split())


class UsageError(CairnError):
    """{problem}

    Run `cairn --help` for the commands and their options.
    """

    code = "usage"
    exit_status = 2


class Interrupted(CairnError):
    """Stopped by you.

    Nothing was changed; run the command again when you like.
    """

    code = "interrupted"
    exit_status = 130


# --- 20-29: the source tree ---------------------------------------------------------------------------------------


class SourceError(CairnError):
    """The folder {path} could not be read.

    Check that it exists and that you may read it.
    """

    code = "source_unreadable"
    exit_status = 20


class RootNotFound(SourceError):
    """There is no folder at {path}.

    Check the spelling, or pass another folder with `--root`.
    """

    code = "root_not_found"
    exit_status = 21


class RootNotAFolder(SourceError):
    """{path} is a file, not a folder.

    Pass the folder that holds it with `--root`.
    """

    code = "root_not_a_folder"
    exit_status = 22


class RootUnreadable(SourceError):
    """You may not read the folder {path} ({why}).

    Change its permissions, or pass another folder with `--root`.
    """

    code = "root_unreadable"
    exit_status = 23


class PathOutsideRoot(SourceError):
    """{path} is outside the root {root}.

    Pass a path inside that folder, or another root with `--root`.
    """

    code = "path_outside_root"
    exit_status = 24


class BadPathKey(SourceError):
    """{path} is not a path inside a repository: {why}.

    Use a relative path with `/` between its parts and no `..` in it.
    """

    code = "bad_path_key"
    exit_status = 25


class GitFailed(SourceError):
    """git could not answer `{what}` in {path}: {why}.

    The folder is scanned without git's help; run `git fsck` there if this goes on.
    """

    code = "git_failed"
    exit_status = 26
    retryable = True


class WatchFailed(SourceError):
    """The folder {path} cannot be watched: {why}.

    Changes are still found by scanning; on Linux, raising `fs.inotify.max_user_watches` often helps.
    """

    code = "watch_failed"
    exit_status = 27


class PathNotFound(SourceError):
    """There is nothing at {path} under {root}.

    Check the spelling; `cairn files` lists what is there.
    """

    code = "path_not_found"
    exit_status = 28


class OutOfResources(SourceError):
    """The system gave out while the folder was read: {why}.

    Close some programs, or raise the limit (`ulimit -n` for open files), then run the command again.
    """

    code = "out_of_resources"
    exit_status = 29
    retryable = True


# --- 30-39: configuration -----------------------------------------------------------------------------------------


class ConfigError(CairnError):
    """The configuration {file} cannot be used: {why}.

    Correct that file; nothing was changed.
    """

    code = "config_invalid"
    exit_status = 30


class ConfigUnreadable(ConfigError):
    """The configuration {file} cannot be read: {why}.

    Make it a plain, readable UTF-8 file of at most 64 KiB, or remove it.
    """

    code = "config_unreadable"
    exit_status = 31


# --- 80-89: the store and its disk --------------------------------------------------------------------------------


class StoreError(CairnError):
    """The store {path} cannot be used: {why}.

    Nothing was changed; run `cairn health` to see what is wrong with it.
    """

    code = "store_unusable"
    exit_status = 80


class StoreFull(StoreError):
    """There is no room left on the disk that holds {path} ({why}).

    The last good snapshot still answers. Free some space, then run the command again.
    """

    code = "store_full"
    exit_status = 81
    retryable = True


class StoreIo(StoreError):
    """The disk failed under {path}: {why}.

    The last good snapshot still answers. Look into the system's log for trouble with that disk.
    """

    code = "store_io"
    exit_status = 82


class StoreUnwritable(StoreError):
    """You may not use {path} as a store ({why}).

    Change its permissions, or name another folder in CAIRN_HOME.
    """

    code = "store_unwritable"
    exit_status = 83


class StoreOutOfResources(StoreError):
    """The system gave out while the store {path} was in use: {why}.

    Close some programs, or raise the limit (`ulimit -n` for open files), then run the command again.
    """

    code = "store_out_of_resources"
    exit_status = 84
    retryable = True


class StoreNotOurs(StoreError):
    """The folder {path} is no safe place for a store: {why}.

    Make it a folder of your own that only you may write in (`chmod go-w`), or name another one in CAIRN_HOME.
    """

    code = "store_not_ours"
    exit_status = 85


# --- 90-99: integrity ---------------------------------------------------------------------------------------------


class StoreUnreadable(CairnError):
    """The {artifact} of the index cannot be used.

    Run `cairn reindex` to build the index again; your files are untouched.
    """

    code = "store_unreadable"
    exit_status = 90


class StoreCorrupt(StoreUnreadable):
    """The {artifact} of the index is damaged: {why}.

    Run `cairn reindex` to build the index again; your files are untouched.
    """

    code = "store_corrupt"
    exit_status = 91


class Incompatible(StoreUnreadable):
    """The {artifact} of the index has format version {version}; this version of Cairn reads {oldest} to {newest}.

    Use a version of Cairn that knows that format, or run `cairn reindex` to build the index again.
    """

    code = "incompatible"
    exit_status = 92


class GrammarMismatch(ConfigError):
    """The installed grammar for {language} is not {wanted}, which this version of Cairn is made for.

    Install Cairn again with its pinned requirements, so that what is indexed here means the same everywhere.
    """

    code = "grammar_mismatch"
    exit_status = 32


class AssertionsDisabled(CairnError):
    """Python runs with assertions switched off (`-O` or PYTHONOPTIMIZE).

    Cairn checks itself with assertions; start it without that option.
    """

    code = "assertions_disabled"
    exit_status = 1
