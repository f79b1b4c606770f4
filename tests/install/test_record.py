"""The record of what was written: read back as it was, and never believed when it is not ours."""

from __future__ import annotations

import pytest

from cairn.install.edits import Splice, Unfit
from cairn.install.record import decode, encode
from tests.install.settings import written

ONE = written((Splice(3, 'a"\u202e', "b\n"),), "after")


def test_a_record_is_read_back_as_it_was_written() -> None:
    assert decode(encode({ONE.key: ONE})) == {ONE.key: ONE}
    assert decode(None) == {}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff",
        b"[]",
        b"{}",
        b'{"version": 2, "written": []}',
        b'{"version": 1}',
        b'{"version": 1, "written": [1]}',
        encode({ONE.key: ONE}).replace(b'"server"', b'"cellar"'),
        encode({ONE.key: ONE}).replace(b"   3,", b"   -3,"),
        encode({ONE.key: ONE}).replace(b'"/x/f"', b"7"),
        encode({ONE.key: ONE}).replace(b'"user"', b'"root"'),
        encode({ONE.key: ONE}).replace(b'"length": 5', b'"length": Infinity'),
        b"[" * 100_000,
    ],
)
def test_what_is_no_record_is_refused(data: bytes) -> None:
    with pytest.raises(Unfit):
        decode(data)
