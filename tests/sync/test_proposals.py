"""A change in a repository's `.cairn.toml` is a proposal: the index from before answers until somebody takes it up."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

import cairn
from cairn.core.clock import SYSTEM_CLOCK
from cairn.core.config import load_config
from cairn.errors import ConfigError, NotIndexed, RequiresReindex
from cairn.sync import codebase as codebase_module
from cairn.sync import run
from cairn.sync.codebase import Codebase, open_codebase, place_of
from cairn.sync.report import RunOptions
from cairn.sync.status import State, look
from tests.support import commands
from tests.support.commands import Typed
from tests.support.servers import Agent
from tests.sync.desk import extract_here, silent

CSV = '[index]\ntypes = ["csv"]\n'
MODEL = 'url = "http://127.0.0.1:9/v1"\ndimension = 8\n'


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Agent:
    extract_here(monkeypatch, SYSTEM_CLOCK)
    found = Agent(tmp_path)
    found.close()
    (found.tree / "rows.csv").write_text("lease,1\n")
    return found


def opened(agent: Agent) -> Codebase:
    return open_codebase(str(agent.tree), agent.environ)


def made(agent: Agent, verb: str = "index") -> None:
    engine = {"index": run.index, "reindex": run.reindex, "sync": run.sync}[verb]
    engine(opened(agent), RunOptions(str(agent.home)), silent)


def indexed_files(agent: Agent) -> int:
    snapshot = look(opened(agent), str(agent.home)).snapshot
    return snapshot.files if snapshot else 0


def test_what_a_repository_proposes_leaves_the_index_in_force_until_a_reindex(agent: Agent) -> None:
    made(agent)
    before = place_of(opened(agent), str(agent.home)).store_id
    (agent.tree / ".cairn.toml").write_text(CSV)
    codebase = opened(agent)
    assert place_of(codebase, str(agent.home)).store_id == before
    assert codebase.proposal is not None
    assert codebase.proposal.differs == ("index.types",)
    # A sync keeps the index in force up to date, and makes no other.
    (agent.tree / "later.py").write_text("def later(): ...\n")
    made(agent, "sync")
    assert indexed_files(agent) == 3
    assert len(list((agent.home / "data").iterdir())) == 1
    made(agent, "reindex")
    codebase = opened(agent)
    assert codebase.proposal is None
    assert place_of(codebase, str(agent.home)).store_id != before
    assert indexed_files(agent) == 4


def test_an_index_is_also_taken_up_by_asking_for_one(agent: Agent) -> None:
    made(agent)
    (agent.tree / ".cairn.toml").write_text(CSV)
    made(agent, "index")
    assert opened(agent).proposal is None


def test_of_several_indexes_the_last_one_answers_a_proposal(agent: Agent) -> None:
    made(agent)
    (agent.tree / ".cairn.toml").write_text(CSV)
    made(agent, "reindex")
    (agent.tree / ".cairn.toml").write_text(CSV + "untracked = false\n")
    proposal = opened(agent).proposal
    assert proposal is not None
    assert proposal.differs == ("index.untracked",)
    assert indexed_files(agent) == 3
    # The settings are put back: nothing is proposed any more.
    (agent.tree / ".cairn.toml").write_text(CSV)
    assert opened(agent).proposal is None


def test_after_a_clear_no_older_index_comes_into_force(agent: Agent) -> None:
    made(agent)
    (agent.tree / ".cairn.toml").write_text(CSV)
    made(agent, "reindex")
    (agent.tree / ".cairn.toml").write_text(CSV.replace("csv", "tsv"))
    assert opened(agent).proposal is not None
    run.clear(opened(agent), RunOptions(str(agent.home)), silent)
    assert opened(agent).proposal is None
    assert look(opened(agent), str(agent.home)).state is State.CLEARED
    with pytest.raises(NotIndexed):
        made(agent, "sync")
    made(agent, "index")
    assert look(opened(agent), str(agent.home)).state is State.INDEXED


def test_a_clear_empties_the_indexes_by_other_settings_too(agent: Agent) -> None:
    """The settings are changed, taken up, and changed back after a clear: the first index does not come back."""
    assert typed(agent, "index").status == 0
    (agent.tree / ".cairn.toml").write_text(CSV)
    assert typed(agent, "reindex").status == 0
    assert typed(agent, "clear").status == 0
    (agent.tree / ".cairn.toml").unlink()
    found = typed(agent, "search", "Lease", "--json")
    assert (found.status, json.loads(found.stdout)["status"]) == (10, "not_indexed"), found
    assert typed(agent, "index").status == 0
    assert json.loads(typed(agent, "search", "Lease", "--json").stdout)["results"]


def test_an_index_that_was_cleared_hides_no_newer_one(agent: Agent) -> None:
    made(agent)
    run.clear(opened(agent), RunOptions(str(agent.home)), silent)
    (agent.tree / ".cairn.toml").write_text(CSV)
    made(agent)
    (agent.tree / ".cairn.toml").unlink()
    codebase = opened(agent)
    assert codebase.proposal is not None, "the newer index answers, and the settings from before are proposed"
    assert indexed_files(agent) == 3
    # Only the one that answers is in force: a clear of it is one of both.
    run.clear(codebase, RunOptions(str(agent.home)), silent)
    assert opened(agent).proposal is None
    assert look(opened(agent), str(agent.home)).state is State.CLEARED


def test_a_disk_that_fails_once_at_the_index_in_force_does_not_close_the_gate(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(agent)
    (agent.tree / ".cairn.toml").write_text(CSV)
    real, failed = codebase_module.Store.newest, []

    def newest(store: Any, *more: Any) -> Any:
        if not failed:
            failed.append(True)
            raise OSError(errno.EIO, "the disk")
        return real(store, *more)

    monkeypatch.setattr(codebase_module.Store, "newest", newest)
    assert opened(agent).proposal is not None
    assert failed


def test_a_member_of_a_group_takes_up_what_the_repository_proposes(agent: Agent) -> None:
    agent.home.mkdir()
    agent.home.chmod(0o2770)
    assert typed(agent, "index", "--shared").status == 0
    (agent.tree / ".cairn.toml").write_text(CSV)
    told = json.loads(typed(agent, "status", "--json").stdout)
    assert told["hints"]["requiresReindex"]
    assert typed(agent, "reindex").status == 0
    assert opened(agent).proposal is None
    # What a member chooses for themselves still makes no second index.
    (agent.home / "config.toml").write_text("[limits]\nmax_file_bytes = 900_000\n")
    assert "shared_mismatch" in typed(agent, "index", "--json").stdout


def test_what_leaves_files_out_holds_at_once_beside_a_proposal(agent: Agent) -> None:
    made(agent)
    (agent.tree / ".cairn.toml").write_text(CSV + 'exclude = ["lease.py"]\n')
    assert opened(agent).proposal is not None
    made(agent, "sync")
    assert indexed_files(agent) == 1


@pytest.mark.parametrize("limit", ["max_file_bytes = 900_000", "max_chunks_per_file = 400"])
def test_a_users_own_change_closes_the_gate_and_no_sync_makes_another_index(agent: Agent, limit: str) -> None:
    made(agent)
    agent.settings(f"[limits]\n{limit}\n")
    assert opened(agent).proposal is None
    assert look(opened(agent), str(agent.home)).differs
    with pytest.raises(RequiresReindex):
        made(agent, "sync")
    assert not any(place_of(opened(agent), str(agent.home)).store_id in str(one) for one in agent.home.rglob("*.json"))
    # So does one that comes together with a change of the repository's.
    (agent.tree / ".cairn.toml").write_text(CSV)
    assert opened(agent).proposal is None
    agent.settings("")
    assert opened(agent).proposal is not None


def test_a_limit_of_the_user_that_is_taken_back_is_not_taken_for_the_repositorys(agent: Agent) -> None:
    agent.settings("[limits]\nmax_file_bytes = 900_000\n")
    made(agent)
    agent.settings("")
    assert opened(agent).proposal is None
    assert look(opened(agent), str(agent.home)).differs == ("limits.maxFileBytes",)


def test_an_index_that_does_not_say_what_it_follows_follows_no_file(agent: Agent) -> None:
    made(agent)
    (agent.tree / ".cairn.toml").write_text(CSV)
    made(agent, "reindex")
    place = place_of(opened(agent), str(agent.home))
    (Path(place.path) / "settings.toml").unlink()
    (agent.tree / ".cairn.toml").unlink()
    assert opened(agent).proposal is None, "the first index is the right one"
    (agent.tree / ".cairn.toml").write_text("[limits]\nmax_file_bytes = 1_000\n")
    found = opened(agent).proposal
    assert found is not None, "an older Cairn made the first one: what it follows is known only where that is nothing"
    assert found.differs == ("limits.maxFileBytes",)


# --- models -----------------------------------------------------------------------------------------------------------


def test_a_repository_may_name_a_model_of_the_users_list_and_no_other() -> None:
    own = f'[embedding]\nprovider = "http"\nmodel = "usual"\n{MODEL}[embedding.models.large]\n{MODEL}'.encode()
    assert load_config(None, own).embedding.model == "usual"
    assert load_config(b'[embedding]\nmodel = "large"\n', own).embedding.model == "large"
    assert load_config(b'[embedding]\nmodel = "usual"\n', own).embedding.model == "usual"
    assert load_config(b'[embedding]\nmodel = "bundled"\n', own).embedding.provider == "bundled"
    for user in (own, None):
        with pytest.raises(ConfigError, match="'other', which your own settings do not list"):
            load_config(b'[embedding]\nmodel = "other"\n', user)
    alone = f"[embedding.models.large]\n{MODEL}".encode()
    assert load_config(None, alone).embedding.provider == "bundled"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[embedding]\nmodels = 1\n", "must be a table of models"),
        ("[embedding.models]\nlarge = 1\n", "must be a table of models"),
        ('[embedding.models.large]\nkey = "secret"\n', "holds 'large' with a key 'key'"),
        ('[embedding.models.large]\nurl = "http://example.org"\n', "whose url must begin with https"),
        ("[embedding.models.large]\ndimension = 8\n", 'with provider = "http" needs url'),
    ],
)
def test_a_list_of_models_is_checked_like_the_model_itself(text: str, why: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(None, text.encode())
    assert why in caught.value.sentence


def test_another_model_is_no_proposal_but_closes_the_gate(agent: Agent) -> None:
    agent.settings(f"[embedding.models.large]\n{MODEL}")
    made(agent)
    (agent.tree / ".cairn.toml").write_text('[embedding]\nmodel = "large"\n')
    codebase = opened(agent)
    assert codebase.proposal is None
    assert "embeddingModel" in look(codebase, str(agent.home)).differs
    (agent.tree / ".cairn.toml").write_text(f'{CSV}[embedding]\nmodel = "bundled"\n')
    assert opened(agent).proposal is not None, "the model is the same"


# --- faces ------------------------------------------------------------------------------------------------------------


def typed(agent: Agent, *arguments: str) -> Typed:
    return commands.typed(arguments, agent.tree, {**os.environ, **agent.environ})


def test_at_a_terminal_the_index_from_before_answers_with_one_line_that_says_so(agent: Agent) -> None:
    made(agent)
    (agent.tree / ".cairn.toml").write_text(CSV)
    (agent.tree / "later.py").write_text("def later(): ...\n")
    answer = typed(agent, "symbol", "later", "--stale-ok", "--json")
    told = json.loads(answer.stdout)
    assert [row["symbol"] for row in told["results"]] == ["later"]
    assert told["hints"]["requiresReindex"]["differs"] == ["index.types"]
    assert len(told["warnings"]) == 1
    shown = typed(agent, "search", "later")
    assert shown.status == 0
    assert shown.stderr.count("asks for another index") == 1
    assert "cairn reindex" in shown.stderr


def test_a_sync_takes_a_proposal_up_where_the_user_has_allowed_it(agent: Agent) -> None:
    made(agent)
    (agent.tree / ".cairn.toml").write_text(CSV)
    assert "asks for another index" in typed(agent, "sync").stderr
    assert opened(agent).proposal is not None
    agent.settings("[index]\nauto_reindex = true\n")
    assert "asks for another index" not in typed(agent, "sync").stderr
    assert opened(agent).proposal is None


def test_an_open_codebase_says_what_is_proposed(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAIRN_HOME", str(agent.home))
    with cairn.open(agent.tree) as code:
        assert code.requires_reindex == ()
        (agent.tree / ".cairn.toml").write_text(CSV)
        (agent.tree / "later.py").write_text("def later(): ...\n")
        assert code.requires_reindex == ("index.types",)
        assert [one.name for one in code.symbol("later")] == ["later"]
    with cairn.open(agent.tree) as code:
        assert [one.name for one in code.symbol("later")] == ["later"]
        assert code.requires_reindex == ("index.types",)
