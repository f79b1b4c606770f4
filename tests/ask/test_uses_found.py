"""Uses that were missing, dismissed or too sure in real codebases, asked for as anybody asks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from cairn.core.limits import MAX_REFERENCES
from cairn.graph.uses import Uses
from tests.ask.test_relations import found, indexed, opened

Row = tuple[str, int, str, str]
"""A use as its file, its line, what it does and how sure it is."""


def told(world: Path, files: Mapping[str, str], name: str) -> Uses:
    with opened(world, indexed(world, dict(files))) as session:
        return found(session, name, limit=MAX_REFERENCES)


def rows(uses: Uses) -> list[Row]:
    return [(use.path, use.line, use.kind, use.tier) for use in uses.uses]


SERVER = {
    "server.h": """\
#define C_OK 0
#define C_ERR -1
typedef struct client { int flags; } client;
enum { BLOCKED_NONE, BLOCKED_LIST };
void readQuery(connection *conn);
#define isOk(x) ((x) == C_OK)
""",
    "networking.c": """\
#include "server.h"
void readQuery(connection *conn) { }
client *accept(connection *conn) {
  connSetReadHandler(conn, readQuery);
  if (conn->read == readQuery) return C_OK;
  c->flags |= 1;
  return C_OK;
}
""",
    "tls.c": """\
#include "server.h"
static Type type = { .read = readQuery };
void (*table[])(connection *) = { readQuery, NULL };
int blocked(client *c) { return c->flags == BLOCKED_LIST; }
""",
}


def test_a_callback_of_c_is_found_wherever_it_is_handed_over(tmp_path: Path) -> None:
    assert rows(told(tmp_path, SERVER, "readQuery")) == [
        ("networking.c", 4, "value", "proven"),
        ("networking.c", 5, "value", "proven"),
        ("tls.c", 2, "value", "proven"),
        ("tls.c", 3, "value", "proven"),
    ]


def test_a_macro_of_c_is_used_where_it_is_read(tmp_path: Path) -> None:
    assert rows(told(tmp_path, SERVER, "C_OK")) == [
        ("networking.c", 5, "value", "proven"),
        ("networking.c", 7, "value", "proven"),
        ("server.h", 6, "value", "proven"),
    ]


def test_a_field_is_used_where_it_is_read_and_then_where_it_is_written(tmp_path: Path) -> None:
    assert rows(told(tmp_path, SERVER, "client.flags")) == [
        ("tls.c", 4, "read", "likely"),
        ("networking.c", 6, "write", "likely"),
    ]


STRUCTS = {
    "server.h": """\
typedef struct client { int flags; struct user *user; object *key; struct { int flags; } inner; } client;
typedef struct user { int flags; } user;
struct later;
typedef struct later later_t;
struct later { int flags; };
typedef struct { int flags; void *ptr; } object;
struct server { client *master; int flags; };
extern struct server server;
struct place { int flags; };
struct user place;
""",
    "a.c": """\
#include "server.h"
void f(client *c, const user *u, int flags) {
  c->flags |= flags;
  if (u->flags && c->user->flags) server.master->flags = server.flags;
  c->key->flags = c->inner.flags;
}
void g(int a) { later_t *l = made(a && l); if (a * l) l->flags = unknown->flags; }
void g(void) { place.flags = 1; }
""",
}


def test_a_field_of_one_structure_is_told_from_the_field_of_another_by_what_is_declared(tmp_path: Path) -> None:
    with opened(tmp_path, indexed(tmp_path, STRUCTS)) as session:
        for name, places in {
            "client.flags": [(3, 6), (4, 50)],
            "user.flags": [(4, 10), (4, 28), (8, 22)],
            "place.flags": [],
            "object.flags": [(5, 11)],
            "later.flags": [(7, 58)],
            "server.flags": [(4, 65)],
        }.items():
            uses = found(session, name)
            sure = [(use.line, use.column, use.tier) for use in uses.uses if use.tier != "name_only"]
            assert sorted(sure) == sorted((*place, "likely") for place in places), name
            # What only has the name comes last, and of that the bare names, which mean no field.
            assert uses.uses[-1].text.startswith(("void f(", "  c->flags |= flags")), name


def test_a_member_of_an_enum_is_used_where_it_is_read(tmp_path: Path) -> None:
    assert rows(told(tmp_path, SERVER, "BLOCKED_LIST")) == [("tls.c", 4, "value", "proven")]
    color = {"c.py": "class Color:\n    RED = 1\n", "d.py": "from c import Color\nprint(Color.RED)\n"}
    assert rows(told(tmp_path / "more", color, "Color.RED")) == [("d.py", 2, "read", "proven")]


def test_a_method_that_partialmethod_wraps_is_used_there(tmp_path: Path) -> None:
    files = {
        "models/base.py": "class Model:\n    def _get_next_or_previous(self, field, is_next): ...\n",
        "models/fields.py": """\
