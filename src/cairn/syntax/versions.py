"""What the facts and chunks of a file depend on besides its grammar; raised when the same bytes would give others."""

from __future__ import annotations

CHUNKER_VERSION = "1"
# 1: first shipped form. Target 1,500 characters without blanks, see chunks.py.

EXTRACTOR_VERSION = "1"
# 1: first shipped form.
