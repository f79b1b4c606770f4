r"""What do all rooms mean by the same words? Types, limits, settings, languages, terms, digests, and time.

`types` holds the values that cross from room to room, and `limits` every cap and default. `config.load_config` reads
the settings, `filetypes.language_of` tells the language of a file, and `tokens.terms` cuts text into the terms that
are indexed and searched. `fingerprint` digests what an index was made from, `options` declares each option of a
question once, and `clock` is the only door to the time and to other processes. The package imports nothing but
`cairn.errors`.

    >>> from cairn.core.config import load_config
    >>> from cairn.core.filetypes import language_of
    >>> from cairn.core.tokens import terms
    >>> load_config(b'[index]\nexclude = ["old/"]\n').index.exclude
    ('old/',)
    >>> language_of(b"ledger.py")
    'python'
    >>> terms("readOnly accounts")
    ['readonly', 'read', 'only', 'account']
"""
