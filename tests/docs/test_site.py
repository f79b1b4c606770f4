"""The documentation is a site: it builds strictly, leaves no page out and loads nothing from elsewhere."""

from __future__ import annotations

import dataclasses
import inspect
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
import yaml

import cairn
from tests.conformance_report import PROJECT
from tests.docs.tables import DOCS

SETTINGS = PROJECT / "mkdocs.yml"
PYTHON_PAGE = (DOCS / "manual" / "python.md").read_text("utf-8")
PUBLIC = [name for name in cairn.__all__ if not name.startswith("__")]


def build(settings: Path, site: Path) -> subprocess.CompletedProcess[str]:
    argv = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--config-file",
        str(settings),
        "--site-dir",
        str(site),
    ]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


def listed(nav: object) -> list[str]:
    """The pages of a nav, in order."""
    if isinstance(nav, dict):
        nav = list(nav.values())
    return [nav] if isinstance(nav, str) else [page for part in nav for page in listed(part)]  # type: ignore[attr-defined]


def test_the_site_has_every_page_once() -> None:
    pages = listed(yaml.safe_load(SETTINGS.read_text("utf-8"))["nav"])
    assert sorted(pages) == sorted(page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md"))


class Loads(HTMLParser):
    """What a browser loads by itself when it shows a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        names = ("src", "srcset", "data", "poster") if tag != "link" else ("href",)
        self.found += [value for name, value in attributes if name in names and value]


def from_elsewhere(page: str) -> list[str]:
    """What of it comes from another host."""
    parser = Loads()
    parser.feed(page)
    return [one for one in parser.found if re.match(r"\w+:|//", one) and not one.startswith("data:")]


def test_the_site_builds_strictly_and_loads_nothing_from_another_host(tmp_path: Path) -> None:
    # One test, because a build takes seconds and tests of one module may run in several processes.
    done = build(SETTINGS, tmp_path)
    assert done.returncode == 0, done.stderr
    built = {page.relative_to(tmp_path).as_posix(): page.read_text("utf-8") for page in tmp_path.rglob("*.html")}
    assert {page.relative_to(DOCS).with_suffix(".html").as_posix() for page in DOCS.rglob("*.md")} <= set(built)
    assert not {name: from_elsewhere(page) for name, page in built.items() if from_elsewhere(page)}
    for sheet in tmp_path.rglob("*.css"):
        text = re.sub(r"/\*.*?\*/", "", sheet.read_text("utf-8"), flags=re.DOTALL)
        assert not re.findall(r"(?:url\(|@import\s*)[\"']?(?:https?:)?//[^)]*", text), sheet.name
    assert not [name for name in documented_names() if f'id="{name}"' not in built["manual/python.html"]]


def test_a_page_that_loads_from_elsewhere_is_noticed() -> None:
    page = (
        '<a href="https://a.example"></a><script src="//b.example/x.js"></script><img src="x.png"><img src="data:x">'
        '<link href="https://c.example/x.css">'
    )
    assert from_elsewhere(page) == ["//b.example/x.js", "https://c.example/x.css"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[gone](gone.md)", "'gone.md'"),
        ("[part](#gone)", "'#gone'"),
        ("[away](/gone.md)", "'/gone.md'"),
        ("[above](../README.md)", "'../README.md'"),
    ],
)
def test_a_link_that_leads_nowhere_breaks_the_site(tmp_path: Path, text: str, complaint: str) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text(f"# One\n\n{text}\n")
    (tmp_path / "mkdocs.yml").write_text(f"INHERIT: {SETTINGS}\ndocs_dir: docs\nplugins: []\nnav: [index.md]\n")
    done = build(tmp_path / "mkdocs.yml", tmp_path / "site")
    assert done.returncode == 1
    assert complaint in done.stderr


# --- the page about Python --------------------------------------------------------------------------------------------


def test_the_page_about_python_has_every_public_name() -> None:
    named = re.findall(r"^::: cairn\.(\w+)$|^\| `cairn\.(\w+)` \|", PYTHON_PAGE, re.MULTILINE)
    assert sorted(first or second for first, second in named) == sorted(PUBLIC)


def documented_names() -> dict[str, object]:
    """The public functions, the public classes that are no errors, and their methods."""
    found = {f"cairn.{name}": getattr(cairn, name) for name in PUBLIC}
    found = {name: value for name, value in found.items() if not is_error(value)}
    for name, value in list(found.items()):
        for method, code in inspect.getmembers(value) if inspect.isclass(value) else ():
            if not method.startswith("_") and (inspect.isfunction(code) or isinstance(code, property)):
                found[f"{name}.{method}"] = code
    return found


def is_error(value: object) -> bool:
    return inspect.isclass(value) and issubclass(value, cairn.CairnError)


def test_a_public_name_and_its_methods_say_what_they_are() -> None:
    named = documented_names()
    assert {"cairn.open", "cairn.Hit", "cairn.Code.search", "cairn.Code.root"} <= set(named)
    assert not [name for name, value in named.items() if not inspect.getdoc(value)]
    assert all(inspect.getdoc(getattr(cairn, name)) for name in PUBLIC)


def test_a_public_value_explains_each_of_its_fields() -> None:
    values = [value for value in documented_names().values() if dataclasses.is_dataclass(value)]
    assert len(values) > 5
    for value in values:
        section = (inspect.getdoc(value) or "").partition("\nAttributes:\n")[2]
        explained = re.findall(r"^    (\w+): \S", section, re.MULTILINE)
        assert explained == [field.name for field in dataclasses.fields(value)], value  # type: ignore[arg-type]


def test_the_example_for_python_runs(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "ledger.py").write_text("def settle(account):\n    return account\n\n\nsettle(1)\n")
    example = re.search(r"^```python\n(.*?)^```", PYTHON_PAGE, re.DOTALL | re.MULTILINE)
    assert example
    done = subprocess.run(
        [sys.executable, "-c", example[1]],
        cwd=tmp_path / "tree",
        env={**os.environ, "CAIRN_HOME": str(tmp_path / "home"), "PYTHONPATH": str(Path(cairn.__file__).parent.parent)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == [
        "ledger.py 1 settle",
        "ledger.py 1 def settle(account)",
        "ledger.py 5 settle(1)",
    ]
