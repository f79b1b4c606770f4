"""The bundled model is named by the bytes that are shipped."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from cairn.embedding.identity import BUNDLED, DIMENSION, MODEL_SHA256
from cairn.embedding.static import MODEL_FILE, StaticEmbedder
from tests.conformance import conforms
from tests.conformance_report import PROJECT


@conforms("003.AD2")
def test_the_identity_names_the_shipped_bytes() -> None:
    assert sha256(Path(MODEL_FILE).read_bytes()).hexdigest() == MODEL_SHA256
    assert (BUNDLED.provider, BUNDLED.model, BUNDLED.revision) == ("bundled", "cairn-static", MODEL_SHA256)
    assert BUNDLED.dimension == DIMENSION
    assert StaticEmbedder().identity == BUNDLED
    assert MODEL_SHA256 in (PROJECT / "training" / "README.md").read_text("utf-8")
