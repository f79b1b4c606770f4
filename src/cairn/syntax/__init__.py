r"""Which facts does a file contain? Pure functions from bytes to definitions, uses, imports and chunks.

The way in is `analyze.analyze`. `languages.load` loads a grammar with its query, `symbols.extract` runs the query and
turns its matches into facts, and `chunks.split` cuts the file into chunks. A syntax error is no failure: the lines that
could not be parsed are named, and a file that cannot be parsed at all is cut by lines. `occurrences.local_names` finds
the local names of one function on request. Everything that differs between languages is in a folder of `languages`.

The package runs in worker processes, so nothing here may import numpy or open a file of the repository.

    >>> from cairn.syntax.analyze import analyze
    >>> text = b"import bank\n\ndef settle(account):\n    return bank.pay(account)\n"
    >>> syntax, chunks = analyze(text, "python")
    >>> [(symbol.kind, symbol.name, symbol.start_line) for symbol in syntax.symbols]
    [('function', 'settle', 3)]
    >>> [one.module for one in syntax.imports], [(use.kind, use.name) for use in syntax.references]
    (['bank'], [('call', 'pay')])
    >>> b"".join(text[chunk.start_byte : chunk.end_byte] for chunk in chunks) == text
    True
"""
