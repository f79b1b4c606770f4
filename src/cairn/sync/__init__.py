"""How does the index catch up with the tree? The one place where `source` and `syntax` meet."""
