from __future__ import annotations

import subprocess
import sys

import pytest

from cairn.core.types import Import, Symbol
from cairn.syntax.identity import chunk_hash, chunk_id, file_hash, interface_hash, row_id
from tests.conformance import conforms

# The answers below were computed with sha256sum, not with the code under test:
#   printf 'def f():\n    return 1\n' | sha256sum
#   printf '%s\0001\000text' HASH | sha256sum
#   printf 'src/é.py\000%s\0003' ID | sha256sum
PAYLOAD = b"def f():\n    return 1\n"
HASH = "5b76d0962c09ab4ee309fac65fad3568c97abdec983b405146ae3e86a235e352"
CHUNK_ID = "1f7e1564c235eb1f44db81dc5fef0cad411ee00d66021bf58f65880799729ea2"
ROW_ID = "dcd88090f23a7833f94a1f723638c18877cc16787e19bcf5639f46329fd2a655"


@conforms("003.ID1")
def test_file_hash_is_the_sha256_of_every_byte() -> None:
    assert file_hash(b"") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert file_hash(b"abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert file_hash(b"a" * 1_000_000) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
    assert file_hash(PAYLOAD) == HASH
    assert file_hash(PAYLOAD + b"\0") != HASH


@conforms("003.ID2")
def test_chunk_hash_is_the_sha256_of_the_bytes_as_they_stand() -> None:
    assert chunk_hash(PAYLOAD) == HASH
    assert chunk_hash(memoryview(b"#\n" + PAYLOAD)[2:]) == HASH
    assert chunk_hash(PAYLOAD.replace(b"\n", b"\r\n")) != HASH
    assert chunk_hash(b"\xff\x00 \n") == "5397dacb2bf089fe5c145167f4d5de035b41e67e376676db360e3b5676a850ee"


@conforms("003.ID3")
def test_chunk_id_and_row_id_have_known_answers() -> None:
    assert chunk_id(HASH, "1", "text") == CHUNK_ID
    assert row_id("src/é.py", CHUNK_ID, 3) == ROW_ID


@conforms("003.ID3")
def test_another_process_with_another_hash_seed_gives_the_same_ids() -> None:
    program = (
        "from cairn.syntax.identity import *; from cairn.core.types import Symbol;"
        "s = [Symbol('function', n, '', n, '', 0, 1, 1, 1, 0, True, -1) for n in 'abcdef'];"
        f"print(chunk_id({HASH!r}, '1', 'text'), row_id('src/é.py', {CHUNK_ID!r}, 3),"
        "interface_hash(s, [], list('xyz')))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-X", "utf8", "-c", program],
            env={"PYTHONHASHSEED": seed, "PATH": ""},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "4242")
    }
    assert len(outputs) == 1
    assert outputs.pop().decode().split()[:2] == [CHUNK_ID, ROW_ID]


def test_a_rename_keeps_the_chunk_id_and_changes_the_row_id() -> None:
    assert row_id("a.py", CHUNK_ID, 0) != row_id("b.py", CHUNK_ID, 0)
    assert row_id("a.py", CHUNK_ID, 0) != row_id("a.py", CHUNK_ID, 1)


def test_fields_cannot_flow_into_one_another() -> None:
    assert chunk_id(HASH, "1", "2text") != chunk_id(HASH, "12", "text")
    assert row_id("a", CHUNK_ID, 11) != row_id("a", CHUNK_ID + "1", 1)
    assert row_id("a1", "2", 3) != row_id("a", "12", 3)


# --- interface ------------------------------------------------------------------------------------------------------


def symbol(
    name: str,
    signature: str = "",
    *,
    kind: str = "function",
    container: str = "",
    exported: bool = True,
    at: int = 0,
    doc: str = "",
) -> Symbol:
    return Symbol(kind, name, container, signature or f"def {name}()", doc, at, at + 9, 1, 1, at + 4, exported, -1)


