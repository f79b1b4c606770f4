r"""How does the code hang together? Definitions, their uses and their calls in one snapshot, each edge with its tier.

The ways in: `outline.outline` lists the definitions of a file. `naming.resolve` finds the definition that a typed name
means. `references.Graph` binds uses to definitions through imports and scopes; `informed.InformedGraph` also uses what
indexers know. `uses.uses_of` returns a page of the uses of a definition, `calls.calls_around` follows calls, and
`repo_map.draw_map` describes a codebase in a number of tokens. Every answer is computed from an open view; the package
stores nothing.

    >>> import os, pathlib
    >>> import cairn
    >>> _ = pathlib.Path("ledger.py").write_text("def settle(account):\n    return account\n\nsettle(1)\n")
    >>> cairn.open(".").close()

    >>> from cairn.graph.references import Graph
    >>> from cairn.graph.scopes import Tier
    >>> from cairn.graph.uses import uses_of
    >>> from cairn.store import Home, Store
    >>> home = os.environ["CAIRN_HOME"]
    >>> [name] = os.listdir(f"{home}/data")
    >>> with Home(home).open_store(f"data/{name}") as disk, Store(disk).view() as view:
    ...     graph = Graph(view)
    ...     [place] = graph.places("ledger.py", "settle")
    ...     found = uses_of(graph, place, min_tier=Tier.LIKELY, offset=0, limit=10)
    >>> [(use.place, use.kind, str(use.tier)) for use in found.uses]
    [('ledger.py:4', 'call', 'proven')]
"""
