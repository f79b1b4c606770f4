"""Modules of scripts are found by relative paths, tsconfig and package.json, however hostile the two are."""

from __future__ import annotations

import json

import pytest

from cairn.syntax.resolver import EXTERNAL, UNRESOLVED
from tests.graph.test_modules import files, lead, modules_of

CODE = dict.fromkeys(("src/one.ts", "src/two.ts", "src/index.ts", "lib/index.js"), "")


def config(**options: object) -> str:
    return json.dumps({"compilerOptions": options})


def test_sources_go_before_what_was_compiled_from_them() -> None:
    code = dict.fromkeys(("a.js", "a.ts", "b.mjs", "b.mts", "c.jsx", "c.tsx", "d.js"), "")
    wanted = {"./a.js": "a.ts", "./b.mjs": "b.mts", "./c.jsx": "c.tsx", "./d.js": "d.js", "./a": "a.ts"}
    assert {words: files(code, "x.ts", words) for words in wanted} == {word: (path,) for word, path in wanted.items()}


def test_a_file_goes_before_the_index_of_a_folder_and_a_folder_is_its_index() -> None:
    code = dict.fromkeys(("a.ts", "a/index.ts", "b/index.jsx"), "")
    assert files(code, "x.ts", "./a") == ("a.ts",)
    assert files(code, "x.ts", "./b") == ("b/index.jsx",)


def test_what_follows_a_question_mark_says_how_to_load_and_not_what() -> None:
    assert files(CODE, "src/x.ts", "./one?raw") == ("src/one.ts",)
    assert lead(CODE, "src/x.ts", "?raw") == EXTERNAL


def test_the_longest_pattern_is_tried_first_and_then_the_others() -> None:
    paths = {"*": ["./src/*"], "@app/*": ["./lib/*"], "@app/one": ["./src/two"]}
    tree = {**CODE, "tsconfig.json": config(paths=paths)}
    assert files(tree, "x.ts", "@app/one") == ("src/two.ts",)
    assert files(tree, "x.ts", "@app/index") == ("lib/index.js",)
    assert files(tree, "x.ts", "one") == ("src/one.ts",)


def test_what_a_pattern_means_and_is_not_there_is_missing_but_a_pattern_of_everything_means_nothing() -> None:
    tree = {**CODE, "tsconfig.json": config(paths={"*": ["./src/*"], "@app/*": ["./src/*"]})}
    assert lead(tree, "x.ts", "@app/gone") == UNRESOLVED
    assert lead(tree, "x.ts", "react") == EXTERNAL


def test_the_two_ends_of_a_pattern_never_overlap() -> None:
    tree = {**CODE, "tsconfig.json": config(paths={"ab*ba": ["./src/one"]})}
    assert lead(tree, "x.ts", "aba") == EXTERNAL
    assert files(tree, "x.ts", "abba") == ("src/one.ts",)


def test_the_nearest_config_is_meant_and_a_tsconfig_goes_before_a_jsconfig() -> None:
    tree = {
        **CODE,
        "tsconfig.json": config(paths={"@/*": ["./src/*"]}),
        "app/tsconfig.json": config(paths={"@/*": ["./in/*"]}),
        "app/jsconfig.json": config(paths={"@/*": ["../lib/*"]}),
        "app/in/one.ts": "",
    }
    assert files(tree, "app/deep/x.ts", "@/one") == ("app/in/one.ts",)
    assert files(tree, "x.ts", "@/one") == ("src/one.ts",)
    assert lead(tree, "app/deep/x.ts", "@/two") == UNRESOLVED


def test_a_config_has_what_it_does_not_say_itself_from_the_one_it_extends() -> None:
    tree = {
        **CODE,
        "base/a.json": config(baseUrl="..", paths={"@/*": ["src/*"]}),
        "app/tsconfig.json": json.dumps({"extends": "../base/a.json", **json.loads(config(strict=True))}),
        "own/tsconfig.json": json.dumps({"extends": "../base/a", **json.loads(config(paths={"~/*": ["../src/*"]}))}),
        "many/tsconfig.json": json.dumps({"extends": ["@tsconfig/node20", "../base/a.json"]}),
        "none/tsconfig.json": json.dumps({"extends": []}),
    }
    assert files(tree, "app/x.ts", "@/one") == files(tree, "app/x.ts", "src/one") == ("src/one.ts",)
    assert files(tree, "many/x.ts", "@/one") == ("src/one.ts",)
    assert files(tree, "own/x.ts", "~/one") == files(tree, "own/x.ts", "src/one") == ("src/one.ts",)
    assert lead(tree, "own/x.ts", "@/one") == lead(tree, "none/x.ts", "@/one") == EXTERNAL


def test_of_a_tower_of_configs_only_the_first_few_are_read() -> None:
    tree = {f"c{n}/tsconfig.json": json.dumps({"extends": f"../c{n + 1}/tsconfig.json"}) for n in range(9)}
    tree |= {**CODE, "c9/tsconfig.json": config(paths={"@/*": ["../src/*"]})}
    assert files(tree, "c2/x.ts", "@/one") == ("src/one.ts",)
    assert lead(tree, "c1/x.ts", "@/one") == EXTERNAL


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        "{{{",
        '{"compilerOptions": []}',
        config(paths=[]),
        config(paths={"@/*": "./src/*"}),
        config(paths={"@/*": [5, None, {}]}),
        config(paths={"@/*": ["../../../src/*"]}),
        config(paths={"@/*/*": ["./src/*/*"]}),
        config(paths={"@/*": ["./src/*"]}) + " " * 70_000,
        config(baseUrl=5),
        config(baseUrl="../../.."),
        '{"extends": {}}',
        '{"extends": [[]]}',
        '{"extends": "./tsconfig.json"}',
        '{"extends": "../../../tsconfig.json"}',
        '{"extends": "somebodys/tsconfig"}',
        '{"extends": "./gone.json"}',
        '{"a":' * 20_000,
        "\x00\ud800",
    ],
)
def test_a_tsconfig_that_says_nothing_sensible_leads_nowhere_and_is_no_error(text: str) -> None:
    assert not lead({**CODE, "tsconfig.json": text}, "x.ts", "@/one").files


