"""Answer with jedi what names of Python mean: sites from the standard input, one JSON list of places for each.

Run by `bench.truth` in an environment that has jedi: `python truth_python.py ROOT`.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
from pathlib import Path
from typing import Any

_IS_OWN = re.compile(r"\b(?:self|cls)\.$")


def main() -> None:
    jedi: Any = importlib.import_module("jedi")
    root = Path(sys.argv[1]).resolve()
    # The repository itself may be installed beside jedi: only it and the library of the language are looked at.
    own = [str(each) for each in (root / "src", root / "lib", root) if each.is_dir()]
    project = jedi.Project(str(root), sys_path=[*own, *(each for each in sys.path if "site-packages" not in each)])
    scripts: dict[str, Any] = {}
    for line in sys.stdin:
        site = json.loads(line)
        try:
            script = scripts.setdefault(site["path"], jedi.Script(path=str(root / site["path"]), project=project))
            found = script.goto(site["line"], site["column"], follow_imports=True, follow_builtin_imports=True)
            if site["path"].endswith(".pyi"):
                # Otherwise jedi goes from a stub to what the stub describes.
                found += script.goto(site["line"], site["column"], follow_imports=True, prefer_stubs=True)
            print(json.dumps([place for each in found if (place := _place(root, each)) is not None]), flush=True)
        except Exception as error:  # jedi raises whatever its analysis meets
            print(json.dumps([]), flush=True)
            print(f"{site['path']}:{site['line']}: {type(error).__name__}", file=sys.stderr)


def _place(root: Path, found: Any) -> list[object] | None:
    """The file and line of a definition; the file is empty outside of the repository; line 0 is a whole module."""
    path = found.module_path
    if path is None:
        return ["", 0]
    if not Path(path).is_relative_to(root):
        return ["", 0]
    if found.type == "statement" and _IS_OWN.search(found.get_line_code()[: found.column]):
        # `self.name = …`: jedi knows no declaration of the attribute, and calls what assigns it one.
        return None
    line = 0 if found.type == "module" else found.line
    return [Path(path).relative_to(root).as_posix(), line or 0]


main()
