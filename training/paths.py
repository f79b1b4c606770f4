"""Which files of a repository are its own, written by hand."""

from __future__ import annotations

import re

_FOLDERS = (
    r"_?vendor(?:ed)?|bundled|node_modules|third[_-]?party|3rdparty|external|extern|deps|dist|_?build|generated|gen"
    r"|fixtures?|test-?data|_*snapshots?_*|locales?|i18n|assets|site|\.github"
)
_NOT_OWN = re.compile(
    rf"(?:^|/)(?:{_FOLDERS})/|\.min\.|zz_generated|\.pb\.|_pb2|\.g\.cs$|\.designer\.|(?:^|/)moc_|bindata"
    r"|(?:^|/)(?:changelog|changes|history|news|release|licen[sc]e)[^/]*$",
    re.IGNORECASE,
)


def is_mined(path: str) -> bool:
    """Whether a path is neither another project's code, nor generated, nor a list of releases."""
    return _NOT_OWN.search(path) is None
