"""Golden references of Python.

The tables were written before the resolver ran on them, but for `super` and nested functions, whose cases were found
by comparing with another indexer.
"""

from __future__ import annotations

from tests.graph.trees import check, graph_of


def test_uses_are_bound_by_scopes_and_shadowed_by_parameters_and_local_names() -> None:
    check(
        {
            "a.py": """\
def helper():
    return 1
def direct():
    return helper()  # @1
def parameter(helper):
    return helper()  # @2
def local():
    helper = make()
    return helper()  # @3
def loop(many):
    for helper in many:
        helper()  # @4
def nested():
    def helper():
        return 2
    return helper()  # @5
def keyword():
    return call(helper=1) + helper()  # @6
class Tool:
    def helper(self):
        return helper()  # @7
    def use(self):
        return self.helper()  # @8
x = [helper() for _ in y]  # @9
""",
            "b.py": "def other():\n    return helper()  # @10\n",
        },
        """
        a.py:helper: proven 1 6 7 9; name_only 2 3 4 10; elsewhere 2
        a.py:Tool.helper: proven 8; name_only 2 3 4 10; elsewhere 5
        a.py:nested.helper: proven 5; name_only 2 3 4 10; elsewhere 5
        """,
    )


def test_imports_are_followed_through_packages_aliases_and_files_that_hand_on() -> None:
    check(
        {
            "src/pkg/__init__.py": "from .core import build as make, Thing  # @1\nfrom .star import *\n",
            "src/pkg/core.py": "def build():\n    pass\nclass Thing:\n    def go(self):\n        pass\n",
            "src/pkg/star.py": "def shine():\n    pass\n",
            "src/pkg/sub/__init__.py": "",
            "src/pkg/sub/deep.py": """\
from ..core import build  # @2
from .. import core
from ...nowhere import build as lost
build()  # @3
core.build()  # @4
lost()
""",
            "app.py": """\
import pkg
import pkg.core as c
from pkg import make, shine, core, Thing  # @5
from other import build as foreign  # @6
make()  # @7
pkg.make()  # @8
c.build()  # @9
core.build()  # @10
shine()  # @11
foreign.build()  # @12
Thing.go()  # @13
pkg.core.build()  # @14
""",
            "tests/test_app.py": "from pkg.core import build  # @15\ndef test_it():\n    assert build()  # @16\n",
        },
        """
        src/pkg/core.py:build: proven 7 8 9 10 14 3 4 16; elsewhere 1; imports 5 1 2 15
        src/pkg/star.py:shine: proven 11; imports 5
        src/pkg/core.py:Thing.go: proven 13
        src/pkg/core.py:Thing: imports 5 1
        """,
    )


def test_self_reaches_the_bases_that_resolve_and_overrides_hide_them() -> None:
    check(
        {
            "base.py": """\
class Root:
    def run(self):
        return self.step()  # @1
    def step(self):
        pass
    def shared(self):
        pass
""",
            "child.py": """\
from base import Root
from outside import Mixin
class Child(Root):
    def step(self):
        super().step()  # @2
        return self.shared()  # @3
    @classmethod
    def make(cls):
        return cls.build()  # @4
    @staticmethod
    def build():
        pass
class Mixed(Mixin, Root):
    def go(self):
        self.shared()  # @5
        self.missing()  # @6
class Grandchild(Child):
    def go(self):
        self.step()  # @7
def dynamic(thing):
    thing.step()  # @8
def typed(thing: Child):
    thing.step()  # @9
def made():
    one = Child()
    return one.shared()  # @10
""",
        },
        """
        base.py:Root.step: proven 1 2; name_only 8 9; elsewhere 1
        child.py:Child.step: proven 7; likely 9; name_only 1 8; elsewhere 1
        base.py:Root.shared: proven 3 5; likely 10
        child.py:Child.build: proven 4
        """,
    )


