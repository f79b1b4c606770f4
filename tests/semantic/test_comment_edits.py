"""A comment is changed in a file of Go that its compiler has read: what it knows stays, and of more one is told."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.semantic.indexers import real_indexer
from tests.semantic.worlds import World

pytestmark = pytest.mark.long

MUX = """\
// Package mux routes requests.
package mux

// Router holds routes.
type Router struct{ routes []*Route }

// NewRoute adds a route.
func (r *Router) NewRoute() *Route {
	route := &Route{}
	r.routes = append(r.routes, route)
	return route
}

// Methods adds a route with methods.
func (r *Router) Methods(methods ...string) *Route {
	return r.NewRoute().Methods(methods...)
}
"""
ROUTE = """\
package mux

// Route is one route.
type Route struct{ methods []string }

// Methods adds methods.
func (r *Route) Methods(methods ...string) *Route {
	r.methods = append(r.methods, methods...)
	return r
}
"""
USES = """\
package mux

func use(r *Router) {
	r.NewRoute().Methods("GET").Methods("PUT")
	made := r.NewRoute()
	made.Methods("POST")
}
"""
FILES = {"go.mod": "module example.com/mux\n\ngo 1.18\n", "mux.go": MUX, "route.go": ROUTE, "uses.go": USES}
SHOWN = [("mux.go", 16), ("uses.go", 4), ("uses.go", 4), ("uses.go", 6)]


class Typed:
    """The command itself, with the indexer of Go on the path."""

    def __init__(self, world: World) -> None:
        go = os.path.dirname(real_indexer("scip-go"))
        keep = {name: os.environ[name] for name in ("GOPATH", "GOCACHE", "GOMODCACHE") if name in os.environ}
        self._environ = {**world.environ, **keep, "PATH": os.pathsep.join([go, world.environ["PATH"]])}
        self._world = world

    def run(self, *arguments: str) -> str:
        command = [sys.executable, "-m", "cairn", *arguments]
        done = subprocess.run(command, cwd=self._world.tree, env=self._environ, stdout=subprocess.PIPE, check=True)
        return done.stdout.decode()

    def uses(self) -> tuple[list[tuple[str, int]], list[str]]:
        """The uses of `Route.Methods` that the compiler knows, and what is said about the answer."""
        told: dict[str, Any] = json.loads(self.run("refs", "Route.Methods", "--json"))
        rows = [row for row in told["results"] if row["layer"] == "semantic" and row["tier"] == "proven"]
        return sorted((row["path"], row["line"]) for row in rows), told["warnings"]


def test_a_comment_that_changes_takes_back_nothing_that_the_compiler_of_go_knows(tmp_path: Path) -> None:
    world = World(tmp_path.resolve(), FILES)
    typed = Typed(world)
    typed.run("semantic", "refresh")
    assert typed.uses() == (SHOWN, [])
    world.replace("mux.go", "routes requests", "sends requests where they belong")
    assert typed.uses() == (SHOWN, [])
    world.replace("mux.go", "// Methods adds a route", "// Here is a line more.\n// Methods adds a route")
    moved = [("mux.go", 17), *SHOWN[1:]]
    assert typed.uses() == (moved, [])
    # The body of another function says nothing of this one; in its own, syntax alone answers, and that is said.
    world.replace("mux.go", "\troute := &Route{}", "\troute := new(Route)")
    known, warnings = typed.uses()
    assert known == moved
    assert [each for each in warnings if "1 file has changed" in each and "cairn semantic refresh" in each]
    world.replace("mux.go", "return r.NewRoute().Methods", "return r.NewRoute().Methods().Methods")
    known, warnings = typed.uses()
    assert known == SHOWN[1:]
    assert [each for each in warnings if "1 file has changed" in each]
    typed.run("semantic", "refresh")
    assert typed.uses() == (sorted([("mux.go", 17), *moved]), [])
