r"""How does a question become an answer? Which codebase is meant, how fresh its index is, and what its snapshot says.

Every face (command line, Python, agents, daemon) asks here and renders with `cairn.answer`. `session.Session` is one
codebase, open to be asked, and `gate.decide` says whether it may answer. `prepare.prepare` does the step before a read:
index a folder the first time, or catch up. `structure`, `relations` and `edits` hold one function for each question,
`questions` the options of each, `values` what they return. `workspace.Workspace` is all of this for a server with
several threads, with `runs` in the background; `library.Code` is what `cairn.open` gives to programs.

    >>> import os, pathlib
    >>> _ = pathlib.Path("ledger.py").write_text("def settle(account):\n    return account\n\nsettle(1)\n")

    >>> from cairn.ask.prepare import Policy, prepare
    >>> from cairn.ask.relations import references
    >>> from cairn.ask.session import Session, whole
    >>> from cairn.ask.structure import asked_of
    >>> with Session(whole(".", os.environ), os.environ) as session:
    ...     session.gate.is_open
    ...     prepare(session, Policy())
    ...     session.gate.is_open
    ...     found = references(session, asked_of("settle", session.root)).value
    ...     missing = references(session, asked_of("settel", session.root)).miss
    False
    True
    >>> [use.place for use in found.uses]
    ['ledger.py:4']
    >>> missing.error.code, [one.name for one in missing.candidates]
    ('not_found', ['settle'])
"""
