"""The mark that ties a test to the requirement it proves: `@conforms("003.PK1")`."""

from __future__ import annotations

import pytest


def conforms(*rows: str) -> pytest.MarkDecorator:
    """This test proves these rows of the conformance table."""
    return pytest.mark.conforms(*rows)
