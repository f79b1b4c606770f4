"""The traits of a language: what neither its grammar nor its query says, as one frozen value in its folder.

Code that must tell languages apart asks for a trait and never for the name of a language, so that a new language needs
no change outside of its folder. A trait that a language does not set has the value that fits most languages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from cairn.syntax.conditions import Condition
from cairn.syntax.lexis import C_LIKE, Lexis
from cairn.syntax.visibility import ALL, Visibility

if TYPE_CHECKING:
    from tree_sitter import Node

ImportedName = tuple[str, str, str]
"""One name that an import statement brings in: module, name and alias, each empty where it is not written."""

# --- local names ------------------------------------------------------------------------------------------------------

PARAMETER, DEFINITION, WRITE, READ = "parameter", "definition", "write", "read"
SAME, OUTSIDE, NOTHING = "same", "outside", "nothing"
"""Further roles: the role of the node around; a definition in the scope around the node; no local name at all."""

Fields = dict[str, dict[str, str]]


class LocalRules(NamedTuple):
    """The rules for what binds a name inside a function.

    `fields` gives for a kind of node the role of a name in each of its fields (`""`: in no field); in every other field
    a name is read. `SAME` passes on the role of the node: the parts of a pattern have the role of the pattern. `scopes`
    are the kinds of nodes that own the names bound in them; `functions` are those scopes that also own names declared
    with `var`. With `writes_bind` a name that a function assigns belongs to the function.
    """

    functions: frozenset[str]
    scopes: frozenset[str]
    fields: Fields
    writes_bind: bool = False
    names: frozenset[str] = frozenset({"identifier"})


def each(kinds: str, fields: dict[str, str]) -> Fields:
    """Return the same fields for each of these kinds of nodes."""
    return dict.fromkeys(kinds.split(), fields)


def words(text: str) -> frozenset[str]:
    """Return the words of a text, each once."""
    return frozenset(text.split())


# --- all traits -------------------------------------------------------------------------------------------------------


class Main(StrEnum):
    """Where a function `main` must be to begin a program."""

    NONE = "none"
    AT_TOP = "at_top"
    ANYWHERE = "anywhere"
    STATIC = "static"
    IN_PACKAGE_MAIN = "in_package_main"


class Bases(StrEnum):
    """The order in which the bases of a class are searched for a member.

    `LINEAR` is the order of Python: the first base that has the member, but no class before one that inherits from it.
    """

    FIRST = "first"
    LAST = "last"
    LINEAR = "linear"


@dataclass(frozen=True, slots=True)
class Traits:
    """The traits of one language. A family is a set of languages whose files import each other's definitions.

    Attributes:
        name: The name of the language, which is also the name of its folder.
        wheel: The distribution with its grammar; `tree-sitter-<name>` when empty.
        function: The function of the wheel's module that returns the grammar.
        queries: The query files below `languages/`, in order; `<name>/query.scm` when empty.
        overruns: Whether a text would make the grammar write beyond one of its buffers.

        lexis: What comments and strings look like.
        conditions: Finds the parts of a file that are compiled only under a condition; None where there are none.
        heads_say_all: The body of a function decides nothing outside of it: all types that others see are written down.
        interfaces_fit: A type implements an interface by having its methods, and does not name it.
        visibility: Which definitions other files can see.
        constructors: The names of methods that are constructors.
        import_tree: Takes one import statement apart, for queries that capture `@import.HOW`.
        local_rules: What binds a name in a function; None when local names are not supported.

        family: The family whose imports are resolved together; empty when imports are not resolved.
        resolver: The folder whose `resolver.py` resolves imports and tells what binds a name; empty for the default.

        own: The receivers that mean the instance of the class around them.
        own_receiver: A pattern that finds the name of the receiver in the signature of a method.
        own_lost_in: A word between a method and a use, after which `own` may be another object.
        base: The receivers that mean the bases of the class around them.
        path_roots: The words that begin a path of modules.
        namespaces: `a::b::name` names a definition in a namespace, in the file or in a file that it includes.

        packages: A file declares its package, and sees the names of that package without an import.
        package_is_folder: A package is a folder, and a type may have methods in several of its files.
        includes: An import brings everything of a file, and a prototype and its definition are one.
        imports_all_used: A file imports everything that it uses from other files.
        import_binds_first: `import a.b` binds the name `a`.
        exports_by: The first word of an import that re-exports; empty when every import re-exports.
        rebinds: A name may be defined, imported and assigned in one scope, and a use may mean any of these.
        seen_through: Kinds of definitions around a whole file that an import does not name, such as a package.
        no_names: Kinds of definitions at the top of a file that cannot be named.

        modules_in_files: A module may be a scope inside a file, or another file.
        impls: The members and the bases of a type are in its `impl` blocks.
        extensions: A function may be written outside of the class that it belongs to, and be imported.
        bare_members: Members of the classes around can be named without a receiver.
        bare_innermost: Only members of the innermost class can be named without a receiver.
        bare_outside: A method that is written outside of its class can name its members without a receiver too.
        bases: The order in which the bases of a class are searched.
        anonymous_classes: A function may make an object whose methods see each other.
        class_body_runs: The body of a class runs from top to bottom and sees what it has defined so far.
        members_need_receiver: Members can be named without a receiver only in an enum.
        blocks_hide: A name is visible only in the block around it; indentation shows the blocks.
        callbacks_bind: Callbacks, which are no definitions, bind names of their own.
        infers_types: `infer Name` in a type declares a name for a part of another type.
        types_are_names: The name of a type never means a variable.
        types_are_values: A type may be a variable, so a local name may hide a type.
        calls_are_methods: The name of a call never means a variable.
        type_first: A declaration has the type before the name, and a field needs no receiver.
        type_last: A declaration has the type after the name, without a sign between them.
        no_classes: Words in the place of a type that say nothing about the class.

        arrows_lead_to_members: `value->name` names a member, as `value.name` does elsewhere.
        sigil: The sign before a variable, which never means a function, a class or a constant.
        derefs: Types whose values have the members of what they hold, as `Arc<T>` has those of `T`.
        modules_are_no_values: A name that is called or read never means a module, which may have the name too.

        common: Names of methods of well-known libraries, also of those for tests: to be the only definition of such a
            name proves nothing.
        common_prefix: The prefix of names that the language itself calls.
        main: Which function begins a program.
        run_as_module: The name of the file that is run when its package is run.
        package_file: The name of the file that makes a folder a package.
        script_marks: Texts that show that a file is run directly.
    """

    name: str
    wheel: str = ""
    function: str = "language"
    queries: tuple[str, ...] = ()
    overruns: Callable[[bytes], bool] | None = None

    lexis: Lexis = C_LIKE
    conditions: Callable[[bytes, str], tuple[Condition, ...]] | None = None
    heads_say_all: bool = False
    interfaces_fit: bool = False
    visibility: Visibility = ALL
    constructors: frozenset[str] = frozenset()
    import_tree: Callable[[Node, bytes], Iterator[ImportedName]] | None = None
    local_rules: LocalRules | None = None

    family: str = ""
    resolver: str = ""

    own: frozenset[str] = frozenset()
    own_receiver: str = ""
    own_lost_in: bytes = b""
    base: frozenset[str] = frozenset({"super", "super()"})
    path_roots: frozenset[str] = frozenset()
    namespaces: bool = False

    packages: bool = False
    package_is_folder: bool = False
    includes: bool = False
    imports_all_used: bool = False
    import_binds_first: bool = False
    exports_by: bytes = b""
    rebinds: bool = False
    seen_through: frozenset[str] = frozenset()
    no_names: frozenset[str] = frozenset({"impl"})

    modules_in_files: bool = False
    impls: bool = False
    extensions: bool = False
    bare_members: bool = False
    bare_innermost: bool = False
    bare_outside: bool = False
    bases: Bases = Bases.FIRST
    anonymous_classes: bool = False
    class_body_runs: bool = False
    members_need_receiver: bool = False
    blocks_hide: bool = False
    callbacks_bind: bool = False
    infers_types: bool = False
    types_are_names: bool = False
    types_are_values: bool = False
    calls_are_methods: bool = False
    type_first: bool = False
    type_last: bool = False
    no_classes: frozenset[str] = frozenset()
    arrows_lead_to_members: bool = False
    sigil: str = ""
    derefs: frozenset[str] = frozenset()
    modules_are_no_values: bool = False

    common: frozenset[str] = frozenset()
    common_prefix: str = ""
    main: Main = Main.NONE
    run_as_module: str = ""
    package_file: str = ""
    script_marks: tuple[bytes, ...] = ()

    @property
    def distribution(self) -> str:
        """The distribution with the grammar."""
        return self.wheel or f"tree-sitter-{self.name}"

    @property
    def query_files(self) -> tuple[str, ...]:
        """The query files, in order; earlier patterns win."""
        return self.queries or (f"{self.name}/query.scm",)
