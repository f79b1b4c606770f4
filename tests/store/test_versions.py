"""A format from another time is refused by name, never half read."""

from __future__ import annotations

from importlib import resources

import pytest

from cairn.errors import Incompatible, StoreCorrupt
from cairn.store.versions import ARTIFACTS, RESPONSES, Artifact, check_version
from tests.conformance import conforms


@conforms("003.VER1")
def test_every_artifact_declares_what_is_read_and_what_is_written() -> None:
    names = [artifact.name for artifact in ARTIFACTS]
    documents = ["manifest", "index state", "writer lease", "staged batch", "remembered digests", "progress of a run"]
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
