r"""How does the index catch up with the tree? This is the one place where `source` and `syntax` meet `store`.

`codebase.open_codebase` finds the root of a folder with its settings, and `codebase.place_of` the place of its store.
`run` holds the runs that write (`index`, `sync`, `reindex`, `clear`); `catchup` is the work inside a run, `pool` the
processes that parse, `batches` what is sealed. `proof` decides whether an index is complete and `status` where it
stands. `health`, `repair`, `upkeep` and `stores` look after stores that exist, `remote` after the copy on a search
server. `report` holds what all of them report.

    >>> import os, pathlib
    >>> file = pathlib.Path("ledger.py")
    >>> _ = file.write_text("def settle(account):\n    return account\n")

    >>> from cairn.sync.codebase import open_codebase
    >>> from cairn.sync.report import RunOptions
    >>> from cairn.sync.run import index, sync
    >>> from cairn.sync.status import look
    >>> home = os.environ["CAIRN_HOME"]
    >>> codebase = open_codebase(".", os.environ)
    >>> str(look(codebase, home).state)
    'not_indexed'
    >>> first = index(codebase, RunOptions(home), lambda progress: None)
    >>> first.published, first.changes.added
    (True, 1)
    >>> _ = file.write_text("def settle(account):\n    return account.balance\n")
    >>> second = sync(codebase, RunOptions(home), lambda progress: None)
    >>> second.generation, second.changes.modified
    (2, 1)
    >>> sync(codebase, RunOptions(home), lambda progress: None).published
    False
    >>> str(look(codebase, home).state)
    'indexed'
"""
