"""Where programs begin."""

from __future__ import annotations

import json
from collections.abc import Mapping

from cairn.graph.entry_points import EntryKind, EntryPoint, entry_points
from cairn.graph.modules import files_of
from tests.graph.code import code_view


def begins(tree: Mapping[str, str | bytes]) -> list[EntryPoint]:
    with code_view(tree) as view:
        return list(entry_points(view, files_of(view)))


def test_a_script_of_a_python_project_leads_to_its_function() -> None:
    tree = {
        "pyproject.toml": '[project.scripts]\nsay = "tool.cli:main"\ngone = "tool.gone:run"\n'
        '[tool.poetry.scripts]\nold = "tool:start"\n',
        "src/tool/__init__.py": "def start(): ...\n",
        "src/tool/cli.py": "\n\ndef main(): ...\n",
        "other/tool/cli.py": "def main(): ...\n",
    }
    assert begins(tree) == [
        EntryPoint(EntryKind.COMMAND, "pyproject.toml", 0, "gone"),
        EntryPoint(EntryKind.COMMAND, "src/tool/__init__.py", 1, "old"),
        EntryPoint(EntryKind.COMMAND, "src/tool/cli.py", 3, "say"),
    ]


def test_of_several_files_the_one_in_the_folder_of_the_settings_is_meant() -> None:
    script = '[project.scripts]\nsay = "tool.cli:main"\n'
    tree = {"z/pyproject.toml": script, "z/src/tool/cli.py": "def main(): ...\n", "a/tool/cli.py": "x = 1\n"}
    assert begins(tree) == [EntryPoint(EntryKind.COMMAND, "z/src/tool/cli.py", 1, "say")]
    elsewhere = {"pyproject.toml": script, "py/deep/tool/cli.py": "def main(): ...\n", "py/tool/cli.py": "x = 1\n"}
    assert begins(elsewhere) == [EntryPoint(EntryKind.COMMAND, "py/tool/cli.py", 0, "say")]


def test_a_package_of_node_names_its_commands_and_its_main_file() -> None:
    tree = {
        "package.json": json.dumps({"name": "tool", "bin": "./cli.js", "main": "lib"}),
        "sub/package.json": json.dumps({"name": "more", "bin": {"do": "dist/built.js"}, "main": "../../away.js"}),
        "cli.js": "run()\n",
        "lib/index.js": "run()\n",
    }
    assert begins(tree) == [
        EntryPoint(EntryKind.COMMAND, "cli.js", 0, "tool"),
        EntryPoint(EntryKind.COMMAND, "sub/package.json", 0, "do"),
        EntryPoint(EntryKind.LIBRARY, "lib/index.js", 0, "tool"),
        EntryPoint(EntryKind.LIBRARY, "sub/package.json", 0, "more"),
    ]


def test_the_programs_of_a_crate_are_its_main_file_and_those_that_it_lists() -> None:
    tree = {
        "Cargo.toml": '[package]\nname = "tool"\n[[bin]]\nname = "extra"\n[[bin]]\nname = "own"\npath = "own.rs"\n'
        '[[bin]]\nname = "gone"\n',
        "src/main.rs": "\nfn main() {}\n",
        "src/bin/extra.rs": "fn main() {}\n",
        "own.rs": "fn main() {}\n",
    }
    assert begins(tree) == [
        EntryPoint(EntryKind.COMMAND, "own.rs", 1, "own"),
        EntryPoint(EntryKind.COMMAND, "src/bin/extra.rs", 1, "extra"),
        EntryPoint(EntryKind.COMMAND, "src/main.rs", 2, "tool"),
    ]


def test_a_main_function_begins_a_program_in_the_languages_that_say_so() -> None:
    tree = {
        "cmd/tool/main.go": "package main\n\nfunc main() {}\n",
        "lib/main.go": "package lib\n\nfunc main() {}\n",
        "app.c": "int main(void) { return 0; }\n",
        "Tool.java": "class Tool {\n  public static void main(String[] a) {}\n}\n",
        "Not.java": "class Not {\n  void main() {}\n}\n",
        "Prog.cs": "class Prog {\n  static void Main() {}\n}\n",
        "main.py": "def main(): ...\n",
        "main.ts": "function main() {}\n",
    }
    assert [(one.way, one.path, one.line) for one in begins(tree)] == [
        (EntryKind.MAIN, "Prog.cs", 2),
        (EntryKind.MAIN, "Tool.java", 2),
        (EntryKind.MAIN, "app.c", 1),
        (EntryKind.MAIN, "cmd/tool/main.go", 3),
    ]


def test_python_files_that_are_run_as_they_are() -> None:
    tree = {
        "src/pkg/__init__.py": "",
        "src/pkg/inner/__init__.py": "",
        "src/pkg/inner/__main__.py": "if __name__ == '__main__':\n    run()\n",
        "manage.py": 'def main(): ...\n\nif __name__ == "__main__":\n    main()\n',
        "lib.py": "x = '__main__'\n",
    }
    assert begins(tree) == [
        EntryPoint(EntryKind.MODULE, "src/pkg/inner/__main__.py", 0, "pkg.inner"),
        EntryPoint(EntryKind.SCRIPT, "manage.py", 0, ""),
    ]


def test_settings_that_lie_or_cannot_be_read_lead_nowhere() -> None:
    tree = {
        "pyproject.toml": '[project]\nscripts = "no"\n[tool.poetry.scripts]\na = 3\nb = ""\nc = ":main"\n',
        "package.json": '{"bin": {"x": 1, "y": "../../../etc/passwd"}, "main": []}',
        "Cargo.toml": 'bin = 4\npackage = "x"\n',
        "deep/package.json": "[" * 3_000,
        "deep/Cargo.toml": "[[bin]]\nname = 4\npath = '/'\n[package]\nname = 'x'\n",
    }
    assert {one.path for one in begins(tree)} <= {"pyproject.toml", "package.json"}


def test_a_settings_file_of_thousands_of_commands_is_cut() -> None:
    scripts = "".join(f'c{n} = "m:f"\n' for n in range(3_000))
    assert len(begins({"pyproject.toml": f"[project.scripts]\n{scripts}"})) == 50
