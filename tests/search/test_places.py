"""What a path says of a file's part in a project: a table of paths as real projects have them, both ways."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.search.places import (
    FileRole,
    PathTable,
    SearchScope,
    in_scope,
    is_test,
    place_of,
    places,
    scope_of,
)

# Each line: what the file is (t test, e example, d document, c config, v vendored, g generated, i package index,
# - nothing of this), and its path.
TABLE = """
t   tests/test_lease.py
t   tests/store/disks.py
t   conftest.py
t   pkg/conftest.py
t   src/app/test_views.py
t   src/app/views_test.py
t   src/app/tests.py
t   server/handler_test.go
t   internal/testutil/clock.go
t   pkg/parser/testdata/input.go
t   mocks/client.go
t   store/mock_store.go
t   src/test/java/org/acme/FooTest.java
t   src/main/java/org/acme/FooTest.java
t   core/src/FooTests.java
t   core/src/TestFoo.java
t   core/src/LoginIT.java
t   app/src/androidTest/java/org/acme/Login.kt
t   lib/src/commonTest/kotlin/Cache.kt
t   src/CacheSpec.kt
t   spec/models/user_spec.rb
t   spec/spec_helper.rb
t   spec/support/helpers.rb
t   lib/user_spec.rb
t   test/helper.rb
t   src/app/app.component.spec.ts
t   src/app/button.test.tsx
t   src/__tests__/button.tsx
t   src/__mocks__/fs.js
t   e2e/login.ts
t   cypress/support/commands.js
t   lib/util-test.js
t   src/button.e2e.ts
ti  packages/core/test/index.js
ti  src/lib/tests/mod.rs
t   src/parser/tests.rs
t   tests/integration.rs
t   crates/foo-tests/src/run.rs
t   src/lexer_test.cc
t   src/lexer_unittest.cc
t   test/lexer.cpp
t   tests/unit/main.c
t   t/basic.t
t   test/select1.test
t   MyApp.Tests/LoginTests.cs
t   src/UnitTests/Login.cs
t   src/LoginTests.cs
t   Tests/AppTests/LoginTests.swift
t   Sources/LoginTests.swift
t   tests/Feature/LoginTest.php
t   src/LoginTest.php
t   test/my_app/user_test.exs
t   lib/user_test.exs
t   src/test/scala/org/acme/ParserSpec.scala
t   src/ParserSpec.scala
t   test/Spec/Parser.hs
t   src/ParserSpec.hs
t   test/parser.bats
t   lib/parser.bats
t   spec/parser_spec.lua
t   src/parser_spec.lua
t   src/test/parser.zig
t   Foo.Tests.ps1
t   test/parser_test.dart
t   test-app/main.ts
t   features/login.feature
t   src/fixtures/user.py
t   src/__snapshots__/button.js
td  tests/README.md
tc  tests/config.yaml
e   examples/hello.py
e   example/main.go
e   _examples/server/main.go
e   samples/Chat/Program.cs
e   demo/index.html
e   demos/app.rb
e   tutorials/first.jl
e   playground/main.zig
e   app-examples/src/main.rs
e   src/server_example.py
e   src/ServerExample.java
e   example_server.rb
e   cookbook/pasta.ex
e   src/demo.ts
et  examples/tests/test_hello.py
ec  examples/app/package.json
d   docs/index.py
d   doc/api.rst
d   README.md
d   README
d   README.fr.txt
d   CHANGELOG
d   CHANGES.txt
d   LICENSE
d   LICENSE-MIT
d   AUTHORS
d   CONTRIBUTING.md
d   guide/first.adoc
d   src/notes.org
d   lib/Foo.pod
d   man/cairn.1
d   api-docs/conf.py
d   specs/001-search.md
d   documentation/arch.tex
dc  docs/mkdocs.yml
dc  .github/CONTRIBUTING.md
c   pyproject.toml
c   setup.cfg
c   setup.py
c   package.json
c   tsconfig.base.json
c   webpack.config.js
c   vite.config.ts
c   karma.conf.js
c   .eslintrc.js
c   .gitignore
c   .github/workflows/tests.yml
c   .circleci/config.yml
c   Makefile
c   Makefile.am
c   Dockerfile
c   Dockerfile.dev
c   CMakeLists.txt
c   meson.build
c   go.mod
c   Cargo.toml
c   pom.xml
c   build.gradle
c   build.gradle.kts
c   build.sbt
c   mix.exs
c   Package.swift
c   Gemfile
c   Rakefile
c   requirements-dev.txt
c   App.csproj
c   src/main/resources/application.properties
c   config/database.yml
c   BUILD.bazel
v   vendor/github.com/acme/log/log.go
v   third_party/zlib/inflate.c
v   thirdparty/zlib/inflate.c
v   src/3rdparty/zlib/inflate.c
vi  node_modules/react/index.js
v   deps/lua/lapi.c
v   Pods/Alamofire/Session.swift
vi  pip/_vendor/requests/__init__.py
v   external/fmt/format.cc
vt  vendor/acme/tests/log.go
g   api/user.pb.go
g   api/user_pb2.py
g   api/user_pb2_grpc.py
g   src/api/user.pb.cc
g   src/api.gen.ts
g   pkg/zz_generated.deepcopy.go
g   src/schema.generated.ts
g   pkg/enum_gen.go
g   lib/user.g.dart
g   lib/user.freezed.dart
g   Forms/Main.Designer.cs
g   src/generated/schema.rs
g   src/__generated__/types.ts
g   dist/app.js
g   static/jquery.min.js
g   src/parser.tab.c
i   src/cairn/__init__.py
i   src/components/index.ts
i   src/lib.rs
i   src/store/mod.rs
i   pkg/http/doc.go
i   org/acme/package-info.java
i   lua/plugin/init.lua
i   core/package.scala
-   src/cairn/store/lease.py
-   src/latest.py
-   src/contest.go
-   src/attestation.rs
-   src/inspect.rb
-   src/Latest.java
-   src/Greatest.kt
-   src/Inspector.swift
-   src/testament.py
-   src/protest/march.py
-   src/fastest_path.cpp
-   src/aspect.ts
-   src/spectrum.py
-   src/Spectator.cs
-   src/examplar.py
-   src/demographics.r
-   src/democracy.ex
-   src/resample.py
-   src/sample.py
-   src/docker.go
-   src/doctor.go
-   src/documents/store.js
-   src/docstring.py
-   src/readmeter.c
-   src/history.ts
-   src/license.go
-   src/todo.js
-   src/config.py
-   src/config/loader.rb
-   src/Settings.java
-   src/build.rs
-   src/make.lua
-   src/vendors.py
-   src/deposit/bank.php
-   src/depsolver.py
-   src/generator.py
-   src/generate.go
-   src/genre/list.scala
-   src/distance.hs
-   src/district/map.zig
-   src/indexer.ts
-   src/index_writer.py
-   src/model.rs
-   src/main/java/org/acme/Library.java
-   lib/my_app/accounts.ex
-   Sources/App/Routes.swift
-   src/Parser.hs
-   cmd/server/main.go
-   src/words.txt
-   include/lexer.hpp
"""
LETTERS = dict(zip("tedcvgi", FileRole, strict=True))
ROWS = [tuple(line.split(maxsplit=1)) for line in TABLE.strip().splitlines()]


def expected(letters: str) -> FileRole:
    found = FileRole(0)
    for letter in letters.strip("-"):
        found |= LETTERS[letter]
    return found


def test_the_table_is_large_and_has_both_kinds_and_many_languages() -> None:
    assert len(ROWS) >= 180
    assert sum(letters == "-" for letters, _ in ROWS) >= 45
    endings = {path.rpartition(".")[2] for _, path in ROWS}
    known = "py go java kt rb ts tsx js rs cc cpp c cs swift php exs ex scala hs lua zig dart ps1 bats r"
    many = set(known.split())
    assert len(many) >= 20
    assert many <= endings


@pytest.mark.parametrize(("letters", "path"), ROWS)
def test_a_path_says_what_part_its_file_plays(letters: str, path: str) -> None:
    assert place_of(path) == expected(letters)
    assert is_test(path) is (FileRole.TEST in expected(letters))


def test_all_paths_at_once_give_what_each_gives_alone() -> None:
    paths = sorted(path for _, path in ROWS)
    together = places(PathTable(paths))
    assert [FileRole(int(found)) for found in together] == [place_of(path) for path in paths]


@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12), max_size=6))
def test_any_names_whatever_they_hold_are_judged_one_by_one(names: list[str]) -> None:
    together = places(PathTable(names))
    assert [FileRole(int(found)) for found in together] == [place_of(name) for name in names]


def test_letter_case_of_a_folder_does_not_matter_but_humps_do() -> None:
    assert is_test("Tests/a.cs")
    assert is_test("TEST/a.cob")
    assert is_test("src/ParserTest.java")
    assert not is_test("src/parsertest.java")


@pytest.mark.parametrize(
    ("path", "scope"),
    [
        ("src/lease.py", SearchScope.RUNTIME),
        ("vendor/zlib/inflate.c", SearchScope.RUNTIME),
        ("tests/test_lease.py", SearchScope.TESTS),
        ("tests/README.md", SearchScope.TESTS),
        ("examples/tests/test_hello.py", SearchScope.TESTS),
        ("docs/mkdocs.yml", SearchScope.DOCS),
        ("examples/hello.py", SearchScope.DOCS),
        ("pyproject.toml", SearchScope.CONFIG),
    ],
)
def test_every_file_is_in_one_scope_and_in_all(path: str, scope: SearchScope) -> None:
    assert scope_of(path) is scope
    found = np.array([place_of(path)], np.uint8)
    assert {each for each in SearchScope if in_scope(found, each)[0]} == {scope, SearchScope.ALL}


def test_every_combination_of_parts_is_in_exactly_one_scope() -> None:
    every = np.arange(128, dtype=np.uint8)
    taken = sum(in_scope(every, scope).astype(int) for scope in SearchScope if scope is not SearchScope.ALL)
    assert np.array_equal(taken, np.ones(128))
    assert in_scope(every, SearchScope.ALL).all()


def test_a_path_of_twelve_thousand_characters_is_judged_in_no_time() -> None:
    assert not is_test("a" * 12_000 + "/" + "test" * 10 + ".py")
    assert is_test("a-_." * 3_000 + "_test.go")
