"""Traits of Python: modules, names that may be bound again, and class bodies that run."""

from __future__ import annotations

from cairn.syntax.lexis import AFTER_HASH, IN_APOSTROPHES, IN_QUOTES, IN_THREE_APOSTROPHES, IN_THREE_QUOTES, Lexis
from cairn.syntax.traits import NOTHING, OUTSIDE, PARAMETER, SAME, WRITE, Bases, LocalRules, Traits, each, words
from cairn.syntax.visibility import UNDERSCORE

_LOCALS = LocalRules(
    functions=words("function_definition lambda"),
    scopes=words(
        "function_definition lambda list_comprehension set_comprehension dictionary_comprehension generator_expression"
    ),
    fields={
        **each("parameters lambda_parameters", {"": PARAMETER}),
        **each("default_parameter typed_default_parameter", {"name": SAME}),
        **each("typed_parameter list_splat_pattern dictionary_splat_pattern splat_pattern", {"": SAME}),
        **each("pattern_list tuple_pattern list_pattern as_pattern_target dotted_name", {"": SAME}),
        **each("assignment augmented_assignment for_statement for_in_clause", {"left": WRITE}),
        "named_expression": {"name": WRITE},
        "as_pattern": {"alias": WRITE},
        "aliased_import": {"alias": WRITE, "name": NOTHING},
        "import_from_statement": {"name": WRITE, "module_name": NOTHING},
        "import_statement": {"name": WRITE},
        "case_pattern": {"": WRITE},
        "delete_statement": {"": WRITE},
        "attribute": {"attribute": NOTHING},
        "keyword_argument": {"name": NOTHING},
        **each("function_definition class_definition", {"name": OUTSIDE}),
    },
    writes_bind=True,
)


TRAITS = Traits(
    "python",
    lexis=Lexis(
        (AFTER_HASH,),
        (IN_THREE_QUOTES, IN_THREE_APOSTROPHES, IN_QUOTES, IN_APOSTROPHES),
        embeds=r"\{",
        directives=r"@|type:|pyright|mypy|coding[:=]",
    ),
    visibility=UNDERSCORE,
    constructors=words("__init__ __new__"),
    local_rules=_LOCALS,
    family="python",
    resolver="python",
    own=words("self cls"),
    imports_all_used=True,
    import_binds_first=True,
    rebinds=True,
    bases=Bases.LINEAR,
    class_body_runs=True,
    types_are_values=True,
    no_classes=words("Any Optional Union Self Callable Type Annotated Final ClassVar"),
    common_prefix="__",
    run_as_module="__main__.py",
    package_file="__init__.py",
    script_marks=(b'if __name__ == "__main__"', b"if __name__ == '__main__'"),
    common=words("""
absolute acquire add all any append as_integer_ratio as_posix as_uri cancel capitalize center chmod clear close copy
count debug decode discard done encode endswith error exception exists expanduser extend fileno find flush format
format_map fromkeys get getvalue glob group groupdict groups hex index info insert intersection is_absolute is_dir
is_file is_symlink isalnum isalpha isatty isdigit isdisjoint islower isnumeric isspace issubset issuperset istitle
isupper items iterdir join joinpath keys ljust log lower lstat lstrip match mkdir name open partition pop popitem put
read read_bytes read_text readable readinto readline readlines readlink relative_to release remove removeprefix
removesuffix rename replace resolve result reverse rfind rglob rindex rjust rmdir rpartition rsplit rstrip run samefile
search seek seekable send set setdefault sort span split splitlines start startswith stat stop strip sub sum swapcase
symlink_to tell title to_bytes touch translate truncate union unlink update upper values wait warning with_name
with_stem with_suffix writable write write_bytes write_text writelines zfill
addCleanup approx assertAlmostEqual assertCountEqual assertDictEqual assertEqual assertFalse assertGreater assertIn
assertIs assertIsInstance assertIsNone assertIsNot assertIsNotNone assertLess assertListEqual assertLogs
assertNotEqual assertNotIn assertRaises assertRaisesRegex assertRegex assertTrue assert_any_call assert_called
assert_called_once assert_called_once_with assert_called_with assert_has_calls assert_not_called fail fixture mark
monkeypatch parametrize patch raises setUp setUpClass setattr skip skipTest skipif subTest tearDown tearDownClass
warns xfail
"""),
)
