"""What hides secrets in an answer: texts of any field, cut texts, files full of secrets, patches; and when it works."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import cairn
import cairn.core.secrets as secrets_module
from cairn.answer.envelope import Envelope, ok
from cairn.core.limits import MAX_SECRETS
from cairn.core.secrets import REDACTED
from cairn.errors import SecretsInPatch
from cairn.tools import table
from cairn.tools.shield import shielded
from tests.support.faults import Faults
from tests.support.secrets import TOKENS, WORD, drawn, private_key
from tests.support.servers import Agent

RNG = random.Random(7)
TOKEN = TOKENS["github classic"](RNG)
KEY = private_key(RNG, lines=8)
FILE = f'import os\n\nTOKEN = "{TOKEN}"\nKEY = """{KEY}"""\n'


def answer(**body: Any) -> Envelope:
    return ok("cairn.search/1", path=None, root="/r", body=[*body.items(), ("limitsHit", []), ("warnings", [])])


def shown(text_of: Callable[[str], bytes | None] = lambda _: None, **body: Any) -> dict[str, Any]:
    return dict(shielded(answer(**body), text_of).body)


def of_file(name: str) -> bytes | None:
    return FILE.encode() if name == "a.py" else None


def test_a_text_under_any_name_is_looked_at_and_names_of_files_are_not() -> None:
    found = shown(anything={"deep": [{"new": f"x {TOKEN}", "path": f"{TOKEN}.py"}]}, continuation=f"x {TOKEN}")
    assert found["anything"] == {"deep": [{"new": f"x {REDACTED}", "path": f"{TOKEN}.py"}]}
    assert found["continuation"] == f"x {TOKEN}"
    assert found["redactedLines"] == 1
    assert list(found)[-3:] == ["redactedLines", "limitsHit", "warnings"]


def test_an_answer_without_secrets_is_the_same_object() -> None:
    whole = answer(results=[{"path": "b.py", "text": "nothing here"}])
    assert shielded(whole, of_file) is whole


def test_what_was_cut_is_known_by_the_file_it_is_from() -> None:
    lines = KEY.splitlines()
    middle = "\n".join(lines[3:6])
    for text, left in (
        (middle, "\n".join([REDACTED] * 3)),
        (f'TOKEN = "{TOKEN[:15]}…', f'TOKEN = "{REDACTED}…'),
        (f'…{TOKEN[20:]}"', f'…{REDACTED}"'),
        (f"…{TOKEN[9:30]}…", f"…{REDACTED}"),
        (f'TOKEN = "{TOKEN[:12]}', f'TOKEN = "{REDACTED}'),
        (lines[-2][:20], REDACTED),
    ):
        found = shown(of_file, results=[{"path": "a.py", "startLine": 3, "endLine": 12, "text": text}])
        assert found["results"][0]["text"] == left
        assert found["redactedLines"] == left.count("\n") + 1
    # The same text of another file gives nothing away.
    rows = [{"path": "b.py", "startLine": 3, "endLine": 12, "text": middle}]
    assert shown(of_file, results=rows)["results"] == rows


def test_a_file_with_too_many_secrets_shows_its_lines_and_none_of_their_text() -> None:
    many = "\n".join(f'a{n} = "{TOKENS["npm"](RNG)}"' for n in range(MAX_SECRETS + 1)).encode()
    found = shown(lambda _: many, results=[{"path": "a.py", "startLine": 1, "endLine": 3, "text": "one\n\nthree"}])
    assert found["results"][0]["text"] == f"{REDACTED}\n\n{REDACTED}"
    assert found["redactedLines"] == 2


def test_a_patch_that_holds_a_secret_is_refused_and_any_other_is_not() -> None:
    patch = "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n-x = 1\n+y = 1\n TOKEN = {}\n"
    assert "redactedLines" not in shown(text=patch)
    for one in (patch.format(f'"{TOKEN}"'), "diff --git a/a.py b/a.py\n" + patch.format(f'"{TOKEN}"')):
        with pytest.raises(SecretsInPatch) as told:
            shown(text=one)
        assert "not given to an agent" in told.value.sentence
        assert TOKEN not in str(told.value)


def test_a_patch_with_a_secret_is_an_error_to_whoever_calls_a_tool(indexed: Agent, faults: Faults) -> None:
    patch = f'--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-a = 1\n+a = "{TOKEN}"\n'
    planned = ok("cairn.rename/1", path=None, root=None, body=[("text", patch), ("warnings", [])])
    faults.around(table, "_answer", lambda *_: planned)
    refused = indexed.ask("file_outline", file="lease.py")
    assert refused["error"]["code"] == "secrets_in_patch"
    assert "terminal" in refused["hints"]["next"]


def test_hostile_answers_take_linear_time() -> None:
    secret = "abcdefgh" * 40 + drawn(RNG, WORD, 40)
    data = f'password = "{secret}"\n'.encode() * 300
    text = "\n".join("abcdefgh" * 60 for _ in range(200))
    begin = time.process_time()
    shown(lambda _: data, results=[{"path": "a", "startLine": n, "endLine": n + 90, "text": text} for n in range(5)])
    assert time.process_time() - begin < 5


def test_no_secret_is_looked_for_while_a_codebase_is_indexed(parsed_here: None, agent: Agent, faults: Faults) -> None:
    looked: list[int] = []

    def counting(real: Callable[..., Any], data: bytes) -> Any:
        looked.append(len(data))
        return real(data)

    faults.around(secrets_module, "_tokens", counting)
    text = f"{FILE}\nnobody = 1\n"
    (agent.tree / "keys.py").write_text(text)
    agent.index()
    # The answer of the run itself is looked at, and nothing as long as the file.
    assert max(looked) < len(text)
    looked.clear()
    assert agent.ask("read_file", file="keys.py")["redactedLines"] == 9
    assert max(looked) >= len(text)


def test_only_answers_and_pushes_look_for_secrets() -> None:
    package = Path(cairn.__file__).parent
    importing = {
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if "cairn.core.secrets import" in path.read_text()
    }
    assert importing == {"tools/shield.py", "sync/remote/secrets.py"}