from functools import partialmethod
from models.base import Model

class DateField:
    def contribute_to_class(self, cls):
        setattr(cls, "next", partialmethod(cls._get_next_or_previous, field=self))
""",
    }
    assert rows(told(tmp_path, files, "Model._get_next_or_previous")) == [("models/fields.py", 6, "read", "likely")]


NOTIFY = {
    "src/lib.rs": "pub mod notify;\npub mod other;\npub mod user;\n",
    "src/notify.rs": "pub struct Notify;\nimpl Notify {\n    pub fn notify_one(&self) {}\n}\n",
    "src/other.rs": "pub struct Other;\nimpl Other {\n    pub fn notify_one(&self) {}\n}\n",
    "src/user.rs": """\
use std::sync::{Arc, MutexGuard};
use crate::notify::Notify;
struct User { notify: Arc<Notify> }
impl User {
    fn go(&self) { self.notify.notify_one(); }
}
fn typed(n: Arc<Notify>, m: &Box<Notify>) { n.notify_one(); m.notify_one(); }
fn made() { let n = Arc::new(Notify::new()); n.notify_one(); }
fn nested(n: &'a Arc<Box<Notify>>) { n.notify_one() }
fn locked(n: MutexGuard<'_, Notify>) { n.notify_one() }
fn foreign(n: Wrapped<Notify>) { n.notify_one() }
""",
}


def test_a_method_is_found_on_a_value_in_a_smart_pointer_and_is_not_said_to_be_another(tmp_path: Path) -> None:
    uses = told(tmp_path, NOTIFY, "Notify.notify_one")
    assert rows(uses) == [
        ("src/user.rs", 5, "call", "likely"),
        ("src/user.rs", 7, "call", "likely"),
        ("src/user.rs", 7, "call", "likely"),
        ("src/user.rs", 8, "call", "likely"),
        ("src/user.rs", 9, "call", "likely"),
        ("src/user.rs", 10, "call", "likely"),
        ("src/user.rs", 11, "call", "name_only"),
    ]
    assert uses.elsewhere == 0


def test_what_a_macro_hands_on_is_found_below_the_module_that_an_import_names(tmp_path: Path) -> None:
    files = {
        "tokio/Cargo.toml": '[package]\nname = "tokio"\n',
        "tokio/src/lib.rs": "pub mod sync;\npub mod other;\n",
        "tokio/src/sync/mod.rs": "cfg_sync! {\n    mod notify;\n    pub use notify::Notify;\n}\n",
        "tokio/src/sync/notify.rs": NOTIFY["src/notify.rs"],
        "tokio/src/other.rs": NOTIFY["src/other.rs"],
        "tokio/tests/sync_notify.rs": """\
use tokio::sync::Notify;
use std::sync::Arc;

fn notified() {
    let notify = Arc::new(Notify::new());
    notify.notify_one();
    let other = notify.clone();
    other.notify_one();
}
""",
        "tokio/src/sync/tests/mod.rs": "mod loom;\n",
        "tokio/src/sync/tests/loom.rs": """\
use crate::sync::Notify;
fn notify_one() { let n = Arc::new(Notify::new()); n.notify_one(); }
""",
    }
    with opened(tmp_path, indexed(tmp_path, files)) as session:
        assert rows(found(session, "Notify.notify_one")) == [
            ("tokio/src/sync/tests/loom.rs", 2, "call", "likely"),
            ("tokio/tests/sync_notify.rs", 6, "call", "likely"),
            ("tokio/tests/sync_notify.rs", 8, "call", "likely"),
        ]
        assert ("tokio/tests/sync_notify.rs", 5, "value", "likely") in rows(
            found(session, "tokio/src/sync/notify.rs:1")
        )


def test_a_function_beside_a_module_of_its_name_is_what_is_called(tmp_path: Path) -> None:
    files = {
        "src/lib.rs": "pub mod exec;\npub mod main_loop;\n",
        "src/exec/mod.rs": "mod batch;\nmod job;\npub use self::job::{batch, job};\n",
        "src/exec/job.rs": "pub fn batch() {}\npub fn job() {}\n",
        "src/exec/batch.rs": "pub fn size() {}\n",
        "src/main_loop.rs": "use crate::exec;\nfn go() {\n    exec::job();\n    exec::batch();\n}\n",
    }
    with opened(tmp_path, indexed(tmp_path, files)) as session:
        for name, line, column in (("job", 3, 28), ("batch", 4, 21)):
            uses = found(session, f"src/exec/job.rs#{name}")
            assert rows(uses) == [
                ("src/main_loop.rs", line, "call", "proven"),
                ("src/exec/mod.rs", 3, "import", "proven"),
            ]
            assert (uses.uses[1].column, uses.elsewhere) == (column, 0)


@pytest.mark.parametrize("name", ["setsockopt", "assert", "snprintf"])
def test_a_macro_behind_a_condition_is_likely_where_the_function_of_the_system_may_be_meant(
    tmp_path: Path, name: str
) -> None:
    files = {
        "config.h": """\
#ifndef CONFIG_H
#define CONFIG_H
#ifdef NO_SOCKETS
#define setsockopt(a, b) own(a)
#endif
#if DEBUG
#define assert(x) own(x)
#else
#define snprintf own
#endif
#define PLAIN 1
#endif
""",
        "a.c": '#include "config.h"\nint f(void) { setsockopt(1, 2); assert(1); return snprintf(PLAIN); }\n',
    }
    assert rows(told(tmp_path, files, name)) == [("a.c", 2, "call", "likely")]
    assert rows(told(tmp_path / "more", files, "PLAIN")) == [("a.c", 2, "value", "proven")]


def test_an_include_of_the_language_leads_to_no_file_of_its_name_somewhere_in_the_tree(tmp_path: Path) -> None:
    files = {
        "deps/alloc/internal/assert.h": "#define assert(e) own(e)\n",
        "deps/alloc/internal/a.c": '#include "assert.h"\nvoid g(void) { assert(1); }\n',
        "src/a.c": "#include <assert.h>\nvoid f(void) { assert(1); }\n",
        "libc/include/string.h": "#define strange(e) own(e)\n",
        "src/b.c": "#include <string.h>\nvoid f(void) { strange(1); }\n",
    }
    assert rows(told(tmp_path, files, "assert")) == [
        ("deps/alloc/internal/a.c", 2, "call", "proven"),
        ("src/a.c", 2, "call", "name_only"),
    ]
    assert rows(told(tmp_path / "more", files, "strange")) == [("src/b.c", 2, "call", "proven")]


def test_a_method_with_the_name_of_one_of_rspec_is_not_guessed_in_the_tests(tmp_path: Path) -> None:
    files = {
        "lib/sinatra/base.rb": "module Sinatra\n  module Helpers\n    def to(addr); end\n  end\nend\n",
        "lib/sinatra/other.rb": "class Page\n  def go(view)\n    view.to(1)\n  end\nend\n",
        "spec/base_spec.rb": "describe Helpers do\n  it { expect(a).to eq(1) }\n  it { expect(x).to be }\nend\n",
    }
    uses = told(tmp_path, files, "Helpers.to")
    assert {use.tier for use in uses.uses} == {"name_only"}
    assert (uses.proven, uses.likely, uses.name_only) == (0, 0, 3)


def test_words_of_a_text_that_ends_with_a_word_are_no_uses_and_those_of_a_list_may_be(tmp_path: Path) -> None:
    text = """\
class Page
  def to(addr); end

  def go
    warn <<~EOM, to(1)
      Add them to your bundle with: # "
    EOM
    %w[to from].each { |name| send name }
    to 2 if name =~ /to it/
  end
end
"""
    assert rows(told(tmp_path, {"page.rb": text}, "Page.to")) == [
        ("page.rb", 5, "call", "proven"),
        ("page.rb", 9, "call", "proven"),
        ("page.rb", 8, "string", "name_only"),
    ]


def test_a_comment_before_a_call_hides_nothing(tmp_path: Path) -> None:
    files = {
        "urls.py": "def set_urlconf(name): ...\n",
        "handler.py": """\
from urls import set_urlconf

def run():
    # Set up default url resolver for this thread
    set_urlconf(1)
""",
    }
    assert rows(told(tmp_path, files, "set_urlconf")) == [
        ("handler.py", 5, "call", "proven"),
        ("handler.py", 1, "import", "proven"),
    ]


REVERSE = {
    "django/urls/__init__.py": "from .base import reverse\n\n__all__ = ['reverse']\n",
    "django/urls/base.py": "def reverse(viewname): ...\n",
    "django/db/query.py": "class Query:\n    def reverse(self): ...\n",
    "app.py": "from django.urls import reverse\n\nprint(reverse('home'))\n",
}


def test_the_import_path_that_everybody_uses_names_a_definition(tmp_path: Path) -> None:
    with opened(tmp_path, indexed(tmp_path, REVERSE)) as session:
        uses = found(session, "django.urls.reverse")
        assert uses.definitions[0].place == "django/urls/base.py:1"
        assert uses.definitions == found(session, "django.urls.base.reverse").definitions
        assert ("app.py", 3, "call", "proven") in rows(uses)
        best = found(session, "reverse")
        assert {best.definitions[0].place, *(each.place for each in best.candidates)} == {
            "django/urls/base.py:1",
            "django/db/query.py:2",
        }


def test_all_of_four_hundred_uses_can_be_reached_and_imports_come_after_them(tmp_path: Path) -> None:
    files = {"a.py": "def take(x): ...\n"}
    files |= {f"use{n}.py": "from a import take\n" + "take(1)\n" * 49 for n in range(9)}
    with opened(tmp_path, indexed(tmp_path, files)) as session:
        seen: list[Row] = []
        for offset in range(0, 500, 200):
            seen += rows(found(session, "take", limit=200, offset=offset))
    assert len(set(seen)) == len(seen) == 9 * 50
    assert [kind for _, _, kind, _ in seen] == ["call"] * 441 + ["import"] * 9


def test_an_import_that_nobody_follows_is_a_place_that_may_mean_it(tmp_path: Path) -> None:
    files = {
        "adapter.ex": "defmodule Adapter do\n  def run, do: 1\nend\n",
        "use.ex": "defmodule Use do\n  alias App.Adapter\n  import Adapter, only: [run: 0]\nend\n",
    }
    assert rows(told(tmp_path, files, "Adapter")) == [
        ("use.ex", 2, "import", "name_only"),
        ("use.ex", 3, "import", "name_only"),
    ]
    files = {
        "box/__init__.py": "def __getattr__(name): ...\n",
        "box/inner.py": "def take(): ...\n",
        "use.py": "from box import take\nfrom take import box\nfrom os import take as it\n\ntake()\n",
    }
    uses = told(tmp_path / "more", files, "take")
    assert rows(uses) == [("use.py", 5, "call", "likely"), ("use.py", 1, "import", "likely")]
    assert (uses.likely, uses.imports, uses.elsewhere) == (1, 1, 2)


def test_nothing_uses_it_is_said_only_when_no_other_place_has_the_name(tmp_path: Path) -> None:
    files = {"a.py": "def take(x): ...\ndef never(): ...\n", "b.py": "def f(x):\n    return x.take\n"}
    with opened(tmp_path, indexed(tmp_path, files)) as session:
        assert found(session, "never").total == 0
        assert [(use.path, use.tier) for use in found(session, "take").uses] == [("b.py", "name_only")]
