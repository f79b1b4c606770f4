"""On which file systems does a tree lie? Of what others change on some of them, and of a new one, no event tells."""

from __future__ import annotations

from cairn.core.mounts import lines_around, mounts_in, tells_nothing

_MOUNTS = "/proc/self/mountinfo"


def unheard(root: str) -> str:
    """Return the kind of a file system in this tree that others change unheard; empty when there is none."""
    return tells_nothing(root, mounts_in(_listed()))


class Mounts:
    """What is mounted in a tree, or holds it, since this was made: whoever listens to folders there hears of no other.

    A folder over which something is mounted is another one, and nothing is told of that.
    """

    def __init__(self, root: str) -> None:
        self._root, self._listed = root, _listed()
        self._around = lines_around(root, self._listed)

    @property
    def have_changed(self) -> bool:
        """Whether it has changed since."""
        listed = _listed()
        if listed == self._listed:
            return False
        if lines_around(self._root, listed) != self._around:
            return True
        self._listed = listed
        return False


def _listed() -> bytes:
    try:
        with open(_MOUNTS, "rb", buffering=0) as file:
            return file.read()
    except OSError:
        return b""


def unheard_sentence(root: str) -> str:
    """Return what to tell people of such a tree; empty when there is nothing to tell."""
    kind = unheard(root)
    if not kind:
        return ""
    return (
        f"The files, or some of them, are on a foreign file system ({kind}), where changes by others are not heard:"
        " they are compared again and again, and before each answer."
    )
