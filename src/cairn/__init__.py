"""Cairn: the code index that tells the truth.

Everything public is exported here; nothing else is promised.
"""

from cairn.errors import CairnError

__version__ = "0.1.0"
__all__ = ["CairnError", "__version__"]
