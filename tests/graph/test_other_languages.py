"""Golden references of Go, Rust, Java, Kotlin, Scala, C and C++.

The tables were written before the resolver ran on them; after it only the order of the sites of `help` was changed.
"""

from __future__ import annotations

from tests.graph.trees import check, graph_of


def test_go_binds_by_package_import_path_and_receiver() -> None:
    check(
        {
            "go.mod": "module example.com/app\n\ngo 1.22\n",
            "main.go": """\
package main

import (
	"fmt"
	st "example.com/app/store"
	"example.com/app/lost"
)

func main() {
	fmt.Open() // @1
	st.Open() // @2
	lost.Open() // @3
	helper() // @4
	db := st.DB{} // @5
	db.Query() // @6
}
""",
            "util.go": "package main\n\nfunc helper() {}\n",
            "main_test.go": "package main\n\nfunc TestIt() { helper() } // @7\n",
            "other_test.go": "package main_test\n\nfunc TestOther() { helper() } // @8\n",
            "store/db.go": """\
package store

type Base struct{}
type DB struct { Base } // @9

func Open() *DB { // @10
	d := &DB{} // @11
	d.Query()
	return d
}
func (b *Base) Close() {}
""",
            "store/query.go": """\
package store

func (d *DB) Query() { d.each(); d.Close(); Open() } // @12
func (d *DB) each() {}
func shadow(Open func()) { Open() } // @13
""",
        },
        """
        store/db.go:Open: proven 2 12; name_only 3 13; elsewhere 1
        store/query.go:DB.each: proven 12
        store/db.go:Base.Close: proven 12
        store/query.go:DB.Query: likely 6 store/db.go:8
        util.go:helper: proven 4 7; name_only 8
        store/db.go:Base: proven 9 store/db.go:11
        """,
    )


def test_go_does_not_guess_what_the_standard_library_or_another_package_has() -> None:
    check(
        {
            "go.mod": "module example.com/a\n",
            "a.go": """\
package a

type tree struct{}

func (t *tree) Value(key string) string { return key }
func (t *tree) Prune() {}

func use(r *http.Request, all []any) {
	r.Context().Value("key") // @1
	all[0].Prune() // @2
	wire.Graft() // @3
}
""",
            "b.go": """\
package a

import "example.org/wire.go"

type root struct{ Depth int }

func (r *root) Graft() {}

func other(d *wire.Depth) { // @4
	wire.Graft() // @5
}
""",
        },
        """
        a.go:tree.Value: name_only 1
        a.go:tree.Prune: likely 2
        b.go:root.Graft: likely 3; elsewhere 1
        b.go:root.Depth: elsewhere 1
        """,
    )


def test_rust_binds_by_modules_uses_and_impl_blocks() -> None:
    check(
        {
            "Cargo.toml": '[package]\nname = "my-app"\n',
            "src/lib.rs": """\
pub mod net;
mod util;
pub use crate::net::conn::Conn; // @1
pub use util::*;
pub fn start() { util::help(); crate::net::dial(); } // @2
fn local() { start(); } // @3
#[cfg(test)]
mod tests {
    use super::*;
    fn t() { start(); help(); } // @4
}
""",
            "src/util.rs": "pub fn help() {}\n",
            "src/net/mod.rs": """\
pub mod conn;
use self::conn::Conn as Link; // @5
use std::io::dial as other;
pub fn dial() { Link::open(); super::util::help(); other(); } // @6
""",
            "src/net/conn.rs": """\
pub trait Port { fn close(&self) { self.flush(); } fn flush(&self); } // @7
pub struct Conn { n: u8 }
impl Conn {
    pub fn open() -> Conn { Self::check(); Conn { n: 1 } } // @8
    fn check() {}
    fn go(&self) { self.close(); } // @9
}
impl Port for Conn { fn flush(&self) {} } // @10
""",
            "tests/it.rs": """\
use my_app::start; // @11
use my_app::Conn; // @12
fn t() { start(); Conn::open(); } // @13
""",
        },
        """
        src/lib.rs:start: proven 3 4 13; imports 11
        src/util.rs:help: proven 2 4 6
        src/net/mod.rs:dial: proven 2
        src/net/conn.rs:Conn.open: proven 6 13
        src/net/conn.rs:Conn.check: proven 8
        src/net/conn.rs:Port.close: proven 9
        src/net/conn.rs:Conn: proven 8 8; imports 1 5 12
        """,
    )


