"""From text to vectors: the model that comes with Cairn, a make-believe one for tests, and a cache for dear ones."""
