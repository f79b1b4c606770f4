"""What a test builds its situation from, instead of patching modules.

- `clock`: `ManualClock`, the one clock of all tests: the test moves its hands, and a sleep takes no time.

Each module is tested by the `test_*.py` beside it. An example, in which an hour passes at once:

    clock = ManualClock()
    disk = MemoryDisk()
    save(disk, {"a.py": b"x = 1\\n"}, clock=clock)
    clock.advance(3_600)
    save(disk, {"a.py": b"x = 2\\n"}, clock=clock)
"""
