"""What the kernel says of mounts: which file system holds a folder, and whether this machine alone can change it."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

# Names that the kernel gives; `fuse.sshfs` and the like begin with `fuse`. Cluster file systems and the folders that a
# host lends to its virtual machine are shared between kernels as well.
FOREIGN = frozenset({
    "9p", "acfs", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "drvfs", "fuse", "fuseblk", "gfs", "gfs2",
    "glusterfs", "gpfs", "lustre", "mfs", "ncpfs", "nfs", "nfs4", "ocfs2", "orangefs", "prl_fs", "pvfs2", "smb2",
    "smb3", "smbfs", "vboxsf", "virtiofs", "vmhgfs",
})  # fmt: skip
# A disk of this machine behind a driver that is a program: nobody else can change what is on it.
_OWN_DISK = "fuseblk"
_ESCAPED = re.compile(rb"\\([0-7]{3})")


def lines_around(root: str, mountinfo: bytes) -> list[bytes]:
    """Return the lines of `/proc/self/mountinfo` about mounts at, above or below this folder."""
    here = os.fsencode(root).rstrip(b"/") + b"/"
    found = []
    for line in mountinfo.splitlines():
        places = [one.place.rstrip(b"/") + b"/" for one in mounts_in(line)]
        if any(place.startswith(here) or here.startswith(place) for place in places):
            found.append(line)
    return found


class Mount(NamedTuple):
    """One mount: the folder at which it begins, and the kernel's name for its file system."""

    place: bytes
    kind: str


def mounts_in(mountinfo: bytes) -> list[Mount]:
    """Return the mounts in the text of `/proc/self/mountinfo`, in its order: a later one hides an earlier one."""
    found = []
    for line in mountinfo.splitlines():
        # `ID PARENT DEVICE ROOT PLACE OPTIONS... - KIND SOURCE OPTIONS`; blanks in names are escaped.
        fields, _, after = line.partition(b" - ")
        parts, kind = fields.split(b" "), after.split(b" ", 1)[0]
        if len(parts) > 4 and kind:
            place = _ESCAPED.sub(lambda code: bytes([int(code[1], 8) & 0xFF]), parts[4])
            found.append(Mount(place, kind.decode("ascii", "replace")))
    return found


def is_foreign(kind: str) -> bool:
    """Whether a file system of this kind may be changed by others than this kernel."""
    return kind.partition(".")[0] in FOREIGN


def tells_nothing(root: str, mounts: list[Mount]) -> str:
    """Return the kind of a file system at or below this folder on which others make changes unheard; empty if none is.

    The kernel tells only of changes that are made through it.
    """
    here = os.fsencode(root)
    below = here.rstrip(b"/") + b"/"
    holds = [one for one in mounts if here == one.place or here.startswith(one.place.rstrip(b"/") + b"/")]
    # Of those that hold the folder the deepest counts, of several at one place the last.
    top = [max(reversed(holds), key=lambda one: len(one.place))] if holds else []
    for one in (*top, *(one for one in mounts if one.place.startswith(below))):
        if is_foreign(one.kind) and one.kind.partition(".")[0] != _OWN_DISK:
            return one.kind
    return ""
