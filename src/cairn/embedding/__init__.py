"""What does a piece of text mean? A model turns texts into vectors that lie near each other where meanings do.

`choose.choose` returns the model that the settings name: the bundled one (`static`: a table of word pieces, no
network) or one behind an address (`http`). `model.Embedder` is what every model can do. `cache.embed_with_cache` asks a
slow model only for texts that it has not seen.

    >>> from cairn.core.config import EmbeddingConfig
    >>> from cairn.embedding.choose import choose
    >>> model = choose(EmbeddingConfig(), environ={})
    >>> lock, mutex, invoice = model.embed([b"acquire a lock", b"take the mutex", b"print an invoice"])
    >>> bool(lock @ mutex > lock @ invoice)
    True
"""
