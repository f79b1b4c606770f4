r"""What is on disk, and what changed? This package reads the tree and never writes anywhere.

`root.find_root` finds the folder to index, `walk.walk` gives every name in it one outcome (a candidate, or a skip with
its reason), `changes.detect` compares candidates with what was indexed, and `stable_read.read_stable` reads one of them
while it holds still. All files are opened through a `beneath.Tree`, which follows no link out of the root.

    >>> from pathlib import Path
    >>> _ = Path("ledger.py").write_text("def settle(account):\n    return account\n")
    >>> _ = Path(".gitignore").write_text("build/\n")
    >>> _ = Path("build").mkdir()

    >>> from cairn.core.config import Config
    >>> from cairn.source.beneath import Tree
    >>> from cairn.source.root import find_root
    >>> from cairn.source.stable_read import read_stable
    >>> from cairn.source.walk import walk
    >>> with Tree(find_root(".")) as tree:
    ...     found = walk(tree, Config())
    ...     text = read_stable(tree, found.candidates[1]).data
    >>> [candidate.key for candidate in found.candidates]
    ['.gitignore', 'ledger.py']
    >>> [(skip.raw, skip.reason.value) for skip in found.skips]
    [(b'build', 'ignored')]
    >>> text
    b'def settle(account):\n    return account\n'
"""