def test_of_endless_patterns_and_places_only_so_many_are_tried() -> None:
    patterns = {f"p{number}/*": ["./src/*"] for number in range(600)}
    tree = {**CODE, "tsconfig.json": config(paths=patterns)}
    assert files(tree, "x.ts", "p499/one") == ("src/one.ts",)
    assert lead(tree, "x.ts", "p500/one") == EXTERNAL
    places = [f"./no{number}/*" for number in range(7)] + ["./src/*"]
    assert files({**CODE, "tsconfig.json": config(paths={"@/*": places})}, "x.ts", "@/one") == ("src/one.ts",)
    far = {**CODE, "tsconfig.json": config(paths={"@/*": ["./no/*", *places]})}
    assert lead(far, "x.ts", "@/one") == UNRESOLVED


def package(**fields: object) -> dict[str, str]:
    """A workspace with one package, in which `src/one.ts` and `src/deep/two.ts` are."""
    code = dict.fromkeys(("p/src/one.ts", "p/src/deep/two.ts", "p/src/index.ts"), "")
    return {**code, "p/package.json": json.dumps({"name": "@firm/p", **fields})}


@pytest.mark.parametrize(
    ("fields", "words", "expected"),
    [
        ({"main": "src/one.ts"}, "@firm/p", ("p/src/one.ts",)),
        ({"main": "./dist/one.js"}, "@firm/p", ("p/src/one.ts",)),
        ({"types": "build/one.d.ts", "main": "build/one.js"}, "@firm/p", ("p/src/one.ts",)),
        ({"source": "src/one.ts", "main": "src/index.ts"}, "@firm/p", ("p/src/one.ts",)),
        ({}, "@firm/p", ("p/src/index.ts",)),
        ({}, "@firm/p/src/one", ("p/src/one.ts",)),
        ({}, "@firm/p/deep/two", ("p/src/deep/two.ts",)),
        ({}, "@firm/p/gone", "external"),
        ({}, "@firm", "external"),
        ({}, "@firm/other", "external"),
        ({"exports": "./src/one.ts"}, "@firm/p", ("p/src/one.ts",)),
        ({"exports": {"import": {"types": "./no.d.ts", "default": "./src/one.ts"}}}, "@firm/p", ("p/src/one.ts",)),
        ({"exports": {".": {"import": "./lib/one.js"}}}, "@firm/p", ("p/src/one.ts",)),
        ({"exports": {"./x": "./src/one.ts"}, "main": "src/deep/two.ts"}, "@firm/p", ("p/src/deep/two.ts",)),
        ({"exports": {"./x": {"import": "./out/one.js"}}}, "@firm/p/x", ("p/src/one.ts",)),
        ({"exports": {"./x": ["./src/one.ts"], ".": 5}}, "@firm/p/x", "external"),
        ({"exports": {".": "../../../etc/passwd"}, "main": "../../x"}, "@firm/p", ("p/src/index.ts",)),
        ({"exports": [[]], "main": {}, "types": None}, "@firm/p", ("p/src/index.ts",)),
    ],
)
def test_a_package_of_the_workspace_is_found_by_what_its_package_json_says(
    fields: dict[str, object], words: str, expected: object
) -> None:
    assert files(package(**fields), "x.ts", words) == expected


@pytest.mark.parametrize("text", ["", "[]", "{", '{"name": ""}', '{"name": {}}', '{"a":' * 12_000, "\x00"])
def test_a_package_json_that_says_nothing_sensible_is_no_package_and_no_error(text: str) -> None:
    assert lead({"p/package.json": text, "p/index.ts": ""}, "x.ts", "p") == EXTERNAL


def test_a_name_that_two_packages_have_means_neither() -> None:
    twins = {f"{folder}/package.json": '{"name": "twin"}' for folder in ("a", "b")}
    assert lead({**twins, "a/index.ts": "", "b/index.ts": ""}, "x.ts", "twin") == EXTERNAL


def test_exports_that_never_end_are_read_in_part() -> None:
    many = {f"c{number}": f"./no{number}.ts" for number in range(600)}
    nested: object = "./src/one.ts"
    for _ in range(300):
        nested = {"default": nested}
    assert files(package(exports={"./x": nested}), "x.ts", "@firm/p/x") == ("p/src/one.ts",)
    assert files(package(exports={"./x": {**many, "z": "./src/one.ts"}}), "x.ts", "@firm/p/x") == "external"


@pytest.mark.parametrize("words", ["https://x.org/a.ts", "node:fs", "data://x", "@", "@/", "a" * 4_000])
def test_what_is_no_path_and_no_known_package_is_somebody_elses(words: str) -> None:
    assert lead(CODE, "src/x.ts", words) == EXTERNAL


def test_modules_hold_no_modules_and_share_no_names() -> None:
    modules = modules_of(CODE)
    assert modules.child("src/index.ts", "one") == ()
    assert modules.beside("src/one.ts") == {"src/one.ts"}
