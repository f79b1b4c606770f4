"""What a value probably is, from how the text around makes or declares it. A guess: it never proves anything."""

from __future__ import annotations

import re

from cairn.core.types import Reference
from cairn.graph.blocks import is_in_reach, words
from cairn.graph.facts import CALLABLES, CLASSES, Facts

_MOST_BYTES = 200_000
_MOST_PLACES = 200
_LOOK = 160
# Classes are written with a capital: what is not is a function whose result nobody knows.
_CLASS = r"((?:[\w$]+(?:\.|::))*[A-Z][\w$]*)"
_MADE = re.compile(
    rf"\s*(?::[^=\n]{{0,80}})?:?=\s*(?:await\s+)?(?:new\s+)?&?(?:mut\s+)?{_CLASS}"
    r"(?:<[^()\n]{0,80}>)?(?:\(|\{|::(?:new|default|from)\b)"
)
_TYPED = re.compile(
    rf"\??\s*:\s*[\"'&]?(?:mut\s+)?(?:(?:[\w]+\.)?Optional\[)?[\"']?{_CLASS}[\"'\]]{{0,2}}(?=[\s,)=;|<{{\[]|$)"
)
_TYPE_LAST = re.compile(rf"\s+\*?{_CLASS}(?=[\s,)])")
_BEFORE = re.compile(rf"(?:^|[\s(,]){_CLASS}(?:<[^<>\n]{{0,80}}>)?[\s&*]+$")
_OPENED = re.compile(rf"\bwith\s+{_CLASS}\([^\n]{{0,120}}\)\s+as\s+$")
_HANDED_OVER = re.compile(r"\s*=\s*([A-Za-z_]\w*)[ \t]*;?(?:\n|$)")
_OWN_FIELD = re.compile(r"(self|this)(?:\.|->)([\w$]+)")


def type_of_value(facts: Facts, receiver: str, reference: Reference) -> str:
    """The name of the class of a value, if everything that the text says of it agrees; else empty."""
    field = _OWN_FIELD.fullmatch(receiver)
    name, kinds = (field[2], CLASSES) if field else (receiver, CALLABLES)
    if facts.traits.type_first:
        # A field needs no `this`.
        kinds = CALLABLES | CLASSES
    if not name.isidentifier() and not re.fullmatch(r"[\w$]+", name):
        return ""
    number = reference.scope
    while number >= 0:
        symbol = facts.symbols[number]
        if symbol.kind in kinds:
            found = facts.types_known.get((number, name))
            if found is None:
                found = facts.types_known[number, name] = _types_in(
                    facts, facts.text[symbol.start_byte : symbol.end_byte], name
                )
            if found:
                return next(iter(found)) if len(found) == 1 else ""
        number = symbol.parent
    return "" if field or not facts.traits.callbacks_bind else _type_in_block(facts, name, reference.start_byte)


def _type_in_block(facts: Facts, name: str, at: int) -> str:
    """The class of what the innermost callback or block around a use at the top of a script makes of a name."""
    reached = [spot for spot in facts.in_blocks(name) if is_in_reach(facts.text, spot, at)]
    if not reached:
        return ""
    begin = max(reached, key=lambda spot: (spot.depth, spot.at)).at + len(name.encode())
    after = facts.text[begin : begin + _LOOK].decode("utf-8", "replace")
    made = _MADE.match(after) or _TYPED.match(after)
    return made[1] if made else ""


def type_of_variable(facts: Facts, number: int) -> str:
    """The name of the class of a variable at the top of a file, as its own declaration says it."""
    symbol = facts.symbols[number]
    found = _types_in(facts, facts.text[symbol.start_byte : symbol.end_byte], symbol.name)
    return found.pop() if len(found) == 1 else ""


def _types_in(facts: Facts, text: bytes, name: str, handed_over: bool = True) -> set[str]:
    """Every class that the text says a name is one of. With `handed_over`, in `self.a = b` also what `b` is."""
    if len(text) > _MOST_BYTES:
        return set()
    others: set[str] = set()
    wanted = name.encode()
    found: set[str] = set()
    for count, at in enumerate(words(text, wanted)):
        if count >= _MOST_PLACES:
            return set()
        end = at + len(wanted)
        after = text[end : end + _LOOK].decode("utf-8", "replace")
        before = text[max(0, at - _LOOK) : at].decode("utf-8", "replace")
        line = before.rpartition("\n")[2]
        # `Shape one = new Circle()` is a `Shape`: the type that is written says more than what was made.
        made = _BEFORE.search(line) if facts.traits.type_first else None
        made = made or _MADE.match(after) or _TYPED.match(after) or _OPENED.search(line)
        if made is None and facts.traits.type_last:
            made = _TYPE_LAST.match(after)
        if made is not None:
            if made[1].rpartition(".")[2] not in facts.traits.no_classes:
                found.add(made[1])
        elif handed_over and (other := _HANDED_OVER.match(after)) and other[1] != name:
            others.add(other[1])
    if not found and len(others) == 1:
        return _types_in(facts, text, others.pop(), handed_over=False)
    return found
