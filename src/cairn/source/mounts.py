"""On which file systems does a tree lie? Of what others change on some of them the kernel tells nothing."""

from __future__ import annotations

from cairn.core.mounts import mounts_in, tells_nothing

_MOUNTS = "/proc/self/mountinfo"


def unheard(root: str) -> str:
    """Return the kind of a file system in this tree that others change unheard; empty when there is none."""
    try:
        with open(_MOUNTS, "rb") as file:
            listed = file.read()
    except OSError:
        return ""
    return tells_nothing(root, mounts_in(listed))


def unheard_sentence(root: str) -> str:
    """Return what to tell people of such a tree; empty when there is nothing to tell."""
    kind = unheard(root)
    if not kind:
        return ""
    return (
        f"The files, or some of them, are on a foreign file system ({kind}), where changes by others are not heard:"
        " they are compared again and again, and before each answer."
    )
