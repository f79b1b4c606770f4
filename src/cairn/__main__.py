"""The whole program, loaded: Ctrl-C is answered even while that goes on. `python -m cairn` is the `cairn` command."""

from __future__ import annotations

import sys

_INTERRUPTED = 130


def main() -> int:
    """Run the command line; the exit status."""
    try:
        from cairn.cli.main import main as run  # noqa: PLC0415 - loading it takes longer than some people wait

        return run()
    except KeyboardInterrupt:
        return stopped()


def stopped() -> int:
    """Say that the person has stopped the command; the exit status for that."""
    sys.stderr.write(
        "cairn: Stopped by you.\n"
        "  Nothing is lost: what had been published stays. Run the command again when you like.\n"
    )
    return _INTERRUPTED


if __name__ == "__main__":
    from cairn.thin import main as run_thin

    raise SystemExit(run_thin())
