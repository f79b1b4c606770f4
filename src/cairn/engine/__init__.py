r"""Where are the rows of a snapshot searched? On this machine from the mapped files, or by a search server.

`local.LocalEngine` makes one table of all live rows of an open view: where terms occur, how near vectors are, which
files use whose names. `scan.Texts` finds every match of a pattern in the text of the view. `contract` says what a place
that holds rows promises; `choose` names the server of the user's settings, `rows` prepares segments for it,
`milvus_rows` keeps them there, and `local.CandidateEngine` asks the server for the nearest rows. An engine gives
candidates; `search` decides what comes first.

    >>> import os, pathlib
    >>> import cairn
    >>> _ = pathlib.Path("ledger.py").write_text("def settle(account):\n    return account\n\nsettle(1)\n")
    >>> cairn.open(".").close()

    >>> from cairn.core.tokens import terms_of
    >>> from cairn.engine.local import LocalEngine
    >>> from cairn.store import Home, Store
    >>> home = os.environ["CAIRN_HOME"]
    >>> [name] = os.listdir(f"{home}/data")
    >>> with Home(home).open_store(f"data/{name}") as disk, Store(disk).view() as view:
    ...     engine = LocalEngine(view)
    ...     [found] = engine.matches(terms_of("settle"))
    ...     engine.paths, engine.rows, sorted(found), found["body"].counts.tolist()
    (['ledger.py'], 1, ['body', 'symbol'], [2])
"""