def test_a_method_that_only_one_class_has_is_likely_and_a_common_name_is_not() -> None:
    check(
        {
            "a.py": "class Queue:\n    def drain_all(self):\n        pass\n    def append(self, x):\n        pass\n",
            "b.py": """\
import os
def work(thing, queue):
    thing.drain_all()  # @1
    thing.parts[0].drain_all()  # @2
    os.drain_all()  # @3
    "text".drain_all()  # @4
    drain_all()  # @5
    queue.append(1)  # @6
""",
        },
        """
        a.py:Queue.drain_all: likely 1 2; name_only 4 5; elsewhere 1
        a.py:Queue.append: name_only 6
        """,
    )


def test_super_never_means_the_own_class_and_nested_functions_belong_to_their_method() -> None:
    check(
        {
            "jar.py": """\
from http.cookiejar import CookieJar
class Jar(CookieJar):
    def store_one(self):
        super().store_one()  # @1
    def __contains__(self, x):
        return str.__contains__(x)  # @2
    def start(self):
        def receive():
            pass
        receive()  # @3
    def shut(self):
        def receive():
            pass
        receive()  # @4
""",
        },
        """
        jar.py:Jar.store_one: name_only 1
        jar.py:Jar.__contains__: name_only 2
        jar.py:Jar.start.receive: proven 3; elsewhere 1
        jar.py:Jar.shut.receive: proven 4; elsewhere 1
        """,
    )


def test_decorators_bases_types_and_exceptions_are_uses() -> None:
    check(
        {
            "deco.py": "def wrap(f):\n    return f\nclass Failure(Exception):\n    pass\nclass Model:\n    pass\n",
            "use.py": """\
from deco import wrap, Failure, Model  # @1
@wrap  # @2
def wrap_user(wrap):
    pass
class Sub(Model):  # @3
    field: Model  # @4
    @wrap  # @5
    def call(self, one: Model) -> Model:  # @6
        try:
            pass
        except Failure:  # @7
            pass
""",
        },
        """
        deco.py:wrap: proven 2 5; imports 1
        deco.py:Model: proven 3 4 6 6; imports 1
        deco.py:Failure: proven 7; imports 1
        """,
    )


def test_a_fallback_definition_and_its_import_are_both_meant() -> None:
    check(
        {
            "fast.py": "def parse():\n    pass\n",
            "a.py": """\
try:
    from fast import parse  # @1
except ImportError:
    def parse():
        pass
parse()  # @2
""",
            "b.py": "if x:\n    def go():\n        pass\nelse:\n    def go():\n        pass\ngo()  # @3\n",
        },
        """
        fast.py:parse: likely 2; imports 1
        a.py:parse: likely 2
        b.py:go: proven 3
        """,
    )


def test_cycles_of_imports_and_of_bases_end() -> None:
    check(
        {
            "a.py": """\
from b import thing
from c import *
thing()  # @1
class A(B):
    def f(self):
        self.g()  # @2
""",
            "b.py": "from a import thing\nfrom a import A as B\n",
            "c.py": "from d import *\n",
            "d.py": "from c import *\ndef real():\n    pass\nclass Other:\n    def g(self):\n        pass\n",
            "e.py": "from c import real  # @3\nreal()  # @4\n",
        },
        """
        d.py:real: proven 4; imports 3
        d.py:Other.g: likely 2
        """,
    )


def test_generated_code_with_thousands_of_same_names_is_told_apart() -> None:
    tree = {f"gen/m{n}.py": "def handler():\n    pass\ndef main():\n    return handler()\n" for n in range(40)}
    with graph_of(tree) as graph:
        found = graph.references(graph.places("gen/m7.py", "handler")[0])
    assert [site.path for site in found.proven] == ["gen/m7.py"]
    assert (found.likely, found.name_only_count, found.elsewhere_count) == ((), 0, 39)


