"""Ask what may be edited and print the answer: an envelope for programs, a few lines for people.

The index is brought up to date first: a file that was saved a moment ago must close the edit gate.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial

from cairn.answer.envelope import Envelope
from cairn.answer.semantic import DECIDE, DECIDE_NAME, MESSAGES, NEW_ERRORS, decision_answer, gate_answer, rename_answer
from cairn.answer.structure import Timings
from cairn.ask.edits import Renaming, check_edit, decide, rename
from cairn.ask.session import Session
from cairn.ask.structure import Asked, asked_of
from cairn.ask.values import Reply, Told
from cairn.cli.output import Output, counted
from cairn.cli.search import first_use, safe, source_notes
from cairn.cli.structure import without_answer
from cairn.core.clock import SYSTEM_CLOCK
from cairn.core.limits import MAX_ENVELOPE_BYTES
from cairn.core.text import plain
from cairn.edit.journal import TreeEdit
from cairn.semantic.ambiguity import SENTENCES, Ambiguity
from cairn.semantic.editing import ACCEPT, Decision, GateFile, MutationGate, Verdict
from cairn.semantic.plan import RenamePlan

# --- `cairn semantic decide SIGNATURE CHOICE…`: keep a decision about an ambiguity.


def configure_decide(parser: argparse.ArgumentParser) -> None:
    """Add the options of `cairn semantic decide`."""
    add = parser.add_argument
    add("signature", metavar="SIGNATURE", help="the ambiguity, as the gate names it; its first 8 characters will do")
    add("choices", metavar="CHOICE", nargs="+", help="FILE:LINE of what is meant, or `accept`: nothing else is meant")
    about = parser.add_mutually_exclusive_group(required=True)
    about.add_argument("--file", metavar="FILE", help="the file in which it is ambiguous")
    about.add_argument("--rename", metavar=("SYMBOL", "NEW"), nargs=2, help="the rename that it stands against")
    add("--note", metavar="TEXT", default="", help="why, kept with the decision")


def run_decide(options: argparse.Namespace, output: Output) -> int:
    """Keep the decision; it holds for this commit and these bytes, and for nothing else."""
    return decided(options, output)


# --- `cairn semantic state FILE…`: how fresh and how certain files are, as far as the indexers know.


def configure_state(parser: argparse.ArgumentParser) -> None:
    """Add the options of `state` and `gate`."""
    parser.add_argument("files", metavar="FILE", nargs="+", help="files of the codebase")


configure_gate = configure_state


def run_state(options: argparse.Namespace, output: Output) -> int:
    """Show the states; the exit status is 0 whatever they are."""
    return check(options, output, judged=False)


# --- `cairn semantic gate FILE…`: whether files may be edited together by what the indexers know.


def run_gate(options: argparse.Namespace, output: Output) -> int:
    """Show the states; the exit status says what may be done: 0, 18 (needs a decision) or 19 (blocked)."""
    return check(options, output, judged=True)


# --- `cairn semantic plan-rename SYMBOL NEW`: a rename as a patch, when nothing stands against it.


def configure_rename(parser: argparse.ArgumentParser) -> None:
    """Add the options of `cairn semantic plan-rename`."""
    add = parser.add_argument
    add("symbol", metavar="SYMBOL", help="a definition: its name, `Class.method`, `mod::name` or FILE:LINE")
    add("new", metavar="NEW", help="its new name")
    add("--file", metavar="FILE", help="the file that defines it, where several do")


def run_rename(options: argparse.Namespace, output: Output) -> int:
    """Print the patch, or what stands against it; no file is changed."""
    return planned(options, output)


EXIT = {Verdict.AUTOMATIC: 0, Verdict.NEEDS_DECISION: 18, Verdict.BLOCKED: 19}
_COLOURS = {Verdict.AUTOMATIC: "green", Verdict.NEEDS_DECISION: "yellow", Verdict.BLOCKED: "red"}
_MOST_NAME = 200
_MOST_QUESTIONS = 20
_MOST_CANDIDATES = 10
_SIGNATURE = 12


def check(options: argparse.Namespace, output: Output, *, judged: bool) -> int:
    """Run `state` and `gate`."""
    base = output.around.base(options.root)
    files = [Asked(name, name, base) for name in options.files]
    return _answered(
        options,
        output,
        lambda session: check_edit(session, files),
        partial(gate_answer, judged=judged, budget=MAX_ENVELOPE_BYTES),
        lambda told: _show_gate(told, output, judged=judged),
        lambda told: EXIT[told.verdict] if judged else 0,
    )


def planned(options: argparse.Namespace, output: Output) -> int:
    """Run `plan-rename`."""
    renaming = renaming_of(options.symbol, options.new, options.file, output.around.base(options.root))
    return _answered(
        options,
        output,
        lambda session: rename(session, renaming),
        partial(rename_answer, budget=MAX_ENVELOPE_BYTES),
        lambda told: show_plan(told, output),
        lambda told: EXIT[told.verdict],
    )


def decided(options: argparse.Namespace, output: Output) -> int:
    """Run `decide`."""
    base = output.around.base(options.root)
    about: Renaming | list[Asked]
    if options.rename is not None:
        symbol, new = options.rename
        about = renaming_of(symbol, new, None, base)
    else:
        about = [Asked(options.file, options.file, base)]
    return _answered(
        options,
        output,
        lambda session: decide(session, options.signature, options.choices, about, note=options.note),
        decision_answer,
        lambda told: _show_decision(told, output),
        lambda _: 0,
    )


def renaming_of(symbol: str, new: str, file: str | None, base: str) -> Renaming:
    """Return the rename that was typed in this folder."""
    return Renaming(asked_of(symbol, base), new, None if file is None else Asked(file, file, base))


def _answered(
    options: argparse.Namespace,
    output: Output,
    ask: Callable[[Session], Reply[Told]],
    envelope: Callable[..., Envelope],
    show: Callable[[Told], None],
    exit_status: Callable[[Told], int],
) -> int:
    """Bring the index up to date, ask and print; without an answer, print why and return its exit status."""
    # A decision is written, and the patch is meant for the person's own tree: neither is done by the daemon.
    output.around.only_where_typed()
    began = SYSTEM_CLOCK.monotonic()
    targets = [output.around.target(options.root)]
    with output.around.sessions(targets, first_use(output), output) as [session]:
        ready = SYSTEM_CLOCK.monotonic()
        reply = ask(session)
    ended = SYSTEM_CLOCK.monotonic()
    if options.json:
        timings: Timings = [("open", ready - began), ("ask", ended - ready), ("total", ended - began)]
        output.line(envelope(reply, timings=timings).to_json())
    if reply.value is None:
        return without_answer(reply, output)
    if not options.json:
        show(reply.value)
        if reply.source is not None:
            source_notes(reply.source, output)
    return exit_status(reply.value)


# --- how it looks -----------------------------------------------------------------------------------------------------


def _show_gate(told: MutationGate, output: Output, *, judged: bool) -> None:
    for one in told.files:
        _show_file(one, output, judged=judged)
    if judged and told.verdict is not Verdict.AUTOMATIC:
        output.note(MESSAGES[told.verdict])
        if told.verdict is Verdict.NEEDS_DECISION:
            output.note(DECIDE)


def _show_file(one: GateFile, output: Output, *, judged: bool) -> None:
    said = f"{one.state.freshness.value}, {one.state.certainty.value}"
    verdict = f"  {output.styled(one.verdict.value, _COLOURS[one.verdict])}" if judged else ""
    output.line(f"{output.styled(plain(one.path), 'cyan')}  {said}{verdict}")
    shown = {f"{plain(each.name, _MOST_NAME)} on line {each.line}: {SENTENCES[each.source]}" for each in one.questions}
    for reason in one.state.reasons[:_MOST_QUESTIONS]:
        if not judged or plain(reason) not in shown:
            output.line(f"    {plain(reason)}")
    if judged:
        for question in one.open[:_MOST_QUESTIONS]:
            _show_question(question, output)
        if one.decided:
            output.line(f"    {counted(len(one.decided), 'decision')} made before hold.")
        if one.witness is not None:
            output.line(f"    {plain(one.witness.cure)}")
            if one.reach.value == "local":
                output.line("    Inside of one definition it may be edited by its syntax alone (`cairn refs --local`).")


def _show_question(one: Ambiguity, output: Output) -> None:
    name = f"{plain(one.path)}:{one.line} {plain(one.name, _MOST_NAME)}"
    output.line(f"    {output.styled(one.signature[:_SIGNATURE], 'bold')}  {name}: {SENTENCES[one.source]}")
    choices = [*(candidate.id for candidate in one.candidates[:_MOST_CANDIDATES]), ACCEPT]
    output.line(f"        Choose: {', '.join(plain(choice) for choice in choices)}")


def show_plan(
    told: RenamePlan,
    output: Output,
    *,
    patch: Callable[[bytes, Output], None] | None = None,
    edit: TreeEdit | None = None,
) -> None:
    """Print the patch, or what was done with it, or what stands against it."""
    if told.verdict is not Verdict.AUTOMATIC:
        _show_against(told, output)
        return
    places = sum(one.places for one in told.edits)
    said = f"{counted(places, 'place')} in {counted(len(told.edits), 'file')}"
    if told.check is not None:
        by = f"Checked by {', '.join(told.check.by)}: no new error."
        output.note(by if told.check.by else f"Not checked by a compiler: {plain(told.check.why_not)}.")
    if edit is None:
        (patch or _print_patch)(told.patch, output)
        output.note(f"{said}; nothing was changed.")
    else:
        output.line(f"Renamed {plain(told.old, _MOST_NAME)} to {plain(told.new, _MOST_NAME)}: {said}.")
        output.note("`cairn undo` takes it back.")
    if told.left > 0:
        output.note(f"{counted(told.left, 'place')} with this name in these files stay: comments and texts.")
    if told.mentions:
        output.note(f"{counted(len(told.mentions), 'more file')} with this name hold other things, and stay.")


def _show_against(told: RenamePlan, output: Output) -> None:
    for one in told.gate.files:
        if one.verdict is not Verdict.AUTOMATIC:
            _show_file(one, output, judged=True)
    for question in told.open[:_MOST_QUESTIONS]:
        _show_question(question, output)
    if len(told.open) > _MOST_QUESTIONS:
        output.note(f"{counted(len(told.open) - _MOST_QUESTIONS, 'more question')} about this name.")
    for name in told.outside[:_MOST_QUESTIONS]:
        output.line(f"It implements {plain(name, _MOST_NAME)}, which lies outside and keeps its name.")
    if told.check is not None and told.check.errors:
        for error in told.check.errors[:_MOST_QUESTIONS]:
            output.line(f"{plain(error.path)}:{error.line}  {plain(error.message)}")
        output.note(NEW_ERRORS.format(by=", ".join(told.check.by)))
        return
    output.note(MESSAGES[told.verdict])
    if told.verdict is Verdict.NEEDS_DECISION:
        output.note(DECIDE_NAME)


def _print_patch(patch: bytes, output: Output) -> None:
    """Print the patch: byte for byte for a program such as `git apply`, with nothing that could steer a terminal."""
    buffer = getattr(output.stdout, "buffer", None)
    if output.stdout.isatty() or buffer is None:
        for line in patch.decode("utf-8", "replace").splitlines():
            output.line(safe(line))
        return
    output.data(patch)


def _show_decision(told: Decision, output: Output) -> None:
    choices = ", ".join(plain(choice) for choice in told.selected)
    output.line(f"{told.signature[:_SIGNATURE]}: {choices}. It holds for this commit and these files as they are.")
