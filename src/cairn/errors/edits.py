"""Errors of edits of the tree, 60-69: the commands that write to files of a codebase refuse, or stop in the middle."""

from __future__ import annotations

from cairn.errors.base import CairnError


class EditError(CairnError):
    """The files below {root} could not be edited: {why}.

    Every file is as it was before. Mend that, then run the command again.
    """

    code = "edit_failed"
    exit_status = 60


class EditRefused(EditError):
    """{file} is not edited: {why}.

    Every file is as it was before. Mend that, then run the command again.
    """

    code = "edit_refused"
    exit_status = 61


class EditCut(EditError):
    """An edit below {root} was cut off, and can be neither finished nor taken back: {file} was changed since.

    Put the file back as it was, and run any command again; or leave all files as they are now: `cairn undo --forget`.
    """

    code = "edit_cut"
    exit_status = 62


class EditStopped(EditError):
    """An edit below {root} stopped in the middle: {why}.

    Mend that, and the next command of Cairn finishes the edit; `cairn undo --forget` leaves all files as they are now.
    """

    code = "edit_stopped"
    exit_status = 65


class EditBusy(EditError):
    """Another command is just editing files of a codebase.

    Run the command again in a moment.
    """

    code = "edit_busy"
    exit_status = 63
    retryable = True


class EditUnreadable(EditError):
    """What was noted of an edit in {path} is damaged.

    Compare the files with your version control; `cairn undo --forget` leaves them as they are.
    """

    code = "edit_unreadable"
    exit_status = 64
