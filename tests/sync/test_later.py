"""A later format is read by who asks for it, and the answer says so."""

from __future__ import annotations

import pytest

from cairn.errors import Incompatible
from cairn.store.format.document import INDEX_STATE, MANIFEST, check_version
from cairn.sync.status import later_warnings, reading
from tests.conformance import conforms


@conforms("003.DOWN2")
def test_without_being_asked_a_later_format_is_refused() -> None:
    with reading(False) as met, pytest.raises(Incompatible):
        check_version(MANIFEST, 9)
    assert later_warnings(met) == []


def test_what_was_met_is_told_in_one_sentence() -> None:
    with reading(True) as met:
        assert later_warnings(met) == []
        check_version(MANIFEST, 9)
        check_version(INDEX_STATE, 3)
    [said] = later_warnings(met)
    assert said.startswith("The index has a later format (index state 3, manifest 9); ")
