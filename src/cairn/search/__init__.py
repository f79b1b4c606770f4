r"""What matches? Questions to one snapshot, answered by words, by meaning, by name, by path and by pattern.

`searcher.Searcher` answers a `types.SearchRequest` about one open view with a page of hits. `query` reads the question,
`lexical` and `nearness` score chunks, `signals` and `rank` put files in order; `exact`, `symbols` and `paths` are the
modes that look at everything. The package sees an engine over a pinned snapshot and nothing below it.

    >>> import os, pathlib
    >>> import cairn
    >>> _ = pathlib.Path("ledger.py").write_text("def settle(account):\n    return account\n\nsettle(1)\n")
    >>> cairn.open(".").close()

    >>> from cairn.core.config import EmbeddingConfig
    >>> from cairn.embedding.choose import choose
    >>> from cairn.search.searcher import Searcher
    >>> from cairn.search.types import Mode, SearchRequest
    >>> from cairn.store.disk import Disk
    >>> from cairn.store.read.snapshot import open_view
    >>> home = os.environ["CAIRN_HOME"]
    >>> [store] = os.listdir(f"{home}/data")
    >>> with Disk.at(home, f"data/{store}") as disk, open_view(disk, store) as view:
    ...     searcher = Searcher(view, choose(EmbeddingConfig(), environ={}))
    ...     ranked = searcher.search(SearchRequest("who settles an account"))
    ...     exact = searcher.search(SearchRequest(r"settle\(\d\)", mode=Mode.REGEX))
    >>> [hit.path for hit in ranked.hits], ranked.exhaustive
    (['ledger.py'], False)
    >>> [(hit.path, hit.match_lines) for hit in exact.hits], exact.exhaustive
    ([('ledger.py', (4,))], True)
"""
