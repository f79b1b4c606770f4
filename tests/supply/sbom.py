"""Make the list of parts that the wheel carries (an SBOM in CycloneDX) from the lock: `--write` writes it anew.

It is the same for the same lock, source and version: no time, no number of its own, no machine.
"""

from __future__ import annotations

import json
import re
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from cairn import __version__
from tests.conformance_report import PROJECT

NAME = "codecairn"
LOCK = PROJECT / "requirements" / "runtime.txt"
MADE = PROJECT / "requirements" / "sbom.cdx.json"
# What the wheel holds that was not written by hand: the model that comes with it.
MODEL = PROJECT / "src" / "cairn" / "embedding" / "data" / "cairn-static.bin"
_LINE = re.compile(
    r"(?P<name>[A-Za-z0-9._-]+)(?:\[[\w,.-]+\])?==(?P<version>[^\s;\\]+)(?:\s*;\s*(?P<marker>[^\\]+?))?\s*\\?"
)


class Pin(NamedTuple):
    """One package of a lock; `marker` says on which systems it is installed, empty for all."""

    name: str
    version: str
    marker: str = ""


def pins(lock: Path) -> list[Pin]:
    """Return the packages of a lock, in its order."""
    lines = [line for line in lock.read_text("utf-8").splitlines() if line and not line.startswith((" ", "#"))]
    found = [_LINE.fullmatch(line) for line in lines]
    assert all(found), "a line of the lock is no pin"
    return [Pin(one["name"], one["version"], one["marker"] or "") for one in found if one]


def parts() -> dict[str, Any]:
    """Return the list as CycloneDX has it."""
    ours = f"pkg:pypi/{NAME}@{__version__}"
    locked = [_part(pin) for pin in pins(LOCK)]
    model = {
        "type": "machine-learning-model",
        "bom-ref": MODEL.name,
        "name": MODEL.name,
        "hashes": [{"alg": "SHA-256", "content": sha256(MODEL.read_bytes()).hexdigest()}],
    }
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": ours,
                "name": NAME,
                "version": __version__,
                "purl": ours,
                "licenses": [{"license": {"id": "Apache-2.0"}}],
                "components": [model],
            },
            "properties": [{"name": "cairn:lock:sha256", "value": sha256(LOCK.read_bytes()).hexdigest()}],
        },
        "components": locked,
        "dependencies": [
            {"ref": ours, "dependsOn": [part["bom-ref"] for part in locked]},
            *({"ref": part["bom-ref"]} for part in locked),
        ],
    }


def _part(pin: Pin) -> dict[str, Any]:
    address = f"pkg:pypi/{pin.name}@{pin.version}"
    found: dict[str, Any] = {"type": "library", "bom-ref": address, "name": pin.name, "version": pin.version}
    found["purl"] = address
    if pin.marker:
        found["properties"] = [{"name": "cairn:marker", "value": pin.marker}]
    return found


def text() -> str:
    """Return the file as it should be."""
    return json.dumps(parts(), indent=1) + "\n"


def main(argv: list[str]) -> int:
    """Write the list, or say whether it is out of date."""
    made = text()
    stale = not MADE.exists() or MADE.read_text("utf-8") != made
    if stale and "--write" in argv:
        MADE.write_text(made, "utf-8")
    if stale:
        print(("wrote " if "--write" in argv else "out of date: ") + MADE.relative_to(PROJECT).as_posix())
    return 1 if stale and "--write" not in argv else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
