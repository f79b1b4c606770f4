from __future__ import annotations

import time

from cairn.core.types import Symbol
from cairn.syntax.symbols import Extracted
from tests.syntax.fixtures import facts_of


def named(facts: Extracted, name: str) -> Symbol:
    (found,) = [symbol for symbol in facts.symbols if symbol.name == name]
    return found


def scopes(facts: Extracted) -> dict[str, str]:
    return {r.name: facts.symbols[r.scope].name if r.scope >= 0 else "" for r in facts.references}


def test_thousands_of_decorators_on_one_function_are_read_in_seconds() -> None:
    data = b"@mark\n" * 2_000 + b"def tall():\n    pass\n"
    started = time.process_time()
    facts = facts_of(data, "python")
    assert time.process_time() - started < 4
    assert (named(facts, "tall").start_line, named(facts, "tall").end_line) == (1, 2_002)


def test_a_container_is_the_path_of_the_names_around() -> None:
    facts = facts_of(b"class A:\n    class B:\n        def c(self):\n            def d(): pass\n", "python")
    assert [(s.container, s.name, s.kind) for s in facts.symbols] == [
        ("", "A", "class"),
        ("A", "B", "class"),
        ("A.B", "c", "method"),
        ("A.B.c", "d", "function"),
    ]
    assert [symbol.parent for symbol in facts.symbols] == [-1, 0, 1, 2]


def test_a_receiver_type_is_a_container_though_it_stands_elsewhere() -> None:
    method = named(facts_of(b"package p\n\nfunc (s *Server) Run() {}\n", "go"), "Run")
    assert (method.kind, method.container.split(".")[-1]) == ("method", "Server")


def test_a_parameter_that_declares_a_field_belongs_to_the_class() -> None:
    facts = facts_of(b"export class A { constructor(private port: Port) {} }\n", "typescript")
    assert named(facts, "port").container == "A"


def test_two_names_of_one_declaration_are_siblings() -> None:
    facts = facts_of(b"int first = one(), second = two();\n", "c")
    assert [(s.name, s.parent) for s in facts.symbols] == [("first", -1), ("second", -1)]


def test_a_local_variable_is_no_symbol_and_a_shouting_name_is_a_constant() -> None:
    facts = facts_of(b"var LIMIT = 3\nvar open = 4\nfunc f() {\n\tvar local = 5\n}\n", "go")
    assert [(s.name, s.kind) for s in facts.symbols if s.kind != "module"] == [
        ("LIMIT", "constant"),
        ("open", "variable"),
        ("f", "function"),
    ]


def test_the_scope_of_a_use_is_the_innermost_definition_around_it() -> None:
    data = b"top()\nclass A:\n    in_class()\n    def m(self):\n        in_method()\n    after()\nbottom()\n"
    assert scopes(facts_of(data, "python")) == {
        "top": "",
        "in_class": "A",
        "in_method": "m",
        "after": "A",
        "bottom": "",
    }


def test_of_names_that_share_a_span_a_use_belongs_to_the_last_before_it() -> None:
    assert scopes(facts_of(b"int first = one(), second = two();\n", "c")) == {"one": "first", "two": "second"}


def test_a_place_counts_bytes_even_behind_letters_that_take_several() -> None:
    (use,) = facts_of("é = 1\nx = 'ü'; größe.call('ö')\n".encode(), "python").references
    assert (use.name, use.receiver, use.line, use.column) == ("call", "größe", 2, 18)


def test_a_doc_string_belongs_to_the_innermost_definition() -> None:
    data = b'class A:\n    """Of A."""\n    def m(self):\n        """Of m."""\n    def n(self): pass\n'
    facts = facts_of(data, "python")
    assert {symbol.name: symbol.doc for symbol in facts.symbols} == {"A": "Of A.", "m": "Of m.", "n": ""}


def test_a_name_imported_by_a_declaration_is_no_definition() -> None:
    facts = facts_of(b"const json = require('json');\nconst own = 1;\n", "javascript")
    assert [symbol.name for symbol in facts.symbols] == ["own"]
    assert [(each.module, each.alias) for each in facts.imports] == [("json", "json")]
