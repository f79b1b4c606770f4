"""An error is a sentence, an advice, a stable code and an exit status."""

from __future__ import annotations

import inspect
import string

import pytest

import cairn
from cairn import errors
from cairn.errors import CairnError


def every(error: type[CairnError]) -> list[type[CairnError]]:
    """The error and all that are below it, those of the package's modules, whether the package exports them or not."""
    found = [error, *(one for sub in error.__subclasses__() for one in every(sub))]
    return [one for one in dict.fromkeys(found) if one.__module__.startswith(errors.__name__)]


ALL = every(CairnError)
BANDS: dict[type[CairnError] | tuple[type[CairnError], ...], frozenset[int] | range] = {
    errors.IndexNotReadyError: frozenset({*range(10, 15), 18, 19}),
    (errors.NotFound, errors.Ambiguous, errors.Unsupported): range(15, 18),
    errors.SourceError: range(20, 30),
    errors.ConfigError: range(30, 40),
    errors.SemanticError: range(40, 50),
    errors.EmbeddingFailed: range(50, 53),
    errors.EngineError: range(53, 60),
    errors.EditError: range(60, 70),
    errors.LeaseError: range(70, 80),
    errors.StoreError: frozenset({*range(80, 90), *range(95, 99)}),
    errors.StoreUnreadable: frozenset({*range(90, 95), 99}),
}


def fields_of(error: type[CairnError]) -> list[str]:
    """The names that the message of this error asks for."""
    return [name for _, name, _, _ in string.Formatter().parse(error.__doc__ or "") if name]


def made(error: type[CairnError]) -> CairnError:
    return error(**{name: f"<{name} here>" for name in fields_of(error)})


@pytest.mark.parametrize("error", ALL)
def test_an_error_says_what_happened_and_what_to_do_next(error: type[CairnError]) -> None:
    problem = made(error)
    for text in (problem.sentence, problem.advice):
        assert text
        assert "\n" not in text
        assert "  " not in text
        assert "{" not in text
    assert problem.sentence.endswith((".", ">"))
    assert problem.advice.endswith(".")
    assert str(problem) == problem.sentence
    for name in fields_of(error):
        assert f"<{name} here>" in problem.sentence + problem.advice


@pytest.mark.parametrize("error", ALL)
def test_a_field_with_braces_in_it_is_shown_as_it_is(error: type[CairnError]) -> None:
    # A hostile file may be called `{0.__class__}`.
    problem = error(**dict.fromkeys(fields_of(error), "{0.__class__} {path}"))
    if fields_of(error):
        assert "{0.__class__} {path}" in problem.sentence + problem.advice


@pytest.mark.parametrize("error", [error for error in ALL if fields_of(error)])
def test_an_error_without_its_fields_cannot_be_made(error: type[CairnError]) -> None:
    with pytest.raises(KeyError):
        error()


def test_no_two_errors_share_a_code() -> None:
    codes = [error.code for error in ALL]
    assert sorted(codes) == sorted(set(codes))
    assert all(code.isidentifier() and code.islower() for code in codes)


@pytest.mark.parametrize("error", ALL)
def test_an_exit_status_lies_in_the_band_of_its_kind(error: type[CairnError]) -> None:
    for kind, band in BANDS.items():
        assert (error.exit_status in band) == issubclass(error, kind)
    assert error.exit_status != 0
    assert error.exit_status in {1, 2, 130} or any(error.exit_status in band for band in BANDS.values())


def test_no_two_errors_of_a_band_share_an_exit_status() -> None:
    shared = [error.exit_status for error in ALL if error.exit_status not in {1, 2}]
    assert sorted(shared) == sorted(set(shared))


# --- which errors there are, and what they are called -----------------------------------------------------------------

PUBLIC = [
    "Ambiguous",
    "CairnError",
    "ConfigError",
    "EmbeddingFailed",
    "EmbeddingModelChangedError",
    "IndexNotReadyError",
    "IndexingInProgressError",
    "InvalidPattern",
    "InvalidQuery",
    "NotFound",
    "NotIndexed",
    "QueryTimeout",
    "RequiresReindex",
    "SourceError",
    "StoreBusy",
    "StoreError",
    "StoreUnreadable",
    "Unsupported",
    "UsageError",
]


def below(error: type[CairnError]) -> list[type[CairnError]]:
    """The errors that are drawn under this one: those whose first base it is, in the order of their exit status."""
    found = [one for one in error.__subclasses__() if one.__bases__[0] is error and one in ALL]
    return sorted(found, key=lambda one: (lowest(one), one.__name__))


def lowest(error: type[CairnError]) -> int:
    return min([error.exit_status, *map(lowest, below(error))])


def drawn(error: type[CairnError], depth: int = 1) -> list[str]:
    """The tree that begins at this error, a line for each: its name, its exit status and its other bases."""
    others = "".join(f", also {base.__name__}" for base in error.__bases__[1:])
    line = f"{'    ' * depth}{error.__name__} {error.exit_status}{others}"
    return [line, *(line for one in below(error) for line in drawn(one, depth + 1))]


def test_the_tree_at_the_top_of_the_package_is_the_tree_of_the_classes() -> None:
    lines = (errors.__doc__ or "").splitlines()
    start = lines.index("    CairnError 1")
    tree = drawn(CairnError)
    assert lines[start : start + len(tree)] == tree
    assert len(tree) == len(ALL)
    assert not any(line.startswith("    ") for line in lines[start + len(tree) :])


def test_every_error_is_exported_under_its_own_name() -> None:
    assert sorted(error.__name__ for error in ALL) == sorted({*errors.__all__} - {"OUR_TROUBLE", "memory_trouble"})
    assert all(vars(errors)[error.__name__] is error for error in ALL)


def test_a_public_error_is_one_class_under_one_name() -> None:
    public = [name for name in cairn.__all__ if inspect.isclass(getattr(cairn, name)) and hasattr(errors, name)]
    assert sorted(public) == sorted(PUBLIC)
    for name in public:
        assert getattr(cairn, name) is getattr(errors, name)
        assert getattr(cairn, name).__name__ == name
    others = [name for name in cairn.__all__ if name not in public and inspect.isclass(getattr(cairn, name))]
    assert not any(issubclass(getattr(cairn, name), BaseException) for name in others)


def test_an_index_that_needs_a_reindex_is_caught_by_each_of_its_names() -> None:
    problem = errors.RequiresReindex(path="here", differs="embeddingModel")
    assert isinstance(problem, cairn.IndexNotReadyError)
    assert isinstance(problem, cairn.EmbeddingModelChangedError)
    assert isinstance(problem, RuntimeError)
    assert (problem.code, problem.exit_status) == ("requires_reindex", 12)
    assert issubclass(cairn.IndexingInProgressError, cairn.IndexNotReadyError)
    assert not issubclass(cairn.EmbeddingModelChangedError, cairn.IndexNotReadyError)
