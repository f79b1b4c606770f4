"""Arguments of a tool: their schema, made from its options, and the check against it, which names the wrong field.

Only the words of JSON Schema that the tools use are known here; a test keeps the tools to them.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from cairn.core.options import Choice, Flag, Json, Number, OptionOnFace, Text, TextList, Type
from cairn.errors import InvalidRequest

Schema = Mapping[str, Any]

WORDS = frozenset({
    "type", "description", "default", "enum", "minimum", "maximum", "minLength", "maxLength", "items", "minItems",
    "maxItems", "properties", "required", "additionalProperties", "anyOf",
})  # fmt: skip

_BOUNDS = frozenset({"minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems"})
_MOST_CHOICES = 12
_TYPES = {
    "string": (str, "a text"),
    "integer": (int, "a whole number"),
    "boolean": (bool, "true or false"),
    "array": (list, "a list"),
    "object": (dict, "an object"),
}
_MOST_SHOWN = 40


def schema_of(options: Iterable[OptionOnFace]) -> dict[str, Any]:
    """Return the JSON Schema of a tool that takes these options."""
    properties, required = {}, []
    for one in options:
        properties[one.name] = _property(one)
        if one.required:
            required.append(one.name)
    found = {"type": "object", "properties": properties, "additionalProperties": False}
    return found | {"required": required} if required else found


def told(schema: Schema) -> dict[str, Any]:
    """Return a schema as agents read it.

    It is without bounds, long lists of choices and the insides of alternatives, which cost tokens and hold all the
    same, does not say that what is not given is not set or empty, and does not forbid the argument that every tool
    takes besides its own.
    """
    return {name: _in_short(part) for name, part in schema.items() if name != "additionalProperties"}


def _in_short(part: Any) -> Any:
    if isinstance(part, Mapping) and "anyOf" in part:
        return {**part, "anyOf": [{"type": one["type"]} for one in part["anyOf"]]}
    if isinstance(part, Mapping):
        # The properties of an object could have such names themselves, but their values are schemas.
        return {
            name: _in_short(each)
            for name, each in part.items()
            if name not in _BOUNDS
            and not (name == "default" and (each is False or each == []))
            and not (name == "enum" and len(each) > _MOST_CHOICES)
        }
    return [_in_short(each) for each in part] if isinstance(part, list) else part


def _property(one: OptionOnFace) -> dict[str, Any]:
    if isinstance(one.type, Json):
        return dict(one.type.schema)
    words = _schema_of_type(one.type)
    found = {"type": words.pop("type"), "description": one.sentence, **words}
    default = list(one.default) if isinstance(one.default, tuple) else one.default
    return found if default is None or one.required else found | {"default": default}


def _schema_of_type(kind: Type) -> dict[str, Any]:
    match kind:
        case Flag():
            return {"type": "boolean"}
        case Number(least, most):
            return {"type": "integer", "minimum": least} | ({} if most is None else {"maximum": most})
        case Text(most):
            return {"type": "string", "minLength": 1, "maxLength": most}
        case Choice(many=False):
            return {"type": "string", "enum": kind.listed()}
        case Choice():
            return {"type": "array", "items": {"type": "string", "enum": kind.listed()}}
        case TextList(most, count, least):
            items = {"type": "string", "minLength": 1, "maxLength": most}
            return {"type": "array", "items": items} | ({"minItems": least} if least else {}) | {"maxItems": count}
        case Json():
            return dict(kind.schema)


# What agents call an argument elsewhere, and what it is called here: where a tool has the one and not the other.
_OTHER_NAMES = {
    "symbol": "name", "name": "symbol", "pattern": "query", "file_path": "file", "filePath": "file",
    "filename": "file",
}  # fmt: skip
_WHOLE = re.compile(r"\s*[0-9]{1,9}\s*")
_TRUTHS = {"true": True, "false": False}
_MOST_TEXT = 65_536


def forgiven(schema: Schema, arguments: object) -> object:
    """Return the arguments with what can mean only one thing in the form of the schema; the rest is left as it is.

    A null is no argument, a number or a truth may be written as a text, one text stands for a list of it, and names may
    be those that other tools have.
    """
    if not isinstance(arguments, dict):
        return arguments
    known: Mapping[str, Schema] = schema["properties"]
    found: dict[Any, Any] = {}
    for name, value in arguments.items():
        if value is None:
            continue
        meant = name if name in known else _known_name(name, known)
        taken = meant in arguments or meant in found
        if meant is None or (meant != name and taken):
            found[name] = value
        else:
            found[meant] = _meant(known[meant], value)
    return found


def _known_name(name: object, known: Mapping[str, Schema]) -> str | None:
    if not isinstance(name, str):
        return None
    camel = re.sub("_([a-z])", lambda match: match[1].upper(), name)
    return next((each for each in (camel, _OTHER_NAMES.get(name)) if each in known), None)


def _meant(schema: Schema, value: Any) -> Any:
    kind = schema.get("type")
    if kind == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    if kind == "array" and isinstance(value, str):
        return _listed(value)
    if not isinstance(value, str):
        return value
    if kind == "integer" and _WHOLE.fullmatch(value):
        return int(value)
    if kind == "boolean":
        return _TRUTHS.get(value.strip().lower(), value)
    if "enum" in schema and value not in schema["enum"] and value.strip().lower() in schema["enum"]:
        return value.strip().lower()
    return value


def _listed(value: str) -> list[Any]:
    """Return a list that was written as a text, or the text as the only one of a list."""
    if value.startswith("[") and len(value) <= _MOST_TEXT:
        with contextlib.suppress(ValueError, RecursionError):
            told = json.loads(value)
            if isinstance(told, list):
                return told
    return [value]


def checked(schema: Schema, arguments: object) -> dict[str, Any]:
    """Return the arguments with defaults filled in; `InvalidRequest` names the first wrong field and says why."""
    if not isinstance(arguments, dict):
        raise InvalidRequest(field="arguments", why="they must be an object")
    return _object(schema, arguments, "")


def _object(schema: Schema, value: Mapping[Any, Any], at: str) -> dict[str, Any]:
    known: Mapping[str, Schema] = schema["properties"]
    for name in value:
        if name not in known:
            raise _bad(
                f"{at}{name}"[:_MOST_SHOWN], f"there is none of that name; there are {', '.join(known) or 'none'}"
            )
    found = {}
    for name, part in known.items():
        if name in value:
            found[name] = _value(part, value[name], f"{at}{name}")
        elif name in schema.get("required", ()):
            raise _bad(f"{at}{name}", "it is missing")
        elif "default" in part:
            found[name] = part["default"]
    return found


def _value(schema: Schema, value: object, at: str) -> Any:
    if "anyOf" in schema:
        choices = [one for one in schema["anyOf"] if _is_a(one["type"], value)]
        if not choices:
            raise _bad(at, "must be " + " or ".join(_TYPES[one["type"]][1] for one in schema["anyOf"]))
        return _value(choices[0], value, at)
    if not _is_a(schema["type"], value):
        raise _bad(at, f"must be {_TYPES[schema['type']][1]}")
    if isinstance(value, str):
        return _checked_text(schema, value, at)
    if isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            raise _bad(at, "must not be empty" if not value else f"must have at least {schema['minItems']} entries")
        if len(value) > schema.get("maxItems", math.inf):
            raise _bad(at, f"must have at most {schema['maxItems']} entries")
        return [_value(schema["items"], one, f"{at}[{number}]") for number, one in enumerate(value)]
    if isinstance(value, dict):
        return _object(schema, value, f"{at}.")
    if isinstance(value, int) and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        raise _bad(at, f"must be from {schema['minimum']} to {schema['maximum']}")
    return value


def _checked_text(schema: Schema, value: str, at: str) -> str:
    if "enum" in schema and value not in schema["enum"]:
        raise _bad(at, f"must be one of {', '.join(schema['enum'])}")
    if not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", math.inf):
        most = schema.get("maxLength")
        raise _bad(at, f"must have {schema.get('minLength', 0)} to {most} characters" if most else "must not be empty")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise _bad(at, "must be text: half a character is none") from None
    return value


def _is_a(name: str, value: object) -> bool:
    # To Python true is a number; to JSON it is not.
    return isinstance(value, _TYPES[name][0]) and (name == "boolean" or not isinstance(value, bool))


def _bad(field: str, why: str) -> InvalidRequest:
    return InvalidRequest(field=field, why=why)
