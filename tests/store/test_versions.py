"""A format from another time is refused by name, never half read."""

from __future__ import annotations

from importlib import resources
from threading import Thread

import pytest

from cairn.errors import Incompatible, StoreCorrupt
from cairn.store.format.document import (
    ARTIFACTS,
    CHUNK_ROWS,
    RESPONSES,
    SEGMENT_DATA,
    Artifact,
    check_version,
    reading_newer,
)
from tests.conformance import conforms


@conforms("003.VER1")
def test_every_artifact_declares_what_is_read_and_what_is_written() -> None:
    names = [artifact.name for artifact in ARTIFACTS]
    documents = ["manifest", "index state", "writer lease", "staged batch", "remembered digests", "progress of a run"]
    documents += ["first look at a lease", "sharing of a store"]
    assert names == [*documents, "chunk row schema", "data file of a segment", "response schema"]
    for artifact in ARTIFACTS:
        assert 1 <= artifact.oldest <= artifact.written <= artifact.newest, "what is written can be read again"


@conforms("003.VER1")
def test_every_response_schema_has_the_written_version_in_its_name() -> None:
    schemas = [file.name for file in resources.files("cairn.answer").joinpath("schemas").iterdir()]
    assert schemas
    assert all(name.endswith(f".{RESPONSES.written}.json") for name in schemas)


@conforms("003.VER2", "003.DOWN1")
@pytest.mark.parametrize("artifact", ARTIFACTS, ids=lambda artifact: artifact.name)
@pytest.mark.parametrize("version", [0, 999, -1])
def test_a_version_outside_the_range_is_refused_by_artifact_and_version(artifact: Artifact, version: int) -> None:
    with pytest.raises(Incompatible) as refused:
        check_version(artifact, version)
    assert f"The {artifact.name} " in refused.value.sentence
    assert f"version {version};" in refused.value.sentence
    readable = {"oldest": artifact.oldest, "newest": artifact.newest}
    assert refused.value.fields == {"artifact": artifact.name, "version": version, **readable}
    assert 90 <= refused.value.exit_status <= 99


def test_both_ends_of_the_range_are_read() -> None:
    wide = Artifact("thing", oldest=2, newest=4, written=3)
    for version in (2, 3, 4):
        check_version(wide, version)
    for version in (1, 5):
        with pytest.raises(Incompatible):
            check_version(wide, version)


def test_a_format_of_the_future_is_not_taken_for_damage() -> None:
    # Damage may be repaired; a newer store must be left as it is.
    assert not issubclass(Incompatible, StoreCorrupt)
    assert Incompatible.code != StoreCorrupt.code


# --- reading what is later --------------------------------------------------------------------------------------------


@conforms("003.DOWN2")
def test_later_versions_are_read_only_where_somebody_asked_for_it_and_are_told() -> None:
    thing = Artifact("thing", oldest=2, newest=4, written=3)
    with reading_newer() as met:
        for version in (9, 5, 4, 2):
            check_version(thing, version)
        with pytest.raises(Incompatible):
            check_version(thing, 1)
        assert met == {"thing": 9}
    with pytest.raises(Incompatible):
        check_version(thing, 5)


def test_who_reads_what_is_later_changes_nothing_for_other_threads() -> None:
    refused: list[Exception] = []

    def read() -> None:
        try:
            check_version(ARTIFACTS[0], 999)
        except Incompatible as problem:
            refused.append(problem)

    with reading_newer() as met:
        other = Thread(target=read)
        other.start()
        other.join()
    assert len(refused) == 1
    assert met == {}


def test_a_store_is_named_after_the_oldest_versions_so_that_an_upgrade_stays_in_it() -> None:
    assert CHUNK_ROWS.oldest >= SEGMENT_DATA.oldest, "rows that cannot be read any more must not share a store"
