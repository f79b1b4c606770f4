"""Does a function bind this name itself? Then a use in it means nothing outside.

Parameters and local variables are not in the index, so the text is asked, place by place, with a bounded look around.
When in doubt the answer is yes: the use is then counted by its name only, and never shown as an edge.
"""

from __future__ import annotations

import re

_BEFORE = 200
_AFTER = 160
# A name that stands more often in one function than this, or a function longer than this, is not looked into.
_MOST_PLACES = 400
_MOST_BYTES = 200_000
_WORD = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$")

_PYTHON_BEFORE = re.compile(
    r"(?:\bfor\s+(?:(?!\bin\b)[\w\s,()*])*|\bas\s+\(?|\blambda\b[^:\n]*[\s,*]|\bcase\s[^\n:]*[\s(,]|\bglobals?\(\)\[.)$"
)
_PYTHON_TARGETS = re.compile(r"^[\s\w,()*\[\].]*$")
_PYTHON_ASSIGN = re.compile(r"[\w,()*\[\]. \t]*(?:\s[-+*/%&|^@]?=(?!=)|:[^=\n]*=(?!=))")
_PYTHON_TIGHT = re.compile(r"=(?!=)[^\n]*[^,(\s)]\s*(?:#[^\n]*)?(?:\n|$)")
_SCRIPT_BEFORE = re.compile(
    r"(?:\b(?:const|let|var)\s+|\b(?:const|let|var)\s*[{\[][^}\]=]*[\s,{\[:]|(?<!\.)\bcatch\s*\(\s*|\bfunction\s+)$"
)
_SCRIPT_FUNCTION = re.compile(r"\bfunction\b[^()]*\([^)]*$")
_SCRIPT_OPEN = re.compile(r"\([^()]*$")
_SCRIPT_ARROW = re.compile(r"[^()]*\)\s*(?::[^=;{]*)?=>")
_SCRIPT_PARAMETER = re.compile(r"\s*[?,:=)}]")
_GO_BEFORE = re.compile(r"(?:\bvar\s+[\w\s,]*|(?:^|\n|\bif|\bfor|\bswitch|[;{])\s*[\w\s,]*)$")
_GO_AFTER = re.compile(r"[\w\s,]*:=|\s+[\w*\[\].]+\s*=")
_GO_CLOSURE_BEFORE = re.compile(r"\bfunc\s*\((?:[^()]*,)?\s*$")
_GO_CLOSURE_AFTER = re.compile(r"\s+[\w*\[.]|\s*,")
# `let (a, Some(b)) = …`, and `Some(a) => …` of a match.
_LET_BEFORE = re.compile(r"\blet\s(?:[^=;:]|::)*$")
_LET_AFTER = re.compile(r"\s*(?:[,)\]}=@|]|:(?!:))")
_ARM_AFTER = re.compile(r"[\w\s,.]*[)\]}]*\s*=>")
_DECLARED_BEFORE = re.compile(
    r"(?:^|[;{}(\n])\s*(?!return\b|else\b|throw\b|new\b|goto\b)[\w:.]+(?:<[^;{}]*>)?[\s*&?]+$"
)
_DECLARED_AFTER = re.compile(r"\s*(?:=(?!=)|;)")
_OTHER_BEFORE = re.compile(r"(?:\b(?:let|mut|val|var|auto|const|ref|final)\s+)$")
# Between the bars of a closure, `|a, b: u8|`; after `||` and after the second bar names are used.
_CLOSURE_BEFORE = re.compile(r"(?<!\|)\|[^|()\n]*$")
_CLOSURE_AFTER = re.compile(r"\s*[,:|](?!\|)")
_PARAMETER = re.compile(r"\s*[,:=)]")
_OWN_PARAMETERS = re.compile(r"(?:^|\s|\btemplate|\bimpl)<")
_TYPE_PARAMETER = re.compile(r"(?:^|,)\s*(?:(?:const|in|out|reified|class|typename)\s+)*([A-Za-z_]\w*)")


def binds(family: str, text: bytes, name: str, header: int) -> bool:
    """Whether this function's text makes `name` its own. `header` is where its own name ends: parameters follow."""
    if len(text) > _MOST_BYTES:
        return True
    wanted = name.encode()
    end_of_header = _closing(text, header)
    at = text.find(wanted, header)
    places = 0
    while at >= 0:
        after = at + len(wanted)
        whole = text[at - 1 : at] not in _EDGES and text[after : after + 1] not in _EDGES
        if whole and text[at - 1 : at] != b".":
            places += 1
            before_text = text[max(0, at - _BEFORE) : at].decode("utf-8", "replace")
            after_text = text[after : after + _AFTER].decode("utf-8", "replace")
            in_header = at < end_of_header
            if places > _MOST_PLACES or _binds_here(family, before_text, after_text, in_header):
                return True
        at = text.find(wanted, after)
    return False


