"""Declare the options of a question to argparse, and the values that a shell can complete."""

from __future__ import annotations

import argparse
from typing import Any

from cairn.ask.questions import QUESTIONS
from cairn.core.options import Choice, Face, Flag, Number, OptionOnFace, TextList


def configure_question(parser: argparse.ArgumentParser) -> None:
    """Add the options of the question that the command of this parser asks."""
    for one in QUESTIONS[parser.get_default("command")].on(Face.CLI):
        spelled = [one.shown.short, one.name] if one.shown.short else [one.name]
        parser.add_argument(*spelled, help=_help(one).replace("%", "%%"), **_how(one))


def known_values(command: str) -> dict[str, list[str]]:
    """Return the known values of each option of a command that also takes other values, such as a language."""
    options = QUESTIONS[command].on(Face.CLI) if command in QUESTIONS else ()
    return {one.name: list(one.type.known) for one in options if isinstance(one.type, TextList) and one.type.known}


def _how(one: OptionOnFace) -> dict[str, Any]:
    """Return the arguments of argparse for an option."""
    how: dict[str, Any] = {}
    if one.shown.metavar is not None:
        how["metavar"] = one.shown.metavar
    if one.shown.positional:
        return how if one.shown.nargs is None else {**how, "nargs": one.shown.nargs}
    how["dest"] = one.option.name
    if one.shown.nargs is not None:
        return {**how, "nargs": one.shown.nargs, "const": one.shown.const, "default": one.default}
    match one.type:
        case Flag():
            return {**how, "action": "store_true"}
        case Number():
            how["type"] = int
        case Choice():
            how["choices"] = one.type.listed()
    if isinstance(one.type, TextList) or (isinstance(one.type, Choice) and one.type.many):
        return {**how, "action": "append", "default": []}
    return {**how, "default": one.default}


def _help(one: OptionOnFace) -> str:
    """Return the help of an option with its default and its bounds."""
    said = []
    if isinstance(one.type, Number):
        if one.default is not None:
            said.append(f"default {one.default:,}")
        if one.type.most is not None:
            most = f"{one.type.most:,}"
            said.append(f"from {one.type.least:,} to {most}" if one.type.least > 1 else f"most {most}")
    elif isinstance(one.type, Choice) and one.default:
        said.append(f"default: {one.default}")
    return f"{one.help} ({', '.join(said)})" if said else one.help
