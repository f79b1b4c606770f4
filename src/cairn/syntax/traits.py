"""What no grammar and no query say of a language: one frozen value, written in the language's folder.

Whoever needs to tell languages apart asks for a trait and never for a name: a new language then changes no code but its
own. A trait that a language does not set has the value that fits most languages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from cairn.syntax.visibility import ALL, Visibility

if TYPE_CHECKING:
    from tree_sitter import Node

ImportedName = tuple[str, str, str]
"""One name that an import statement brings in: module, name and alias, each empty where it is not written."""

# --- local names ------------------------------------------------------------------------------------------------------

PARAMETER, DEFINITION, WRITE, READ = "parameter", "definition", "write", "read"
SAME, OUTSIDE, NOTHING = "same", "outside", "nothing"
"""As the node around it; a definition in the scope around this node; no name of a value at all."""

Fields = dict[str, dict[str, str]]


class LocalRules(NamedTuple):
    """What binds a name inside a function.

    `fields` says for a kind of node what a name is that stands in one of its fields (`""`: in none); what is not listed
    there only reads the name. `SAME` hands on what the node itself is: the parts of a pattern are what the pattern is.
    `scopes` are the kinds of nodes that hold the names bound in them; of these, `functions` hold those of `var` too.
    With `writes_bind` a name that is assigned anywhere in a function belongs to it.
    """

    functions: frozenset[str]
    scopes: frozenset[str]
    fields: Fields
    writes_bind: bool = False
    names: frozenset[str] = frozenset({"identifier"})


def each(kinds: str, fields: dict[str, str]) -> Fields:
    """Give every one of these kinds of nodes the same fields."""
    return dict.fromkeys(kinds.split(), fields)


def words(text: str) -> frozenset[str]:
    """Return the words of a text, each once."""
    return frozenset(text.split())


# --- all traits -------------------------------------------------------------------------------------------------------


class Main(StrEnum):
    """Which function called `main` begins a program."""

    NONE = "none"
    AT_TOP = "at_top"
    ANYWHERE = "anywhere"
    STATIC = "static"
    IN_PACKAGE_MAIN = "in_package_main"


class Bases(StrEnum):
    """In which order the bases of a class are asked for a member.

    `LINEAR`: the first one that has it, but no base before a class that inherits from it.
    """

    FIRST = "first"
    LAST = "last"
    LINEAR = "linear"


@dataclass(frozen=True, slots=True)
class Traits:
    """One language. Families are languages that name each other's definitions.

    Attributes:
        name: The name of the language, which is the name of its folder too.
        wheel: The distribution that holds its grammar; `tree-sitter-<name>` where it is empty.
        function: The function of the wheel's module that returns the grammar.
        queries: The query files below `languages/`, in order; `<name>/query.scm` where there are none.
        overruns: Whether a text would make the grammar write behind a buffer of its own.

        visibility: Which definitions other files can see.
        constructors: The names of methods that make an object.
        import_tree: Takes one import statement apart, for queries that capture `@import.HOW`.
        local_rules: What binds a name in a function; None where local names are not known.

        family: The family whose imports are resolved together; empty where imports lead nowhere.
        resolver: The folder whose `resolver.py` says where imports lead and what binds a name; empty for the default.

        own: The receivers that mean the object of the class around them.
        own_receiver: A pattern that finds the name of the receiver in the signature of a method.
        own_lost_in: A word of code between a method and a use behind which `own` may be another object.
        base: The receivers that mean the bases of the class around them.
        path_roots: The words that begin a path of modules.
        namespaces: `a::b::name` names something in a namespace, in the file or in one that it includes.

        packages: A file says in which package it is, and sees the names of that package without an import.
        package_is_folder: A package is a folder, and a type may have methods in several of its files.
        includes: An import brings all that a file holds, and a prototype and its definition are one.
        imports_all_used: A file imports whatever it uses of other files.
        import_binds_first: `import a.b` gives a name to `a`.
        exports_by: The word that an import begins with which other files see; empty where they see every import.
        rebinds: A name may be defined, imported and assigned in one scope, and any of these may be meant.
        seen_through: Kinds of definitions around a whole file, which those who import do not name again.
        no_names: Kinds of definitions at the top of a file that are no names.

        modules_in_files: A module may be written in a file, as a scope of its own, or be another file.
        impls: The members and the bases of a type stand on its `impl` blocks.
        extensions: A function may be written outside of the class that it belongs to, and be imported.
        bare_members: Members of the class around need no receiver.
        bare_innermost: Of these, only members of the innermost class do not.
        bare_outside: A method that is written outside of its class sees its members, too.
        bases: In which order the bases of a class are asked.
        anonymous_classes: A function may make an object with methods that see each other.
        class_body_runs: The body of a class runs from top to bottom and sees what it has defined so far.
        members_need_receiver: Of a class or an object its code can name only the members of an enum alone.
        blocks_hide: A name belongs to the block around it; lines are indented as blocks are nested.
        callbacks_bind: Callbacks, which are no definitions, hold names of their own.
        infers_types: `infer Name` in a type makes a name for a part of another type.
        types_are_names: Where a type is named no variable is meant.
        types_are_values: A type may be a variable, so a local name may hide one.
        calls_are_methods: Where a name is called no variable is meant.
        type_first: A declaration writes the type before the name, and a field needs no receiver.
        type_last: A declaration writes the type after the name, without a mark between them.
        no_classes: Words that stand in the place of a type and say nothing of the class.

        common: Names that every program calls on values of the language: to be the only one of a name proves nothing.
        common_prefix: What the names begin with that the language itself calls.
        main: Which function begins a program.
        run_as_module: The name of the file that runs when its package is run.
        package_file: The name of the file that makes a folder a package.
        script_marks: Texts that show that a file is run as it is.
    """

    name: str
    wheel: str = ""
    function: str = "language"
    queries: tuple[str, ...] = ()
    overruns: Callable[[bytes], bool] | None = None

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

    common: frozenset[str] = frozenset()
    common_prefix: str = ""
    main: Main = Main.NONE
    run_as_module: str = ""
    package_file: str = ""
    script_marks: tuple[bytes, ...] = ()

    @property
    def distribution(self) -> str:
        """The wheel that holds the grammar."""
        return self.wheel or f"tree-sitter-{self.name}"

    @property
    def query_files(self) -> tuple[str, ...]:
        """The files of the query, in order; patterns that come first win."""
        return self.queries or (f"{self.name}/query.scm",)
