r"""How does it hang together? Definitions, their uses and calls in one snapshot, each edge with how sure it is.

`outline.outline` lists the definitions of a file and `naming.resolve` finds the one that a name means.
`references.Graph` binds uses to definitions through imports and scopes, `uses.uses_of` gives a page of them,
`calls.calls_around` follows calls, and `repo_map` draws a codebase in a number of tokens. All of it is computed from an
open view when it is asked for; nothing is stored.

    >>> import os, pathlib
    >>> import cairn
    >>> _ = pathlib.Path("ledger.py").write_text("def settle(account):\n    return account\n\nsettle(1)\n")
    >>> cairn.open(".").close()

    >>> from cairn.graph.references import Graph
    >>> from cairn.graph.scopes import Tier
    >>> from cairn.graph.uses import uses_of
    >>> from cairn.store.disk import Disk
    >>> from cairn.store.read.snapshot import open_view
    >>> home = os.environ["CAIRN_HOME"]
    >>> [store] = os.listdir(f"{home}/data")
    >>> with Disk.at(home, f"data/{store}") as disk, open_view(disk, store) as view:
    ...     graph = Graph(view)
    ...     [place] = graph.places("ledger.py", "settle")
    ...     found = uses_of(graph, place, min_tier=Tier.LIKELY, offset=0, limit=10)
    >>> [(use.place, use.kind, str(use.tier)) for use in found.uses]
    [('ledger.py:4', 'call', 'proven')]
"""
