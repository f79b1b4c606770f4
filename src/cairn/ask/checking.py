"""Let a compiler judge the plan of a rename before it is offered: the files as the snapshot has them, in a copy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from cairn.ask.session import Session
from cairn.core.clock import SYSTEM_CLOCK, Clock
from cairn.core.limits import MAX_FILE_BYTES
from cairn.semantic.checking import CheckPlace, CheckWork, check, is_too_much, wanted_by
from cairn.semantic.editing import Verdict
from cairn.semantic.model import family_of
from cairn.semantic.patch import replaced
from cairn.semantic.plan import PlanCheck, RenamePlan
from cairn.source.beneath import Tree

# Left out of the index for their names, and needed by a compiler.
_BESIDE = ("go.sum", "go.work.sum")


def checked(
    session: Session, plan: RenamePlan, environ: Mapping[str, str], *, asked: bool, clock: Clock = SYSTEM_CLOCK
) -> RenamePlan:
    """Return an automatic plan with what a compiler says of it; without a patch where it finds new errors.

    Unless it was `asked` for, a check that is expected to take long is left out, which the plan says. Other plans are
    returned as they are.
    """
    opened = session.opened()
    if plan.verdict is not Verdict.AUTOMATIC or not plan.edits or opened is None:
        return plan
    view = opened[0].view
    family = family_of(plan.edits[0].path)
    sizes = {path: one.size for path, one in view.records().items() if one.skip is None and wanted_by(family, path)}
    why_not = "" if asked else is_too_much(family, sizes)
    if why_not:
        return replace(plan, check=PlanCheck(why_not=why_not))
    texts = {path: bytes(view.text(path) or b"") for path in sizes}
    with Tree(session.target.codebase.root) as tree:
        beside = {name: tree.read_small(name.encode(), MAX_FILE_BYTES) for name in _BESIDE}
    texts |= {name: data for name, data in beside.items() if data is not None}
    changed = {one.path: replaced(texts[one.path], one.replacements) for one in plan.edits if one.path in texts}
    place = CheckPlace(session.root, session.home, environ, session.target.codebase.config.semantic, clock)
    found = check(family, CheckWork(texts, changed), place, plan.old, plan.new)
    return replace(plan, check=found, patch=b"" if found.errors else plan.patch)
