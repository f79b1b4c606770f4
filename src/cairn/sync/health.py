"""What is wrong with an index, and with the names in its tree. Everything is read; nothing is repaired."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from cairn.source.beneath import Tree
from cairn.source.root import printable
from cairn.source.walk import walk
from cairn.store import verify
from cairn.store.fs import Fs
from cairn.store.generations import published, read_claims
from cairn.store.standing import HealthFinding, Severity
from cairn.sync.codebase import Codebase
from cairn.sync.place import place_of
from cairn.sync.status import open_store
from cairn.types import SKIP_SENTENCES, SkipReason

Progress = Callable[[str, int, int], None]

_REBUILD = "Run `cairn reindex` to build the index again; your files are untouched."
_CLOSE = "Take the rights of others away with `chmod go-rwx`."
_TIDY = "It does no harm; the next run clears it away."


def check_health(codebase: Codebase, home: str, progress: Progress) -> list[HealthFinding]:
    """Every finding about the tree's names and about the store, if there is one."""
    findings = list(_names(codebase, progress))
    progress("checking the index", 0, 0)
    with open_store(place_of(codebase, home)) as disk:
        if disk is None:
            findings.append(
                HealthFinding("not_indexed", Severity.NOTE, "There is no index yet.", "Run `cairn index` to make it.")
            )
        else:
            findings += map(_of_store, verify.check(disk))
            findings += _failed_files(disk)
    return findings


def _names(codebase: Codebase, progress: Progress) -> Iterator[HealthFinding]:
    """Names that would be one file elsewhere, and links that lead nowhere."""
    with Tree(codebase.root) as tree:
        walked = walk(
            tree, codebase.config, tracked=codebase.tracked, progress=lambda names: progress("walking", names, 0)
        )
    keeps = codebase.config.index.collisions == "keep"
    for group in walked.collisions:
        others = ", ".join(printable(raw) for raw in group[1:])
        yield HealthFinding(
            "name_collision",
            Severity.WARNING,
            f"Its name differs only in case or composition from {others}: on some systems they are one file.",
            "" if keeps else 'Rename one of them, or set `collisions = "keep"` in your own config.toml.',
            printable(group[0]),
        )
    for skip in walked.skips:
        if skip.reason is SkipReason.SYMLINK_LOOP:
            yield HealthFinding(
                "symlink_loop",
                Severity.NOTE,
                SKIP_SENTENCES[skip.reason],
                "It is left out; remove it or let it lead elsewhere.",
                printable(skip.raw),
            )


def _of_store(found: verify.Finding) -> HealthFinding:
    if found.severity is not verify.Severity.ERROR:
        return HealthFinding(found.code, Severity.NOTE, found.message, _TIDY, found.place)
    advice = _CLOSE if found.code == "mode_wrong" else _REBUILD
    return HealthFinding(found.code, Severity.ERROR, found.message, advice, found.place)


def _failed_files(fs: Fs) -> Iterator[HealthFinding]:
    """What a degraded snapshot was published without."""
    for manifest in published(fs, read_claims(fs), []):
        for error in manifest.errors:
            advice = "Run `cairn sync` when it can be read."
            yield HealthFinding(error.code, Severity.WARNING, error.message, advice, printable(error.path_key.encode()))
        return
