"""Which facts does a file hold? Pure functions: bytes in, symbols, references, imports and chunks out.

Runs in worker processes, so nothing here may import numpy or open a file of the repository.
"""
