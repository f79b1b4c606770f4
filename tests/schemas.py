"""Whether an answer has the shape that its schema promises. The schemas themselves are checked in tests/answer."""

from __future__ import annotations

from functools import cache

from jsonschema import Draft202012Validator

from cairn.answer.envelope import load_schema


@cache
def validator(schema: str) -> Draft202012Validator:
    """What knows the schema of this name; it is made once, for making it takes longer than most answers."""
    return Draft202012Validator(load_schema(schema))


def check(answer: object, schema: str) -> None:
    """Fails when the answer is not of the schema of this name."""
    validator(schema).validate(answer)
