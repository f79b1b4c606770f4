"""What compilers know of a codebase, read from the indices that their indexers write."""