def test_dependencies_are_the_files_that_imports_lead_to() -> None:
    tree = {
        "src/pkg/__init__.py": "from .a import one\n",
        "src/pkg/a.py": "import os\none = 1\n",
        "src/pkg/b.py": "from pkg import one, a\nfrom . import a\nimport pkg.a\n",
        "src/pkg/c.py": "import numpy\n",
    }
    with graph_of(tree) as graph:
        assert graph.dependencies() == {
            "src/pkg/__init__.py": ("src/pkg/a.py",),
            "src/pkg/b.py": ("src/pkg/__init__.py", "src/pkg/a.py"),
        }


def test_a_comment_binds_nothing_and_what_only_tests_define_is_not_what_the_program_calls() -> None:
    check(
        {
            "src/app.py": """\
import time
def step(clock, made):
    # The same as time, measured again.
    time.time()  # @1
    clock.time()  # @2
    made.tick()  # @3
""",
            "tests/test_app.py": """\
class FakeClock:
    def time(self):
        pass
    def tick(self):
        pass
def test_it(clock):
    clock.time()  # @4
""",
        },
        """
        tests/test_app.py:FakeClock.time: likely 4; name_only 2; elsewhere 1
        tests/test_app.py:FakeClock.tick: name_only 3
        """,
    )


def test_a_name_that_a_function_imports_and_assigns_is_only_likely_what_was_imported() -> None:
    check(
        {
            "a.py": """\
def test_client(self):
    maker = self.maker
    if maker is None:
        from b import Client as maker  # @1
    return maker()  # @2
def other():
    from b import Client as maker  # @3
    return maker()  # @4
""",
            "b.py": "class Client:\n    pass\n",
        },
        "b.py:Client: proven 4; likely 2; imports 1 3",
    )


def test_an_annotation_that_names_no_class_says_nothing_and_a_quoted_one_in_optional_does() -> None:
    check(
        {
            "a.py": """\
from typing import Any, Optional, Union
import typing as t
from b import Console
def optional(console: Optional["Console"] = None):
    console.show()  # @1
def dotted(console: t.Optional[Console]):
    console.show()  # @2
def anything(console: Any):
    console.show()  # @3
def several(console: Union[str, Console]):
    console.show()  # @4
""",
            "b.py": "class Console:\n    def show(self):\n        pass\n",
            "c.py": "class Other:\n    def show(self):\n        pass\n",
        },
        "b.py:Console.show: likely 1 2; name_only 3 4",
    )


def test_the_body_of_a_class_knows_only_what_stands_above() -> None:
    check(
        {
            "a.py": """\
def splash(f):
    return f
class Logger:
    @splash  # @1
    def start(self):
        pass
    def splash(self):
        pass
    again = splash()  # @2
    @property
    def twice(self):
        return splash()  # @3
""",
        },
        """
        a.py:splash: proven 1 3; elsewhere 1
        a.py:Logger.splash: proven 2; elsewhere 2
        """,
    )


def test_a_function_that_is_defined_or_assigned_by_a_condition_is_only_likely() -> None:
    check(
        {
            "a.py": """\
def test(self):
    if self.debug:
        say = print
    else:
        def say(text):
            pass
    say("hello")  # @1
def run(chunks, process=None):
    if not process:
        def process(chunk):
            pass
    process(chunks)  # @2
def sure(chunks, processes):
    def process(chunk):
        pass
    process(chunks)  # @3
""",
        },
        """
        a.py:test.say: likely 1
        a.py:run.process: likely 2; elsewhere 1
        a.py:sure.process: proven 3; name_only 2
        """,
    )


def test_a_function_that_imports_a_name_from_two_places_may_mean_either() -> None:
    check(
        {
            "a.py": """\
def mount(high, fast):
    if high:
        from b import High as operations  # @1
    else:
        from c import Low as operations  # @2
    try:
        from c import speed  # @3
    except ImportError:
        from faster import speed
    operations()  # @4
    speed()  # @5
""",
            "b.py": "class High:\n    pass\n",
            "c.py": "class Low:\n    pass\ndef speed():\n    pass\n",
        },
        """
        b.py:High: likely 4; imports 1
        c.py:Low: likely 4; imports 2
        c.py:speed: likely 5; imports 3
        """,
    )
