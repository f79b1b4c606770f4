r"""What matches a query? Searches of one snapshot by words, by meaning, by name, by path and by pattern.

The way in is `searcher.Searcher`, which answers a `types.SearchRequest` on one open view with a page of hits. `query`
parses the query, `lexical` and `nearness` score chunks, `signals` and `rank` order files, and `snippets` chooses the
lines that are shown. `exact`, `symbols` and `paths` are the exhaustive modes. The package reads the rows of a pinned
snapshot through an engine.

    >>> import os, pathlib
    >>> import cairn
    >>> _ = pathlib.Path("ledger.py").write_text("def settle(account):\n    return account\n\nsettle(1)\n")
    >>> cairn.open(".").close()

    >>> from cairn.core.config import EmbeddingConfig
    >>> from cairn.embedding.choose import choose
    >>> from cairn.search.searcher import Searcher
    >>> from cairn.search.types import Mode, SearchRequest
    >>> from cairn.store import Home, Store
    >>> home = os.environ["CAIRN_HOME"]
    >>> [name] = os.listdir(f"{home}/data")
    >>> with Home(home).open_store(f"data/{name}") as disk, Store(disk).view() as view:
    ...     searcher = Searcher(view, choose(EmbeddingConfig(), environ={}))
    ...     ranked = searcher.search(SearchRequest("who settles an account"))
    ...     exact = searcher.search(SearchRequest(r"settle\(\d\)", mode=Mode.REGEX))
    >>> [hit.path for hit in ranked.hits], ranked.exhaustive
    (['ledger.py'], False)
    >>> [(hit.path, hit.match_lines) for hit in exact.hits], exact.exhaustive
    ([('ledger.py', (4,))], True)
"""
