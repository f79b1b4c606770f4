"""Where a command is typed, and who opens codebases for it: this process, or a server in its stead."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

from cairn.errors import CairnError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cairn.ask.prepare import Policy
    from cairn.ask.session import Session, Target
    from cairn.cli.output import Output


class NotHere(Exception):
    """Only the process that the command was typed in can do this, or say it in the right words."""


class Surroundings:
    """Around this process: the folder it stands in, its environment, and codebases that are opened for one command."""

    # The width of the terminal, where only somebody else can see it.
    columns: int | None = None

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        self.environ = environ

    @property
    def cwd(self) -> str:
        """The folder where the person stands."""
        return os.getcwd()

    def path(self, typed: str) -> str:
        """A path that was typed, as this process can open it."""
        return typed

    def base(self, root: str) -> str:
        """The folder that names of files are meant from: where the person stands, or `--root`."""
        return self.cwd if root == "." else os.path.normpath(os.path.join(self.cwd, root))

    def only_where_typed(self) -> None:
        """Passes here; `NotHere` for a server: what comes now needs the person, or names paths as they typed them."""

    def target(self, folder: str) -> Target:
        """The codebase that holds a folder, all of it."""
        from cairn.ask.session import whole  # noqa: PLC0415 - numpy takes a tenth of a second

        return whole(folder, self.environ)

    def targets(self, paths: Sequence[str]) -> list[Target]:
        """The codebases that hold these files and folders."""
        from cairn.ask.session import find_targets  # noqa: PLC0415

        return find_targets(paths, self.environ)

    @contextmanager
    def sessions(
        self, targets: Sequence[Target], policy: Policy | None, output: Output, *, read_only: bool = False
    ) -> Iterator[list[Session]]:
        """The codebases opened, and prepared unless there is no policy; each step with a bar when it is long."""
        from cairn.ask.session import Session  # noqa: PLC0415

        with ExitStack() as stack:
            opened = [stack.enter_context(Session(one, self.environ, read_only=read_only)) for one in targets]
            if policy is not None:
                prepare_all(opened, policy, output)
            yield opened


def prepare_all(sessions: Sequence[Session], policy: Policy, output: Output) -> None:
    """Do the step before the read for every codebase, with a bar when it takes long."""
    from dataclasses import replace  # noqa: PLC0415

    from cairn.ask.prepare import prepare  # noqa: PLC0415 - numpy takes a tenth of a second

    for session in sessions:
        progress = output.progress()
        try:
            prepare(session, replace(policy, tell=progress.tell))
        except CairnError as problem:
            if len(sessions) == 1:
                raise
            # The others may answer; this one says why it does not when it is asked.
            session.trouble = problem
        finally:
            progress.done()