def imported(module: str, name: str = "", alias: str = "", at: int = 0) -> Import:
    return Import(module, name, alias, at, 1)


BASE = [symbol("open"), symbol("close", at=50), symbol("_helper", exported=False, at=90)]
IMPORTS = [imported("os"), imported("io", "BytesIO", at=9), imported("pkg.deep", "thing", at=20)]
EXPORTS = ["open", "thing"]


def base_hash() -> str:
    return interface_hash(BASE, IMPORTS, EXPORTS)


@pytest.mark.parametrize(
    ("symbols", "imports", "exports"),
    [
        pytest.param(
            [s._replace(start_byte=s.start_byte + 7, start_line=40) for s in BASE], IMPORTS, EXPORTS, id="moved"
        ),
        pytest.param(BASE[::-1], IMPORTS[::-1], EXPORTS[::-1], id="in another order"),
        pytest.param([s._replace(doc="new words") for s in BASE], IMPORTS, EXPORTS, id="another doc comment"),
        pytest.param([s._replace(end_byte=900, end_line=99) for s in BASE], IMPORTS, EXPORTS, id="a longer body"),
        pytest.param([*BASE[:2], symbol("_other", exported=False)], IMPORTS, EXPORTS, id="another private name"),
        pytest.param(BASE, [*IMPORTS, imported("sys")], EXPORTS, id="one more private import"),
        pytest.param([*BASE, BASE[0]], IMPORTS, [*EXPORTS, "open"], id="the same thing twice"),
    ],
)
def test_what_users_cannot_see_leaves_the_interface_hash(
    symbols: list[Symbol], imports: list[Import], exports: list[str]
) -> None:
    assert interface_hash(symbols, imports, exports) == base_hash()


@pytest.mark.parametrize(
    ("symbols", "imports", "exports"),
    [
        pytest.param([symbol("open", "def open(path)"), *BASE[1:]], IMPORTS, EXPORTS, id="signature"),
        pytest.param([symbol("opened"), *BASE[1:]], IMPORTS, EXPORTS, id="rename"),
        pytest.param([symbol("open", "def open()", kind="class"), *BASE[1:]], IMPORTS, EXPORTS, id="kind"),
        pytest.param([symbol("open", container="File"), *BASE[1:]], IMPORTS, EXPORTS, id="container"),
        pytest.param([*BASE, symbol("more")], IMPORTS, EXPORTS, id="added"),
        pytest.param(BASE[1:], IMPORTS, EXPORTS, id="removed"),
        pytest.param([s._replace(exported=True) for s in BASE], IMPORTS, EXPORTS, id="made public"),
        pytest.param(BASE, IMPORTS, ["open"], id="no longer exported"),
        pytest.param(BASE, [*IMPORTS[:2], imported("pkg.other", "thing")], EXPORTS, id="re-exported from elsewhere"),
        pytest.param(BASE, [*IMPORTS, imported("pkg", "*")], EXPORTS, id="star import"),
        pytest.param(BASE, [*IMPORTS, imported("pkg", "x", "x")], EXPORTS, id="import x as x"),
    ],
)
def test_what_users_can_see_changes_the_interface_hash(
    symbols: list[Symbol], imports: list[Import], exports: list[str]
) -> None:
    assert interface_hash(symbols, imports, exports) != base_hash()


def test_names_cannot_be_forged_into_other_interfaces() -> None:
    one = interface_hash([symbol("a", "b"), symbol("c", "d")], [], [])
    assert interface_hash([symbol("a", "b8:function0:1:c1:d")], [], []) != one
    assert interface_hash([], [], ["ab"]) != interface_hash([], [], ["a", "b"])
    assert interface_hash([], [imported("a", "*")], []) != interface_hash([symbol("*", container="a")], [], [])


def test_broken_names_do_not_stop_it() -> None:
    assert interface_hash([symbol("\ud800\0")], [], ["\udfff"]) != interface_hash([symbol("\ud800")], [], ["\udfff"])
