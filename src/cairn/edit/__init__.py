r"""How are files of a codebase changed, and how is that taken back? All of an edit happens, or none of it.

`applying.apply` makes an edit, `applying.undo` takes the last one back, and `applying.mend` finishes what was cut off.
Nothing else in Cairn writes to a codebase, and only the commands that say so reach these functions. `tree_writer` is
the door to the files, and `journal` what is noted of an edit in Cairn's home before the first of them changes; it can
be read by everybody, and says whether an edit was cut off.

    >>> import hashlib, os, pathlib
    >>> _ = pathlib.Path("ledger.py").write_text("total = 1\n")
    >>> digest = hashlib.sha256(b"total = 1\n").hexdigest()

    >>> from cairn.edit.applying import apply, undo
    >>> from cairn.edit.journal import WantedFile
    >>> from cairn.source.root import find_root
    >>> home, root = os.environ["CAIRN_HOME"], find_root(".")
    >>> edit = apply(home, root, "rename", [WantedFile(b"ledger.py", digest, b"amount = 1\n")])
    >>> pathlib.Path("ledger.py").read_text()
    'amount = 1\n'
    >>> [file.raw for file in undo(home, root).files]
    [b'ledger.py']
    >>> pathlib.Path("ledger.py").read_text()
    'total = 1\n'
"""
