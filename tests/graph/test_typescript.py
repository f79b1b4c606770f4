"""Golden references of TypeScript and JavaScript.

The tables were written before the resolver ran on them. Two rows were changed after it: `Port` (a type parameter counts
as a use where it is declared) and `Main` of Node (whose import is now listed).
"""

from __future__ import annotations

from tests.graph.trees import check, graph_of


def test_uses_are_bound_by_scopes_and_shadowed_by_parameters_and_local_names() -> None:
    check(
        {
            "a.ts": """\
function helper() { return 1; }
function direct() { return helper(); } // @1
function parameter(helper: () => number) {
  return helper(); // @2
}
function local() {
  const helper = make();
  return helper(); // @3
}
function unpacked() {
  const { helper } = make();
  return helper(); // @4
}
const arrow = (helper: any) => helper(); // @5
function callback(many: any[]) {
  return many.map((helper) => helper()); // @6
}
function nested() {
  function helper() { return 2; }
  return helper(); // @7
}
class Tool {
  helper() { return helper(); } // @8
  use() { return this.helper(); } // @9
}
helper(); // @10
""",
            "b.ts": "export function other() { return helper(); } // @11\n",
        },
        """
        a.ts:helper: proven 1 8 10; name_only 2 3 4 5 6 11; elsewhere 2
        a.ts:Tool.helper: proven 9; name_only 2 3 4 5 6 11; elsewhere 4
        a.ts:nested.helper: proven 7; name_only 2 3 4 5 6 11; elsewhere 4
        """,
    )


def test_imports_are_followed_through_index_files_renames_defaults_and_namespaces() -> None:
    check(
        {
            "lib/index.ts": """\
export { build as make } from './core'; // @1
export * from './star';
export * as tools from './tools';
import Thing from './thing'; // @2
export { Thing };
""",
            "lib/core.ts": "export function build() {}\nfunction hidden() {}\n",
            "lib/star.ts": "export const shine = () => 1;\n",
            "lib/tools.ts": "export function hammer() {}\n",
            "lib/thing.ts": "export default class Whatever {\n  static of() {}\n  go() {}\n}\n",
            "app.ts": """\
import { make, shine, tools, Thing } from './lib'; // @3
import * as lib from './lib/index';
import { build as renamed } from './lib/core.js'; // @4
import { build } from 'elsewhere';
make(); // @5
shine(); // @6
tools.hammer(); // @7
new Thing(); // @8
Thing.of(); // @9
lib.make(); // @10
renamed(); // @11
build(); // @12
new Thing().go(); // @13
""",
        },
        """
        lib/core.ts:build: proven 5 10 11; elsewhere 1; imports 3 4 1
        lib/star.ts:shine: proven 6; imports 3
        lib/tools.ts:hammer: proven 7
        lib/thing.ts:Whatever: proven 8 13; imports 3 2
        lib/thing.ts:Whatever.of: proven 9
        lib/thing.ts:Whatever.go: likely 13
        """,
    )


def test_paths_of_a_tsconfig_and_packages_of_a_workspace_resolve() -> None:
    check(
        {
            "tsconfig.json": """{
  // where things are
  "extends": "./base/tsconfig.base.json",
  "compilerOptions": { "strict": true, /* more */ },
}""",
            "base/tsconfig.base.json": """{
  "compilerOptions": { "baseUrl": "..", "paths": { "@/*": ["src/*"], "exact": ["src/one.ts"], } }
}""",
            "src/one.ts": "export function one() {}\n",
            "src/deep/two.tsx": "export function two() {}\n",
            "packages/three/package.json": """{
  "name": "@scope/three",
  "main": "dist/index.js",
  "exports": {".": {"import": "./dist/index.mjs"}, "./extra": "./dist/extra.js"}
}""",
            "packages/three/src/index.ts": "export function three() {}\n",
            "packages/three/src/extra.ts": "export function extra() {}\n",
            "src/app.ts": """\
import { one } from 'exact'; // @1
import { two } from '@/deep/two'; // @2
import { three } from '@scope/three'; // @3
import { extra } from '@scope/three/extra'; // @4
import { lost } from '@/nowhere';
import { one as based } from 'src/one'; // @5
one(); // @6
two(); // @7
three(); // @8
extra(); // @9
based(); // @10
""",
        },
        """
        src/one.ts:one: proven 6 10; imports 1 5
        src/deep/two.tsx:two: proven 7; imports 2
        packages/three/src/index.ts:three: proven 8; imports 3
        packages/three/src/extra.ts:extra: proven 9; imports 4
        """,
    )


def test_this_reaches_the_bases_that_resolve_and_overloads_are_one_definition() -> None:
    check(
        {
            "base.ts": """\
export abstract class Root {
  run() { return this.step(); } // @1
  step(): void {}
  shared(): void;
  shared(one?: string): void {}
}
export interface Port { send(): void; }
""",
            "child.ts": """\
import { Root, Port } from './base'; // @2
export class Child extends Root implements Port { // @3
  constructor(private port: Port) { super(); } // @4
  step() { super.step(); } // @5
  send() { this.port.send(); } // @6
  go() { this.shared(); } // @7
  old() { each(function () { this.shared(); }); each(() => this.shared()); } // @12
  other<Port>(one: Port) {} // @8
}
export function dynamic(thing: any) { thing.step(); } // @9
export function typed(thing: Child) { thing.step(); } // @10
export function over(a: string): void;
export function over(a: number): void;
export function over(a: any) {}
over(1); // @11
""",
        },
        """
        base.ts:Root.step: proven 1 5; name_only 9 10
        child.ts:Child.step: likely 10; name_only 1 9; elsewhere 1
        base.ts:Root.shared: proven 7; likely 12 12
        base.ts:Port: proven 3 4; elsewhere 2; imports 2
        base.ts:Port.send: likely 6
        child.ts:over: proven 11
        """,
    )


