"""`python -m cairn` is the `cairn` command."""

from cairn.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
