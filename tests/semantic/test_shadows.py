"""What is imported and what is offered, as keys: who takes the place of a file shares one with those who import it."""

from __future__ import annotations

import pytest

from cairn.core.types import Import
from cairn.semantic.shadows import imported_keys, offered_keys


def wanted(path: str, *imports: tuple[str, str]) -> frozenset[str]:
    return imported_keys(path, [Import(module, name, "", 0, 1) for module, name in imports])


@pytest.mark.parametrize(
    ("user", "module", "name", "new"),
    [
        ("app.py", "tools", "hammer", "tools/__init__.py"),
        ("app.py", "json", "", "json.py"),
        ("app.py", "pack.tools", "", "src/pack/tools.py"),
        ("app.py", "pack", "tools", "pack/tools.py"),
        ("app.py", "tools.deep", "", "tools/__init__.py"),
        ("pack/app.py", ".tools", "hammer", "pack/tools/__init__.py"),
        ("pack/app.py", ".", "tools", "pack/tools.py"),
        ("pack/deep/app.py", "..tools", "hammer", "pack/tools.py"),
        ("src/app.ts", "./tools", "hammer", "src/tools.ts"),
        ("src/app.ts", "./tools.js", "hammer", "src/tools.ts"),
        ("src/app.ts", "../tools", "hammer", "tools/index.tsx"),
        ("src/app.ts", "./tools.service", "hammer", "src/tools.service.ts"),
        ("src/app.ts", "@/lib/tools", "hammer", "src/lib/tools.d.ts"),
        ("src/App.java", "org.tools", "Hammer", "src/org/tools/Hammer.java"),
        ("src/app.rs", "crate::tools", "hammer", "src/tools/mod.rs"),
        ("src/app.c", "deep/tools.h", "", "include/deep/tools.h"),
    ],
)
def test_a_file_that_an_import_may_mean_shares_a_key_with_it(user: str, module: str, name: str, new: str) -> None:
    assert wanted(user, (module, name)) & offered_keys(new)


@pytest.mark.parametrize(
    ("user", "module", "name", "new"),
    [
        ("app.py", "tools", "hammer", "other.py"),
        ("pack/app.py", ".tools", "hammer", "elsewhere/tools.py"),
        ("src/app.ts", "./tools", "hammer", "lib/tools.ts"),
        ("src/app.ts", "./tools", "hammer", "src/hammer.ts"),
        ("app.go", "example.org/tools", "", "tools/more.go"),
    ],
)
def test_a_file_that_it_cannot_mean_does_not(user: str, module: str, name: str, new: str) -> None:
    assert not wanted(user, (module, name)) & offered_keys(new)
