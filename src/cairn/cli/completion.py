"""Print a shell script (`cairn completion`) that completes commands, options, the values of options, and paths."""

from __future__ import annotations

import argparse

from cairn.cli.options import known_values
from cairn.cli.output import Output
from cairn.cli.verbs import COMMANDS
from cairn.errors import UsageError

_BASH = """\
_cairn() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" values=""
  if [ "$COMP_CWORD" -eq 1 ]; then COMPREPLY=($(compgen -W "{commands}" -- "$word")); return; fi
  case "${{COMP_WORDS[1]}}" in
{cases}
  esac
  case "${{COMP_WORDS[1]}} ${{COMP_WORDS[COMP_CWORD-1]}}" in
{values}
  esac
  if [ -n "$values" ]; then COMPREPLY=($(compgen -W "$values" -- "$word")); return; fi
  if [[ "$word" == -* ]]; then COMPREPLY=($(compgen -W "$options" -- "$word"))
  else COMPREPLY=($(compgen -f -- "$word")); fi
}}
complete -o filenames -F _cairn cairn
"""


def configure_completion(parser: argparse.ArgumentParser) -> None:
    """Add the options of `cairn completion`."""
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell to complete for")


def run_completion(options: argparse.Namespace, output: Output) -> int:
    """Print the script; nothing is installed."""
    if options.json:
        raise UsageError(problem="A completion script is for a shell and has no JSON form.")
    output.stdout.write(_fish() if options.shell == "fish" else _bash(zsh=options.shell == "zsh"))
    return 0


def _options() -> dict[str, dict[str, list[str]]]:
    """Return the options of every command, each with the values that it is known to take, if there are any."""
    from cairn.cli.main import command_parser  # noqa: PLC0415 - it loads the verbs, not the reverse

    found = {}
    for name in COMMANDS:
        actions = command_parser(name)._option_string_actions
        known = known_values(name)
        found[name] = {word: known.get(word) or list(map(str, actions[word].choices or ())) for word in sorted(actions)}
    return found


def _bash(*, zsh: bool) -> str:
    options = _options()
    cases = "\n".join(f'    {name}) local options="{" ".join(words)}" ;;' for name, words in options.items())
    values = "\n".join(
        f'    "{name} {word}") values="{" ".join(known)}" ;;'
        for name, words in options.items()
        for word, known in words.items()
        if known
    )
    script = _BASH.format(commands=" ".join(options), cases=cases, values=values)
    return "autoload -U +X bashcompinit && bashcompinit\n" + script if zsh else script


def _fish() -> str:
    lines = []
    for name, words in _options().items():
        lines.append(f"complete -c cairn -n __fish_use_subcommand -a {name}")
        for word, known in words.items():
            flag = f"-l {word[2:]}" if word.startswith("--") else f"-s {word[1:]}"
            values = f" -x -a '{' '.join(known)}'" if known else ""
            lines.append(f"complete -c cairn -n '__fish_seen_subcommand_from {name}' {flag}{values}")
    return "\n".join(lines) + "\n"
