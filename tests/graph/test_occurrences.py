"""Every place of a name is found: what is passed on, read, written, called by a macro or named in a string."""

from __future__ import annotations

import pytest

from cairn.engine.local import LocalEngine
from cairn.graph.occurrences import files_with
from cairn.graph.scopes import Tier
from cairn.graph.uses import Uses, uses_of
from tests.graph.trees import graph_of

# What it is about, the tree, the definition as (file, name), and its places as (file, line, kind, tier), imports left
# out. The lines were written down before they were looked up.
TRAPS = {
    "a callback of C": (
        {
            "a.h": "void take(int a);\n",
            "a.c": '#include "a.h"\nvoid take(int a) {}\nvoid run(void) { on(take); take(1); }\n',
        },
        ("a.c", "take"),
        [("a.c", 3, "value", "proven"), ("a.c", 3, "call", "proven")],
    ),
    "a macro of C": (
        {"a.h": "#define OK 0\n", "a.c": '#include "a.h"\nint f(void) { return OK; } /* OK */\n'},
        ("a.h", "OK"),
        [("a.c", 2, "value", "proven")],
    ),
    "a method that a class passes on": (
        {"a.py": "class A:\n    def _next(self): ...\n\n    def go(cls):\n        return partial(cls._next, 1)\n"},
        ("a.py", "_next"),
        [("a.py", 5, "read", "proven")],
    ),
    "a constant that is imported and read": (
        {"a.py": "LIMIT = 1\n", "b.py": "from a import LIMIT\nif x > LIMIT:\n    y = [LIMIT]\n"},
        ("a.py", "LIMIT"),
        [("b.py", 2, "value", "proven"), ("b.py", 3, "value", "proven")],
    ),
    "a variable that is written": (
        {"a.py": "count = 0\n\ndef more():\n    global count\n    count += 1\n"},
        ("a.py", "count"),
        [("a.py", 4, "value", "name_only"), ("a.py", 5, "write", "name_only")],
    ),
    "a function under another name": (
        {"a.py": "def take(): ...\n", "b.py": "from a import take as get\nrun(get)\nget()\n"},
        ("a.py", "take"),
        [("b.py", 2, "value", "proven"), ("b.py", 3, "call", "proven")],
    ),
    "a name in a string and a name in a text": (
        {"a.py": "def take(): ...\n\nf('take')\ng('do take it')\nh('app.take')\n"},
        ("a.py", "take"),
        [("a.py", 3, "string", "name_only"), ("a.py", 5, "string", "name_only")],
    ),
    "code inside a string": (
        {"a.py": "NAME = 1\nx = f'{NAME} NAME'\n"},
        ("a.py", "NAME"),
        [("a.py", 2, "value", "proven")],
    ),
    "a keyword argument": (
        {"a.py": "def size(): ...\n\nf(size=1)\nf(size=size)\n"},
        ("a.py", "size"),
        [("a.py", 3, "write", "name_only"), ("a.py", 4, "write", "name_only"), ("a.py", 4, "value", "proven")],
    ),
    "a value beside a key of the same name, which is a definition of its own": (
        {"a.ts": "export function size() {}\nconst a = { size: 1, b: size };\n"},
        ("a.ts", "size"),
        [("a.ts", 2, "value", "proven")],
    ),
    "a handler that is handed over": (
        {
            "a.ts": "export function onClick() {}\n",
            "b.ts": "import { onClick } from './a';\nbutton.on('click', onClick);\n",
        },
        ("a.ts", "onClick"),
        [("b.ts", 2, "value", "proven")],
    ),
    "a local variable of the name": (
        {"a.py": "def take(): ...\n\ndef run(take):\n    return take\n"},
        ("a.py", "take"),
        [("a.py", 3, "value", "name_only"), ("a.py", 4, "value", "name_only")],
    ),
    "a function value of Go": (
        {"go.mod": "module m\n", "a.go": "package m\n\nfunc take() {}\n", "b.go": "package m\n\nvar f = take\n"},
        ("a.go", "take"),
        [("b.go", 3, "value", "proven")],
    ),
    "a function value of Rust": (
        {"src/lib.rs": "fn take(a: i32) -> i32 { a }\nfn run() { let _ = vec![1].into_iter().map(take); }\n"},
        ("src/lib.rs", "take"),
        [("src/lib.rs", 2, "value", "proven")],
    ),
    "a method reference of Java": (
        {"A.java": "class A {\n  static int take(int a) { return a; }\n  void run() { s.map(A::take); }\n}\n"},
        ("A.java", "take"),
        [("A.java", 3, "call", "proven")],
    ),
    "a symbol of Ruby": (
        {"a.rb": "class A\n  def take; end\n  before :take\n  send('take')\nend\n"},
        ("a.rb", "take"),
        [("a.rb", 3, "value", "name_only"), ("a.rb", 4, "string", "name_only")],
    ),
}


def told(tree: dict[str, str], path: str, name: str) -> Uses:
    with graph_of(tree) as graph:
        [place, *_] = graph.places(path, name)
        return uses_of(graph, place, min_tier=Tier.NAME_ONLY, offset=0, limit=1_000)


@pytest.mark.parametrize("trap", TRAPS)
def test_every_place_is_found_with_what_it_is_and_how_sure_that_is(trap: str) -> None:
    tree, (path, name), expected = TRAPS[trap]
    found = [use for use in told(tree, path, name).uses if use.kind != "import"]
    shown = sorted((use.path, use.line, use.column, use.kind, use.tier) for use in found)
    assert [(path, line, kind, tier) for path, line, _, kind, tier in shown] == expected


def test_comments_and_texts_are_counted_and_not_listed() -> None:
    found = told({"a.py": "def take(): ...\n# take\nf('please take it')\n"}, "a.py", "take")
    assert (found.uses, found.total, found.mentions) == ((), 0, 2)


def test_a_file_of_another_family_holds_no_use() -> None:
    tree = {"a.py": "def take(): ...\n", "b.js": "run(take)\n", "README.md": "take\n"}
    assert told(tree, "a.py", "take").total == 0


def test_the_line_and_the_column_are_those_of_the_name() -> None:
    found = told({"a.py": "def take(): ...\n\nx = 'é', take\n"}, "a.py", "take")
    assert [(use.line, use.column, use.text) for use in found.uses] == [(3, 10, "x = 'é', take")]


@pytest.mark.parametrize(
    "name", ["take", "takeOne", "take_one", "TAKE_ONE", "HTTPServer2", "x", "is_it", "_own", "a1b2c3d4e5f6g7", "the"]
)
def test_the_words_of_the_index_leave_no_file_out_that_holds_a_name(name: str) -> None:
    around = (
        "{}",
        "({})",
        "a-{}",
        "{}-1",
        "1-{}",
        "x.{}-y",
        "{}-other-words",
        "${}",
        "\u00e9 {}",
        "\u4e2d{}\u4e2d",
        f"{'long-' * 20}{{}}",
    )
    tree = {f"f{number}.py": f"x = 1\n# {text.format(name)}\n" for number, text in enumerate(around)}
    with graph_of(tree | {"other.py": "other = 1\n"}) as graph:
        found = files_with(LocalEngine(graph.view), name)
        assert found is None or found >= tree.keys()
        assert found is None or len(name) < 4 or "other.py" not in found
