"""What can go wrong with a lease, with a store and its disk, and with what was read from it."""

from __future__ import annotations

from cairn.errors.base import CairnError

# --- the promise that some of them make ---------------------------------------------------------------------------

_ANSWERS = ("; the last good snapshot still answers.", "The last good snapshot still answers.")
_NOTHING = (", and there is no index that answers meanwhile.", "There is no index that answers meanwhile.")


def promises_an_answer(problem: CairnError) -> bool:
    """Return whether an error says that the last good snapshot still answers."""
    return any(promise in problem.advice for promise in _ANSWERS)


def nothing_answers(problem: CairnError) -> None:
    """Let an error say that nothing answers: there is no snapshot that could."""
    for promise, truth in zip(_ANSWERS, _NOTHING, strict=True):
        problem.advice = problem.advice.replace(promise, truth)


# --- 70-79: leases and locks --------------------------------------------------------------------------------------


class LeaseError(CairnError):
    """The lease on the index could not be used: {why}.

    Nothing was published; the last good snapshot still answers. Run the command again.
    """

    code = "lease_error"
    exit_status = 70
    retryable = True


class LeaseLost(LeaseError):
    """Another writer took the lease on this index (we held epoch {ours}, it is now {theirs}).

    Nothing was published by us; the last good snapshot still answers. Run the command again.
    """

    code = "lease_lost"
    exit_status = 71


class LeaseLapsed(LeaseLost):
    """The run stood still for too long to be sure that the lease on this index is still its own (epoch {ours}).

    Nothing was published by us; the last good snapshot still answers. Run the command again.
    """

    code = "lease_lapsed"
    exit_status = 73


class LeaseStuck(LeaseError):
    """A process holds the lock of this index and does not move ({why}).

    Reading still works. Continue or end that process, then run the command again.
    """

    code = "lease_stuck"
    exit_status = 72


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

    Make it a folder of your own that only you may write in (`chmod go-w`), or name another one in CAIRN_HOME. In a
    folder of a group, `cairn index --shared` makes an index for all of it.
    """

    code = "store_not_ours"
    exit_status = 85


class PublishRefused(StoreError):
    """The new snapshot was not published: {why}.

    Nothing was changed; the last good snapshot still answers. This is a bug in Cairn; please report it.
    """

    code = "publish_refused"
    exit_status = 86


class TreeMoving(PublishRefused):
    """The files kept changing while they were indexed, {rounds} times in a row.

    Nothing was published; the last good snapshot still answers. Run the command again when the tree is quiet.
    """

    code = "tree_moving"
    exit_status = 87
    retryable = True


class FilesFailed(PublishRefused):
    """{count} of the changed files could not be indexed, {path} among them: {why}.

    Nothing was published; the last good snapshot still answers. `--allow-degraded` goes on without them.
    """

    code = "files_failed"
    exit_status = 88
    retryable = True


class TooManySegments(PublishRefused):
    """The index would have {count} {what}, and {most} are the most that are read at once.

    Run `cairn compact`, which makes few of many, then the command again; `cairn reindex` builds it anew.
    """

    code = "too_many_segments"
    exit_status = 89


# --- 90-99: integrity ---------------------------------------------------------------------------------------------


class StoreUnreadable(CairnError):
    """The {artifact} of the index cannot be used.

    Run `cairn repair`, which keeps what is whole and reads the rest again; your files are untouched.
    """

    code = "store_unreadable"
    exit_status = 99


class NoValidSnapshot(StoreUnreadable):
    """Store corrupt: no snapshot in {path} is whole ({why}).

    Run `cairn repair`, which keeps what is whole and reads the rest again; your files are untouched.
    """

    code = "no_valid_snapshot"
    exit_status = 90


class StoreCorrupt(StoreUnreadable):
    """The {artifact} of the index is damaged: {why}.

    Run `cairn repair`, which keeps what is whole and reads the rest again; your files are untouched.
    """

    code = "store_corrupt"
    exit_status = 91


class Incompatible(StoreUnreadable):
    """The {artifact} of the index has format version {version}; this version of Cairn reads {oldest} to {newest}.

    Nothing was changed. Use a version of Cairn that knows that format, or name another folder in CAIRN_HOME.
    """

    code = "incompatible"
    exit_status = 92


class IndexDrifted(StoreUnreadable):
    """The index of {path} is sound, and {count} of its files have changed since.

    Run `cairn sync` to catch up; where that finds nothing, `cairn reindex` reads every file again.
    """

    code = "index_drifted"
    exit_status = 93


class NotUpgraded(StoreUnreadable):
    """The index was not upgraded, because {place} in it is damaged: {why}.

    Nothing was changed. Run `cairn repair`, then `cairn upgrade-store` again; your files are untouched.
    """

    code = "not_upgraded"
    exit_status = 94


# --- 95-97: stores of a group -------------------------------------------------------------------------------------


class SharingDiffers(StoreError):
    """The store {path} was made for {made}, and was asked for as one for {wanted}.

    That is fixed when a store is made. Leave `--shared` and `shared` aside, or name another folder in CAIRN_HOME.
    """

    code = "sharing_differs"
    exit_status = 95


class DiskUnfit(StoreError):
    """The folder {path} cannot hold an index: {why}.

    Name a folder on another disk in CAIRN_HOME, best a local one.
    """

    code = "disk_unfit"
    exit_status = 98


class SharedUnfit(StoreError):
    """The folder {path} cannot hold a store for a group: {why}.

    Name a folder of your group on a local disk in CAIRN_HOME (`chgrp GROUP`, then `chmod 2770`).
    """

    code = "shared_unfit"
    exit_status = 96


class SharedMismatch(StoreError):
    """The group's index of {path} was made with other settings or by another version; these differ: {fields}.

    Nothing was changed. Use what the group uses, or an index of your own: name another folder in CAIRN_HOME.
    """

    code = "shared_mismatch"
    exit_status = 97
