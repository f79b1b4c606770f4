r"""Which facts does a file hold? Pure functions: bytes in; definitions, uses, imports and chunks out.

`analyze.analyze` is the way in. `languages.load` loads a grammar with its query, `symbols.extract` runs the query and
makes facts of what matched, and `chunks.split` cuts the file into pieces that tile it. A syntax error is no failure:
the lines that could not be parsed are named, and a file that cannot be parsed at all is cut by lines.

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
