"""`python -m cairn` is the `cairn` command."""

from __future__ import annotations

from cairn.thin import main

if __name__ == "__main__":
    raise SystemExit(main())
