"""What can go wrong with the source tree and with configuration (20-39)."""

from __future__ import annotations

from cairn.errors.base import CairnError

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

    Correct {file}; nothing was changed.
    """

    code = "config_invalid"
    exit_status = 30


class ConfigUnreadable(ConfigError):
    """The configuration {file} cannot be read: {why}.

    Make it a plain, readable UTF-8 file of at most 64 KiB, or remove it.
    """

    code = "config_unreadable"
    exit_status = 31


class NameCollision(ConfigError):
    """Files whose names differ only in case or composition: {paths}.

    Rename one of them, or take `collisions = "refuse"` out of your own config.toml to index them all.
    """

    code = "name_collision"
    exit_status = 33


class SettingsRefused(ConfigError):
    """{path} was left as it is: {why}.

    Set that right and run the command again, or write the entry by hand: `cairn install other` prints it.
    """

    code = "settings_refused"
    exit_status = 34


class SecretsNotSent(ConfigError):
    """The store was not sent to the search server, because {count} what looks like a secret: {places}.

    Take the secrets out, or keep those files out of the index by `exclude` in .cairn.toml; then run `cairn reindex` and
    `cairn engine push`. With `allow_secrets = true` under `[engine]` in your own config.toml they are sent.
    """

    code = "secrets_not_sent"
    exit_status = 35


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
