r"""How good are the results? Questions whose right answers are known are asked, and the results are scored.

`scoring.ask` asks questions about a codebase and returns NDCG and recall for each; `scoring.mean_of` and
`scoring.grouped` summarize them. `judged.load` reads questions that people judged, and `history.history_of` makes
questions from the commits of a repository.

    >>> import os, pathlib
    >>> _ = pathlib.Path("ledger.py").write_text("def settle(account):\n    return account\n")

    >>> from cairn.evaluation.scoring import AskingWay, JudgedQuestion, Lines, ask, folder_as_codebase
    >>> question = JudgedQuestion("mine", "python", "example", "who settles an account", (Lines("ledger.py"),))
    >>> [scored] = ask(folder_as_codebase(".", os.environ), os.environ, [question], AskingWay(k=10))
    >>> scored.ndcg, scored.recall
    (1.0, 1.0)
"""
