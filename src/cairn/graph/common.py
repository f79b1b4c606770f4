"""Names that every program calls on values of its language: to be the only one in a codebase proves nothing then."""

from __future__ import annotations

_PYTHON = """
acquire add all any append as_integer_ratio cancel capitalize center clear close copy count debug decode discard done
encode endswith error exception exists extend find flush format format_map fromkeys get group groupdict groups hex
index info insert intersection isalnum isalpha isatty isdigit isdisjoint islower isnumeric isspace issubset issuperset
istitle isupper items join keys ljust log lower lstrip match mkdir name open partition pop popitem put read readable
readline readlines release remove removeprefix removesuffix replace resolve result reverse rfind rindex rjust
rpartition rsplit rstrip run search seek send set setdefault sort span split splitlines start startswith stop strip
sub sum swapcase tell title to_bytes translate union unlink update upper values wait warning write writelines zfill
"""
_SCRIPT = """
abort add addEventListener all append appendChild apply assign at bind blur call cancel catch charAt charCodeAt clear
click close concat create defineProperty delete destroy dispatchEvent emit end endsWith enqueue entries error every
exec expect fill filter finally find findIndex flat flatMap focus forEach freeze from get getAttribute getElementById
getReader has hasOwnProperty includes indexOf info isArray join json keys lastIndexOf listen load log map match
matchAll next now of off on once padEnd padStart parse pause pipe pop post preventDefault push querySelector race read
reduce reduceRight reject remove removeEventListener render repeat replace replaceAll reset resolve resume return
reverse search send set setAttribute setHeader shift slice some sort splice split start startsWith stop
stopPropagation stringify substr substring test text then throw toBe toEqual toFixed toISOString toJSON toLowerCase
toString toUpperCase trim trimEnd trimStart unshift update use valueOf values warn write
"""
_GO = """
Add Close Done Error Errorf Fatal Get Len Less Lock Print Printf Println Read Run Set String Swap Unlock Wait Write
"""
_RUST = """
as_bytes as_mut as_ref as_str borrow chars clone cloned cmp collect contains default deref drop eq err expect extend
filter first flat_map fmt fold for_each from get hash insert into into_iter is_empty is_none is_some iter iter_mut
join keys last len lock map map_err max min name new next ok ok_or or_else parse pop push read remove send set skip
split take to_owned to_string trim try_from try_into unwrap unwrap_or unwrap_or_else values with write zip
"""
_JVM = """
accept add addAll also append apply asList build charAt clear close collect compareTo contains containsKey copy equals
execute filter find first flatMap fold forEach format get getClass getMessage getName hashCode invoke isEmpty iterator
join joinToString keySet last length let map name next of parse print println put read remove replace run set size
sort split start startsWith stop stream submit substring toString trim use value valueOf values write zip
"""
_C = """
append at back begin c_str clear data empty end erase find front get insert length pop push push_back reset size str
"""

COMMON: dict[str, frozenset[str]] = {
    "python": frozenset(_PYTHON.split()),
    "ecmascript": frozenset(_SCRIPT.split()),
    "go": frozenset(_GO.split()),
    "rust": frozenset(_RUST.split()),
    "jvm": frozenset(_JVM.split()),
    "c": frozenset(_C.split()),
}
