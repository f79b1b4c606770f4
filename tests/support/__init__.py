"""What a test builds its situation from, instead of patching modules.

- `clock`: `ManualClock`, the one clock of all tests: the test moves its hands, and a sleep takes no time.
- `trees`: `write_tree` writes files, links, modes and times as a dictionary says; `read_tree` reads them back.
- `repos`: `make_repo`, `commit`, `checkout` and `run_git`, with the real git and nobody's settings. The fixture `repo`
  is an empty repository.
- `faults`: `Faults`, for what no parameter reaches: a system call that fails, a disk that is slow, a limit that is soon
  reached. The fixture `faults` holds until the test ends.
- `waiting`: `until` and `PATIENCE`, for what another thread or process does; `is_alive` and `end` for a process.
- `servers`: an `Agent` with its desk, daemons in a thread or a process, clients of theirs, and `cairn mcp`.
- `commands`: a `Person` with a repository who types commands.
- `budgets`: what each suite may cost, and the table at the end of a run that says what it did.

Each module is tested by the `test_*.py` beside it. An example, in which an hour passes at once:

    clock = ManualClock.over_system()
    top = make_repo(tmp_path / "repo", {"a.py": "x = 1\\n", "run.sh": File("true\\n", mode=0o755)})
    session = Session(whole(str(top), environ), environ, clock)
    commit(top, {"a.py": None, "b.py": Link("run.sh")})
    clock.advance(3_600)
"""
