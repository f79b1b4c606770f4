"""The grammars this version is made for: the version of each wheel, and the checksum of what it must hold.

A grammar decides what an index means, so both are part of the index fingerprint. `languages.checksum_of` makes the
checksum; a test compares this table with the requirements and with what is installed.
"""

from __future__ import annotations

from typing import NamedTuple


class Pin(NamedTuple):
    """One grammar, exactly."""

    version: str
    checksum: str


PINS: dict[str, Pin] = {
    "bash": Pin("0.25.1", "a562b910c59eea38"),
    "c": Pin("0.24.2", "848f0bed5ba3ce8c"),
    "cpp": Pin("0.23.4", "b3a37317b1128d3f"),
    "csharp": Pin("0.23.5", "97e70cafd44cca08"),
    "css": Pin("0.25.0", "bc9fe05ef0813817"),
    "elixir": Pin("0.3.5", "656e04221ff32f64"),
    "go": Pin("0.25.0", "8b5b346f399aa4bd"),
    "haskell": Pin("0.24.1", "3253d6b85743f031"),
    "html": Pin("0.23.2", "b7bd989e773698c2"),
    "java": Pin("0.23.5", "13cb947da5cf711a"),
    "javascript": Pin("0.25.0", "a778d99d5c2b76d7"),
    "json": Pin("0.24.8", "f924b98c39344da8"),
    "kotlin": Pin("1.1.0", "3108d06cd902110c"),
    "lua": Pin("0.5.0", "fd8b82169fea1fd1"),
    "markdown": Pin("0.5.4", "257164c136c4c9e6"),
    "php": Pin("0.25.1", "3aba51b18ddf1f7c"),
    "python": Pin("0.25.0", "e9ce315245dbd607"),
    "ruby": Pin("0.23.1", "3f245ccab595f9e9"),
    "rust": Pin("0.24.2", "a320a04d6ef807ba"),
    "scala": Pin("0.26.3", "7137c9bc370397ca"),
    "sql": Pin("0.3.11", "5968394bce581fae"),
    "swift": Pin("0.7.4", "0daf17e1a260c882"),
    "toml": Pin("0.7.0", "ae0705245ee749f0"),
    "tsx": Pin("0.23.2", "2e18ec5b807e46f6"),
    "typescript": Pin("0.23.2", "b2476a882e9f35c6"),
    "yaml": Pin("0.7.2", "c9f99949a170da6f"),
    "zig": Pin("1.1.2", "43057e3aa79872de"),
}