def assigns(text: bytes, name: str, header: int) -> bool:
    """Whether a function of Python gets or gives the name a value, beside a definition or an import of it inside."""
    if len(text) > _MOST_BYTES:
        return True
    word = re.escape(name).encode()
    parameter = re.search(rb"[(,]\s*\*{0,2}" + word + rb"\s*[,:=)]", text[header : _closing(text, header)])
    return bool(parameter or re.search(rb"\n[ \t]+" + word + rb"[ \t]*(?::[^=\n]*)?=(?!=)", text))


_EDGES = frozenset(bytes([byte]) for byte in _WORD)


def _binds_here(family: str, before: str, after: str, in_header: bool) -> bool:
    if in_header and _is_parameter(family, before, after):
        return True
    if family == "python":
        line = before.rpartition("\n")[2]
        if line.lstrip().startswith("#"):
            # `# the same as time` binds nothing.
            return False
        if after.lstrip(" \t").startswith(":=") or _PYTHON_BEFORE.search(before):
            return True
        # `table[name(x)] = y` uses the name.
        if not _PYTHON_TARGETS.match(line) or after[:1] in ("(", "[", "."):
            return False
        return bool(_PYTHON_ASSIGN.match(after) or (not line.strip() and _PYTHON_TIGHT.match(after)))
    if family == "ecmascript":
        if _SCRIPT_BEFORE.search(before) or after.lstrip().startswith("=>"):
            return True
        if not _SCRIPT_PARAMETER.match(after) or before.rstrip()[-1:] not in tuple("(,{[."):
            return False
        return bool(_SCRIPT_FUNCTION.search(before) or (_SCRIPT_OPEN.search(before) and _SCRIPT_ARROW.match(after)))
    if family == "go":
        if _GO_CLOSURE_BEFORE.search(before) and _GO_CLOSURE_AFTER.match(after):
            return True
        return bool(_GO_BEFORE.search(before) and _GO_AFTER.match(after))
    if family == "rust" and ((_LET_BEFORE.search(before) and _LET_AFTER.match(after)) or _ARM_AFTER.match(after)):
        return True
    if family in ("c", "csharp") and _DECLARED_BEFORE.search(before) and _DECLARED_AFTER.match(after):
        return True
    return bool(_OTHER_BEFORE.search(before) or (_CLOSURE_BEFORE.search(before) and _CLOSURE_AFTER.match(after)))


def _is_parameter(family: str, before: str, after: str) -> bool:
    last = before.rstrip()[-1:]
    if family not in ("go", "c", "csharp") and last in "(,*{[":
        return bool(_PARAMETER.match(after)) or (family == "ecmascript" and after.lstrip()[:1] in ("?", "}"))
    if family == "go":
        return last in "(," and not after.startswith(("(", "."))
    # `Type name` of C and Java: the name follows a type.
    return (
        family in ("c", "jvm", "csharp")
        and (last.isalnum() or last in "*&>]")
        and after.lstrip()[:1] in (",", ")", "[")
    )


def _closing(text: bytes, start: int) -> int:
    """Where the parentheses that open next are closed, within a bounded look."""
    depth = 0
    for at in range(start, min(len(text), start + 4_000)):
        if text[at] == 0x28:
            depth += 1
        elif text[at] == 0x29:
            depth -= 1
            if depth == 0:
                return at + 1
        elif depth == 0 and text[at] in b"{\n":
            return at
    return start


def type_parameters(signature: str, name: str) -> frozenset[str]:
    """The names of types that a definition makes for itself: `T` of `class Box<T>` and of `func Map[T any]`."""
    # As a word: `on` of `function on<T>` is not that of `function`.
    word = re.search(rf"(?<![\w$]){re.escape(name)}(?![\w$])", signature)
    at = word.start() if word else -1
    rest = signature[at + len(name) :].lstrip() if at >= 0 else ""
    # `<T>` of `public <T> void put`, but not of `public Box<T> put`, which only uses a type.
    own = _OWN_PARAMETERS.search(signature[:at])
    found: set[str] = set()
    for text in (rest, signature[own.end() - 1 : at] if own else ""):
        if text[:1] in ("<", "["):
            found.update(_TYPE_PARAMETER.findall(_flat(text[1:])))
    return frozenset(found)


def _flat(text: str) -> str:
    """What stands before the closing bracket, without what is in brackets itself."""
    depth, kept = 1, []
    for letter in text:
        depth += (letter in "<[(") - (letter in ">])")
        if depth == 0:
            break
        if depth == 1:
            kept.append(letter)
    return "".join(kept)
