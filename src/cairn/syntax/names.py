"""Turn the text of a name into the name that people use, without quotes and other marks of the language."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

_CLOSING_MARKS = re.compile(r"[ \t]+#+[ \t]*$")
_TAG = re.compile(r"<[^>]*>?")
_QUOTE_PAIRS = ('"', "'", "`")
_LONG_NAME = 200
_LONG_ELEMENT = 2_000


def name_of(node_type: str, text: str) -> str:
    """Return the name in the text of a node, on one line and bounded.

    `:size` and `size: ` are `size`; a heading loses its closing marks.
    """
    if len(text) < _LONG_NAME and text.isidentifier():
        return text  # nearly every name
    if node_type in ("simple_symbol", "atom"):
        text = text.removeprefix(":")
    elif node_type == "keyword":
        text = text.strip().removesuffix(":")
    elif node_type == "nested_namespace_specifier":
        text = ".".join(part.strip() for part in text.split("::"))
    elif node_type == "operator_cast":
        text = text.partition("(")[0].strip()
    elif node_type == "element":
        # The text of a heading without its tags; bounded, as a heading that is never closed holds the rest of the page.
        text = " ".join(_TAG.sub(" ", text[:_LONG_ELEMENT]).split())
    elif node_type == "inline":
        text = _CLOSING_MARKS.sub("", text)
    if "\n" in text or len(text) > _LONG_NAME:
        text = " ".join(text.split())[:_LONG_NAME]
    # `<=>` is an operator, not a quoted name.
    return text if text.startswith("<") and node_type != "system_lib_string" else unquote(text)


def unquote(text: str) -> str:
    """Return the inside of a string literal or of an include in angle brackets; any other text unchanged."""
    text = text.strip()
    if len(text) >= 2 and text[0] == text[-1] and text[0] in _QUOTE_PAIRS:
        return text[1:-1]
    if len(text) >= 2 and text[0] == "<" and text[-1] == ">":
        return text[1:-1]
    return text


def text_of(data: bytes, node: Node | None) -> str:
    """Return the text of a node; empty without a node."""
    return data[node.start_byte : node.end_byte].decode("utf-8", "replace") if node is not None else ""