def test_java_binds_by_package_import_inheritance_and_static_import() -> None:
    check(
        {
            "src/main/java/a/b/Base.java": """\
package a.b;
public abstract class Base {
  protected void step() {}
  public static void util() {}
  void step(int n) {}
}
""",
            "src/main/java/a/b/Near.java": """\
package a.b;
class Near extends Base { // @1
  void go() { step(); this.step(1); Base.util(); } // @2
}
""",
            "src/main/java/a/c/Far.java": """\
package a.c;
import a.b.Base; // @3
import static a.b.Base.util; // @4
import java.util.List;
public class Far<T> extends Base { // @5
  Base held; // @6
  void go(Base other, T one) { // @7
    util(); // @8
    other.step(); // @9
    held.step(); // @10
    List.util(); // @11
  }
}
""",
            "src/main/java/a/d/All.java": "package a.d;\nimport a.b.*;\nclass All { Base one; } // @12\n",
            "src/main/java/a/e/Not.java": "package a.e;\nclass Not { Base one; } // @13\n",
        },
        """
        src/main/java/a/b/Base.java:a.b.Base: proven 1 5 6 7 12; name_only 13; imports 3
        src/main/java/a/b/Base.java:a.b.Base.util: proven 2 8; elsewhere 1; imports 4
        src/main/java/a/b/Base.java:a.b.Base.step: proven 2 2; likely 9 10
        """,
    )


def test_kotlin_and_scala_bind_by_package() -> None:
    check(
        {
            "Tools.kt": "package a.tools\nclass Tool { fun use() { help() } } // @1\nfun help() {}\n",
            "Main.kt": """\
package a
import a.tools.Tool // @2
import a.tools.help as assist // @3
import a.tools.*
fun main() {
  assist() // @4
  Tool() // @5
}
""",
            "S.scala": "package z.one\nclass Base { def step() = 1 }\nobject Tools { def fix() = 2 }\n",
            "T.scala": """\
package z.two
import z.one.{Base, Tools => Kit} // @6
class Sub extends Base { def go() = { step(); Kit.fix() } } // @7
""",
        },
        """
        Tools.kt:a.tools.help: proven 4 1; imports 3
        Tools.kt:a.tools.Tool: proven 5; imports 2
        S.scala:z.one.Base: proven 7; imports 6
        S.scala:z.one.Base.step: proven 7
        S.scala:z.one.Tools.fix: proven 7
        """,
    )


def test_c_binds_by_what_is_included() -> None:
    check(
        {
            "include/util.h": "int help(int x);\nstruct item { int n; };\n",
            "src/util.c": """\
#include "util.h"
int help(int x) { return x; }
static int own(void) { return help(1); } // @1
""",
            "src/main.c": """\
#include <stdio.h>
#include "all.h"
int main(void) { return help(2) + own(); } // @2
""",
            "src/all.h": '#include "util.h"\n',
            "other/main.c": "int help(int x) { return 0; }\nint go(void) { return help(3); } // @3\n",
            "third/x.c": "int go2(int (*help)(int)) { return help(4); } // @4\n",
        },
        """
        include/util.h:help: proven 2 1; name_only 4; elsewhere 1
        src/util.c:help: proven 2 1; name_only 4; elsewhere 1
        other/main.c:help: proven 3; name_only 4; elsewhere 2
        src/util.c:own: name_only 2
        """,
    )


def test_cpp_binds_members_that_are_written_outside_of_their_class() -> None:
    check(
        {
            "a.hpp": """\
namespace n { class Base { public: void shared(); };
class A : public Base { public: void m(); void k(); }; } // @1
""",
            "a.cpp": '#include "a.hpp"\nnamespace n { void A::m() { k(); this->k(); shared(); } } // @2\n',
        },
        """
        a.hpp:n.A.k: proven 2 2
        a.hpp:n.Base.shared: proven 2
        a.hpp:n.Base: proven 1
        """,
    )


def test_dependencies_of_the_other_languages() -> None:
    tree = {
        "go.mod": "module m\n",
        "go/a.go": 'package a\nimport "m/go/b"\n',
        "go/b/b.go": "package b\n",
        "go/b/c.go": "package b\n",
        "go/b/b_test.go": "package b\n",
        "rs/src/lib.rs": "mod x;\nuse x::y::Z;\n",
        "rs/src/x.rs": "pub mod y;\n",
        "rs/src/x/y.rs": "pub struct Z;\n",
        "A.java": "package p;\nimport q.B;\nimport q.B.Inner;\nimport java.util.Map;\n",
        "B.java": "package q;\npublic class B { class Inner {} }\n",
        "C.java": "package q;\npublic class C {}\n",
        "x/one.c": '#include "one.h"\n#include <two.h>\n#include <both.h>\n',
        "x/one.h": "",
        "inc/two.h": "",
        "p/both.h": "",
        "q/both.h": "",
    }
    with graph_of(tree) as graph:
        assert graph.dependencies() == {
            "A.java": ("B.java",),
            "go/a.go": ("go/b/b.go", "go/b/c.go"),
            "rs/src/lib.rs": ("rs/src/x/y.rs",),
            "x/one.c": ("inc/two.h", "x/one.h"),
        }