def test_decorators_and_what_only_one_class_has() -> None:
    check(
        {
            "deco.ts": "export function Injectable(o: any) { return o; }\n",
            "service.ts": """\
import { Injectable } from './deco'; // @1
@Injectable({}) // @2
export class Service { drainAll() {} push(x: any) {} }
""",
            "use.ts": """\
import fs from 'fs';
export function work(thing: any, list: any) {
  thing.drainAll(); // @3
  fs.drainAll(); // @4
  list.push(1); // @5
}
""",
        },
        """
        deco.ts:Injectable: proven 2; imports 1
        service.ts:Service.drainAll: likely 3; elsewhere 1
        service.ts:Service.push: name_only 5
        """,
    )


def test_modules_of_node_hand_on_what_they_assign() -> None:
    check(
        {
            "lib/util.js": "function one() {}\nfunction two() {}\nmodule.exports = { one, two };\n",
            "lib/main.js": "class Main { go() {} }\nmodule.exports = Main;\n",
            "app.js": """\
const util = require('./lib/util');
const { two: second } = require('./lib/util'); // @1
const Main = require('./lib/main'); // @2
util.one(); // @3
second(); // @4
new Main(); // @5
""",
        },
        """
        lib/util.js:one: proven 3
        lib/util.js:two: proven 4; imports 1
        lib/main.js:Main: proven 5; imports 2
        """,
    )


def test_cycles_of_re_exports_end() -> None:
    check(
        {
            "a.ts": "export * from './b';\nexport { x } from './b';\n",
            "b.ts": "export * from './a';\nexport { x } from './a';\nexport function real() {}\n",
            "c.ts": "import { real, x } from './a'; // @1\nreal(); // @2\nx();\n",
        },
        "b.ts:real: proven 2; imports 1",
    )


def test_tests_and_generated_files_depend_on_what_they_import() -> None:
    tree = {
        "src/a.ts": "export const a = 1;\n",
        "src/index.ts": "export * from './a';\n",
        "src/a.test.ts": "import { a } from '.';\nimport './a';\nimport 'vitest';\n",
        "src/gen.d.ts": "import type { a } from './a';\nexport declare function made(): void;\n",
        "src/b.tsx": "const lazy = import('./a');\n",
    }
    with graph_of(tree) as graph:
        assert graph.dependencies() == {
            "src/a.test.ts": ("src/a.ts", "src/index.ts"),
            "src/b.tsx": ("src/a.ts",),
            "src/gen.d.ts": ("src/a.ts",),
            "src/index.ts": ("src/a.ts",),
        }


def test_what_a_callback_defines_is_seen_in_its_block_only() -> None:
    check(
        {
            "tool.ts": "export function press() {}\nexport function tick() {}\nexport class Bell {\n  ring() {}\n}\n",
            "a.test.ts": """\
import { press, tick, Bell } from './tool'; // @1
describe('one', () => {
  const local = () => 1;
  it('sees', () => {
    press(); // @2
    local(); // @3
  });
  it('hides', async () => {
    const { press,
      other } = await load();
    press(); // @4
  });
  it('is handed one', ({ tick }) => {
    tick(); // @5
  });
  tick(); // @6
});
local(); // @7
it('makes one', () => {
  const bell = new Bell(); // @8
  bell.ring(); // @9
});
it('knows none', () => {
  bell.ring(); // @10
});
""",
        },
        """
        tool.ts:press: proven 2; name_only 4; imports 1
        tool.ts:tick: proven 6; name_only 5; imports 1
        tool.ts:Bell: proven 8; imports 1
        tool.ts:Bell.ring: likely 9 10
        a.test.ts:local: proven 3; name_only 7
        """,
    )


def test_members_of_an_object_are_never_named_alone() -> None:
    check(
        {
            "a.ts": """\
function reduce(what: unknown) { return what; }
export const table = {
  reduce() { return reduce(table); }, // @1
};
it('has methods', () => {
  mount({ test() { return 1; } });
});
test('is global', () => {}); // @2
""",
        },
        """
        a.ts:reduce: proven 1
        a.ts:table.reduce: elsewhere 1
        a.ts:test: name_only 2
        """,
    )


def test_a_type_that_another_one_infers_is_not_the_type_of_that_name() -> None:
    check(
        {
            "a.ts": """\
export type Tail<T extends any[]> = T extends [any, ...infer Rest] ? Rest : never;
export type Last<T extends any[]> = T extends [any, ...infer Tail] ? Tail : never; // @1
export type Two<T extends any[]> = Tail<Tail<T>>; // @2
""",
        },
        "a.ts:Tail: proven 2 2; name_only 1 1",
    )
