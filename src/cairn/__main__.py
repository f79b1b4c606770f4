"""`python -m cairn` and the `cairn` command: Ctrl-C is answered even while the program is still being loaded."""

from __future__ import annotations

import sys

_INTERRUPTED = 130


def main() -> int:
    """Run the command line; the exit status."""
    try:
        from cairn.cli.main import main as run  # noqa: PLC0415 - loading it takes longer than some people wait

        return run()
    except KeyboardInterrupt:
        sys.stderr.write(
            "cairn: Stopped by you.\n"
            "  Nothing is lost: what had been published stays. Run the command again when you like.\n"
        )
        return _INTERRUPTED


if __name__ == "__main__":
    raise SystemExit(main())
