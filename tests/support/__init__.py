"""What a test builds its situation from, instead of patching modules.

- `clock`: `ManualClock`, the one clock of all tests: the test moves its hands, and a sleep takes no time.
- `waiting`: `until` and `PATIENCE`, for what another thread or process does; `is_alive` and `end` for a process.
- `servers`: an `Agent` with its desk, daemons in a thread or a process, clients of theirs, and `cairn mcp`.
- `commands`: a `Person` with a repository who types commands.
- `budgets`: what each suite may cost, and the table at the end of a run that says what it did.

Each module is tested by the `test_*.py` beside it. An example, in which an hour passes at once:

    clock = ManualClock()
    disk = MemoryDisk()
    save(disk, {"a.py": b"x = 1\\n"}, clock=clock)
    clock.advance(3_600)
    save(disk, {"a.py": b"x = 2\\n"}, clock=clock)
"""
