"""Find secrets in text: private keys, tokens whose form gives them away, random values under the names of secrets.

What is found are the parts to hide, not the lines: a key without the lines around it, a value without its name. Time is
linear in the text, whatever it holds: RE2 finds the few places that are worth a look, and a look is bounded.

    >>> [secret.kind for secret in secrets_in(b'password = "' + b"Zk7" + b'Vq2xN9rT4mLw8"')]
    ['assignment']
"""

from __future__ import annotations

import base64
import binascii
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from math import log2
from typing import Any, NamedTuple

import re2  # type: ignore[import-untyped]

from cairn.core.limits import MAX_SECRETS

REDACTED = "[redacted]"


class Secret(NamedTuple):
    """A part of one line that is to be hidden, as bytes of the text, and what gave it away."""

    start: int
    end: int
    kind: str


def secrets_in(data: bytes) -> tuple[Secret, ...]:
    """Return the secrets in a text, in order; none of them overlaps another or reaches over the end of a line.

    At most `MAX_SECRETS` of them: what holds more is to be treated as a secret as a whole.
    """
    found = sorted([*_private_keys(data), *_tokens(data), *_assigned(data)])
    kept: list[Secret] = []
    for one in found:
        if kept and one.start < kept[-1].end:
            # Where two meet, all of both is hidden.
            kept[-1] = kept[-1]._replace(end=max(kept[-1].end, one.end))
        else:
            kept.append(one)
    return tuple(kept[:MAX_SECRETS])


def secret_lines(data: bytes) -> list[int]:
    """Return the numbers, from 1, of the lines that hold a secret."""
    found = secrets_in(data)
    if not found:
        return []
    ends = line_ends(data)
    return sorted({bisect_right(ends, one.start) + 1 for one in found})


def line_ends(data: bytes) -> list[int]:
    """Return where the lines of a text end."""
    return [match.start() for match in re.finditer(b"\n", data)]


def hidden(data: bytes, secrets: tuple[Secret, ...]) -> bytes:
    """Return the text with a mark in place of each of these."""
    parts, at = [], 0
    for one in secrets:
        parts += [data[at : one.start], REDACTED.encode()]
        at = one.end
    return b"".join([*parts, data[at:]])


def _compiled(pattern: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    # Bytes are bytes: without this each class of characters would stand for sequences of UTF-8.
    options.encoding = re2.Options.Encoding.LATIN1
    return re2.compile(pattern.encode("latin-1"), options)


def _places(pattern: Any, data: bytes) -> Iterator[tuple[int, int]]:
    # The public methods of re2 make two objects for each match, which doubles the cost, so the inner one is called.
    match, anchor = pattern._regexp.Match, re2._Anchor.UNANCHORED
    at, size = 0, len(data)
    while at <= size:
        start, end = match(anchor, data, at, size)[0]
        if start < 0:
            return
        yield start, end
        at = end


# --- private keys -----------------------------------------------------------------------------------------------------

_MOST_KEY_BYTES = 64 * 1024
_BEGIN = _compiled(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|Private-Lines: [0-9]{1,3}\r?\n")
_END = re.compile(rb"-----END [A-Z0-9 ]{0,40}PRIVATE KEY")
# What only a key holds: a long run of base64, which an ellipsis in documentation is not.
_KEY_TEXT = re.compile(rb"[A-Za-z0-9+/]{24}")
# A line of base64, perhaps in quotes and joined with the next, or behind the mark of a comment.
_KEY_LINE = re.compile(rb"""[\s"'`#*/>+|-]*[A-Za-z0-9+/]+={0,2}(?:\\[nr])*["'`]?[\s,+\\.;)]*""")
_MOST_KEY_LINES = 400


def _private_keys(data: bytes) -> Iterator[Secret]:
    until = 0
    for _, begin in _places(_BEGIN, data):
        if begin < until:
            continue
        window = min(len(data), begin + _MOST_KEY_BYTES)
        another = data.find(b"-----BEGIN", begin, window)
        closed = _END.search(data, begin, another if another >= 0 else window)
        until = closed.start() if closed else _end_of_lines(data, begin, window)
        if not _is_key(data[begin:until]):
            continue
        at = begin
        for line in data[begin:until].split(b"\n"):
            body = line.strip()
            # The break of a line that is written in a string, and what remains of the quotes of the first.
            if body and body not in (b'"', b"'", b"\\n"):
                start = at + line.index(body)
                yield Secret(start, start + len(body), "private key")
            at += len(line) + 1


def _is_key(body: bytes) -> bool:
    run = _KEY_TEXT.search(body)
    return run is not None and len(set(run[0])) >= _LEAST_DIFFERENT


_LEAST_DIFFERENT = 6


def _end_of_lines(data: bytes, begin: int, window: int) -> int:
    """Where the lines of a key end that nothing closes."""
    at, until = begin, begin
    for _ in range(_MOST_KEY_LINES):
        end = data.find(b"\n", at, window)
        end = window if end < 0 else end
        line = data[at:end]
        if line.strip() and not _KEY_LINE.fullmatch(line[:1_000]):
            break
        until, at = end, end + 1
        if at >= window:
            break
    return until


# --- tokens whose form gives them away --------------------------------------------------------------------------------

_W, _B, _X = "[A-Za-z0-9_-]", "[A-Za-z0-9]", "[0-9a-f]"
# What each begins with, and all of it. Lengths are those that providers document, with some room; what nobody else
# writes that way needs no further look, anything else is looked at for randomness.
_FORMS: tuple[tuple[str, str, str], ...] = (
    ("GitHub", "gh[oprsu]_", f"gh[oprsu]_{_B}{{36,255}}"),
    ("GitHub", "github_pat_", "github_pat_[A-Za-z0-9_]{60,255}"),
    ("GitLab", "gl[a-z]{1,6}-", f"gl(?:pat|dt|rt|rtr|cbt|ptt|ft|imt|agent|soat|oas|ffct|wt)-{_W}{{20,300}}"),
    ("GitLab", "GR1348941", f"GR1348941{_W}{{20,60}}"),
    ("AWS", "A(?:KIA|SIA|BIA|CCA)", "A(?:KIA|SIA|BIA|CCA)[A-Z2-7]{16}"),
    ("AWS", "ABSK", "ABSK[A-Za-z0-9+/]{100,300}={0,2}"),
    ("Slack", "xox[abceoprs]", f"xox[abceoprs](?:\\.xox[a-z])?-{_W}{{10,300}}"),
    ("Slack", "xapp-", f"xapp-[0-9]-[A-Z0-9]{{5,30}}-[0-9]{{5,30}}-{_B}{{20,200}}"),
    (
        "Slack",
        r"hooks\.slack\.com/",
        f"hooks\\.slack\\.com/[a-z]{{4,12}}/(?:[A-Z0-9]{{5,30}}/){{2}}{_B}{{18,60}}",
    ),
    ("Discord", r"/api/webhooks/", f"/api/webhooks/[0-9]{{16,22}}/{_W}{{50,100}}"),
    ("Stripe", "[rs]k_(?:live|test)_", f"[rs]k_(?:live|test)_{_B}{{16,260}}"),
    ("Stripe", "whsec_", "whsec_[A-Za-z0-9+/]{24,100}={0,2}"),
    ("Google", "AIza", f"AIza{_W}{{35}}"),
    ("Google", "GOCSPX-", f"GOCSPX-{_W}{{28}}"),
    ("Google", r"ya29\.", f"ya29\\.{_W}{{30,600}}"),
    ("Google", "1//0", f"1//0{_W}{{40,200}}"),
    ("npm", "npm_", f"npm_{_B}{{36}}"),
    ("PyPI", "pypi-A", f"pypi-A{_W}{{60,1000}}"),
    ("JWT", "eyJ", f"eyJ{_W}{{8,4000}}\\.eyJ{_W}{{8,16000}}\\.{_W}{{16,2000}}"),
    ("JWE", "eyJ", f"eyJ{_W}{{16,4000}}\\.{_W}{{0,2000}}\\.{_W}{{10,60}}\\.{_W}{{16,16000}}\\.{_W}{{16,60}}"),
    (
        "OpenAI",
        "sk-",
        f"sk-(?:proj|svcacct|admin|None)-{_W}{{40,300}}|sk-{_B}{{48}}|sk-{_W}{{16,200}}T3BlbkFJ{_W}{{16,200}}",
    ),
    ("Anthropic", "sk-", f"sk-ant-[a-z0-9]{{3,12}}-{_W}{{24,200}}"),
    ("OpenRouter", "sk-", f"sk-or-v[0-9]-{_X}{{40,80}}"),
    ("Hugging Face", "hf_", f"hf_{_B}{{30,60}}"),
    ("Replicate", "r8_", f"r8_{_B}{{37}}"),
    ("Groq", "gsk_", f"gsk_{_B}{{40,60}}"),
    ("xAI", "xai-", f"xai-{_B}{{60,100}}"),
    ("Perplexity", "pplx-", f"pplx-{_B}{{40,60}}"),
    ("SendGrid", r"SG\.", f"SG\\.{_W}{{20,24}}\\.{_W}{{39,50}}"),
    ("Brevo", "xkeysib-", f"xkeysib-{_X}{{64}}-{_B}{{16}}"),
    ("Mailgun", "key-", f"key-{_X}{{32}}"),
    ("Twilio", "SK[0-9a-f]", f"SK{_X}{{32}}"),
    ("DigitalOcean", "do[oprt]_v1_", f"do[oprt]_v1_{_X}{{64}}"),
    ("Heroku", "HRKU-", f"HRKU-{_W}{{30,70}}"),
    ("Fly.io", "fm[12][ar]?_", "fm[12][ar]?_[A-Za-z0-9+/]{80,2000}={0,2}"),
    ("Netlify", "nf[cpu]_", f"nf[cpu]_{_B}{{36,40}}"),
    ("Render", "rnd_", f"rnd_{_B}{{28,40}}"),
    ("Supabase", "sb(?:p|_secret)_", f"sbp_(?:v0_)?{_X}{{40}}|sb_secret_{_W}{{24,60}}"),
    ("PlanetScale", "pscale_", "pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{32,64}"),
    ("Databricks", "dapi", f"dapi{_X}{{32}}(?:-[0-9])?"),
    ("Doppler", r"dp\.", f"dp\\.(?:pt|st|ct|sa|scim|audit)\\.(?:[a-z0-9_-]{{2,35}}\\.)?{_B}{{40,44}}"),
    ("Vault", r"hv[bsr]\.", f"hv[bsr]\\.{_W}{{24,300}}"),
    ("Docker", "dckr_", f"dckr_(?:pat|oat)_{_W}{{24,60}}"),
    ("RubyGems", "rubygems_", f"rubygems_{_X}{{48}}"),
    ("Cargo", "cio", f"cio{_B}{{32}}"),
    ("NuGet", "oy2", "oy2[a-z0-9]{43}"),
    ("Shopify", "shp", "shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    ("Square", "sq0", f"sq0(?:atp|csp|idp)-{_W}{{22,50}}"),
    ("Telegram", "[0-9]:AA", f"AA{_W}{{32,35}}"),
    ("Atlassian", "AT[AC]TT3", "AT[AC]TT3[A-Za-z0-9_=-]{60,300}"),
    ("Linear", "lin_", f"lin_(?:api|oauth)_{_B}{{32,64}}"),
    ("Notion", "ntn_", f"ntn_{_B}{{40,60}}"),
    ("Notion", "secret_", f"secret_{_B}{{43}}"),
    ("Figma", "figd_", f"figd_{_W}{{38,60}}"),
    ("Airtable", r"pat[A-Za-z0-9]{14}\.", f"pat{_B}{{14}}\\.{_X}{{64}}"),
    ("Sentry", "sntry", f"sntrys_[A-Za-z0-9+/=_]{{60,500}}|sntryu_{_X}{{64}}"),
    ("New Relic", "NR[A-Z]{2}-", "NR(?:AK|JS|II|SP)-[A-Za-z0-9]{24,40}"),
    ("Grafana", "gl(?:sa|c)_", f"glsa_{_B}{{32}}_{_X}{{8}}|glc_[A-Za-z0-9+/]{{50,400}}={{0,2}}"),
    ("Dynatrace", "dt0[a-z]01", "dt0[a-z]01\\.[A-Z0-9]{24}\\.[A-Z0-9]{64}"),
    (
        "Azure",
        "(?i)(?:account|shared)?accesskey=|AccountKey=",
        "(?i:(?:SharedAccess|Account)Key)=[A-Za-z0-9+/]{42,86}={1,2}",
    ),
    ("Azure", "Q~", "Q~[A-Za-z0-9_.~-]{31,34}"),
    ("Tailscale", "tskey-", f"tskey-[a-z]{{3,10}}-{_W}{{16,80}}"),
    ("age", "AGE-SECRET-KEY-1", "AGE-SECRET-KEY-1[0-9A-Z]{58}"),
    ("1Password", "ops_eyJ", "ops_eyJ[A-Za-z0-9+/]{100,3000}={0,2}"),
    ("Terraform", r"\.atlasv1\.", f"\\.atlasv1\\.{_W}{{60,70}}"),
    ("Buildkite", "bkua_", f"bkua_{_X}{{40}}"),
    ("CircleCI", "CCIP", f"CCIP(?:AT|RJ)_{_B}{{22}}_{_X}{{40}}"),
    ("Pulumi", "pul-", f"pul-{_X}{{40}}"),
    ("Postman", "PMAK-", f"PMAK-{_X}{{24}}-{_X}{{34}}"),
    ("Alibaba", "LTAI", f"LTAI{_B}{{12,20}}"),
    ("Tencent", "AKID", f"AKID{_B}{{32}}"),
    ("Facebook", "EAA", f"EAA[A-Z]{_B}{{80,300}}"),
    ("Mapbox", r"sk\.eyJ", f"sk\\.eyJ{_W}{{40,200}}\\.{_W}{{20,30}}"),
    ("Contentful", "CFPAT-", f"CFPAT-{_W}{{40,50}}"),
    ("Cloudflare", r"v1\.0-", f"v1\\.0-{_X}{{24}}-{_X}{{146}}"),
    ("Asana", "[12]/[0-9]{16}", f"[12]/[0-9]{{16}}(?:/[0-9]{{16}})?:{_X}{{32}}"),
)
# A character beside a token that would make it a part of something longer.
_INSIDE = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_INSIDE_OF_WEB_TOKENS = _INSIDE | frozenset(b"-")
# These begin in the middle, behind what is no secret.
_BEGIN_INSIDE = frozenset({"Telegram", "Azure", "Discord", "Slack", "Terraform"})
_FIRST = _compiled("|".join(dict.fromkeys(f"(?:{first})" for _, first, _ in _FORMS)))
_WHOLE = tuple((name, re.compile(first.encode()), re.compile(form.encode())) for name, first, form in _FORMS)


@lru_cache(1_024)
def _forms_of(head: bytes) -> tuple[tuple[str, re.Pattern[bytes]], ...]:
    """The forms that begin so."""
    return tuple((name, form) for name, first, form in _WHOLE if first.fullmatch(head))


def _tokens(data: bytes) -> Iterator[Secret]:
    until = 0
    for start, end in _places(_FIRST, data):
        if start < until:
            continue
        head, before = data[start:end], data[start - 1] if start else 0
        for name, form in _forms_of(head):
            # A run of characters is entered once only, or a text of beginnings would take quadratic time.
            if before in (_INSIDE_OF_WEB_TOKENS if head == b"eyJ" else _INSIDE) and name not in _BEGIN_INSIDE:
                continue
            begin = start + 2 if name == "Telegram" else start
            found = form.match(data, begin)
            if found is None or (found.end() < len(data) and data[found.end()] in _INSIDE):
                continue
            if _is_token(name, head, found[0]):
                until = found.end()
                yield Secret(begin, until, name)
                break


def _is_token(name: str, head: bytes, token: bytes) -> bool:
    text = token.decode("latin-1")
    if name in ("JWT", "JWE"):
        return _is_json(text.partition(".")[0]) and not _is_placeholder(text.rpartition(".")[2])
    body = text[len(head) :]
    if _is_placeholder(text) or len(set(body)) < _LEAST_DIFFERENT:
        return False
    # Capitals and digits alone look like words and constants; nobody else begins these so.
    return name == "AWS" or _is_mixed(body)


def _is_mixed(body: str) -> bool:
    """Whether a token could have been drawn: prose and names have neither digits nor capitals, and consist of words."""
    return (not body.islower() or any(map(str.isdigit, body))) and _words(body) < 1.6 * _MOST_WORDS


def _is_json(head: str) -> bool:
    try:
        return b'"alg"' in base64.urlsafe_b64decode(head + "=" * (-len(head) % 4))
    except (binascii.Error, ValueError):
        return False


# --- random values under the names of secrets -------------------------------------------------------------------------

_NAMES = (
    "secret|passw(?:or)?d|passwd|passphrase|pwd|pass[_-]?key|token|api[_.-]?key|apikey|access[_.-]?key|auth[_.-]?key"
    "|private[_.-]?key|signing[_.-]?key|encryption[_.-]?key|master[_.-]?key|account[_.-]?key|shared[_.-]?key"
    "|secret[_.-]?key|storage[_.-]?key|service[_.-]?key|app[_.-]?key|deploy[_.-]?key|crypt[_.-]?key|hmac[_.-]?key"
    "|session[_.-]?key|cookie[_.-]?key|credentials?|client[_.-]?key|bearer|basic|auth(?:orization)?|license[_.-]?key"
    "|subscription[_.-]?key|webhook[_.-]?key|salt|rails[_.-]?master[_.-]?key|password"
)
# The rest of the name and what leads from it to a value. Nothing here repeats without an end, and no two parts can take
# the same character.
_NAMED = _compiled(
    rf"(?i)(?:{_NAMES})[A-Za-z0-9_.-]{{0,30}}"
    r"""(?:["'\]]{0,3}\s{0,3}(?::\s{0,2}[A-Za-z]{1,12}\s{0,2})?(?:=>|:=|={1,3}|:|,|\()|>|["'](?:\s{1,2}value=)|[ \t])"""
    r"""(?:\s{0,3}[bruf]{0,2}["'`(\[]{1,3}|[ \t]{0,3})[A-Za-z0-9+/_.~!?@#$%^&*-]"""
)
_QUOTES = b"\"'`"
_QUOTED = re.compile(rb"""[^"'`\s\\<>]{10,512}""")
_BARE = re.compile(rb"""[A-Za-z0-9+/=_.~!?@#$%^&*-]{16,512}""")
_OPENS = re.compile(rb"""(?s)(?:bearer|basic)?\s+""", re.IGNORECASE)
_URL = _compiled(r"://[^\s/:@'\"<>{}$%]{0,64}:[^\s/@'\"<>{}$]{8,200}@[A-Za-z0-9]")
_LEADS = re.compile(rb"(?i)[a-z0-9_.-]{0,60}$")
# Names that say that a value is shown to everybody, or is a place, a count or a sum.
_NO_SECRET = re.compile(
    rb"(?i)public|publishable|csrf|cursor|page|next|continuation|sync[_-]?token|hash|digest|checksum|sha[0-9]|integrity"
    rb"|fingerprint|thumbprint|idempot|tokeni[sz]|token_?type|_?tokens?_?(?:id|count|limit|uri|url|path|file|name)"
    rb"|secret_?(?:name|arn|path|file|ref|id|version)|key_?(?:id|name|path|file|size|type)|author(?!iz)|basic_|basics"
    rb"|pass(?:word)?_?(?:file|path|field|name|hash)|saltstack|default_token|file_?name"
)
_IS_PASSWORD = re.compile(rb"(?i)pass|pwd|secret")
_LEAST_LENGTH, _LEAST_PASSWORD = 16, 10
_LEAST_CHANGES = 0.22
_LEAST_ENTROPY = 0.72


def _assigned(data: bytes) -> Iterator[Secret]:
    for start, end in _places(_NAMED, data):
        at = end - 1
        quoted = data[at - 1] in _QUOTES
        head = data[max(0, start - 60) : start]
        lead = _LEADS.search(head)
        name = (lead[0] if lead else b"") + data[start:at]
        if _NO_SECRET.search(name):
            continue
        scheme = _OPENS.match(data, at, at + 24)
        if scheme:
            at = scheme.end()
        found = (_QUOTED if quoted and not scheme else _BARE).match(data, at)
        if found is None or (quoted and not scheme and not _ends(data, found.end())):
            continue
        value = found[0].rstrip(b".,;:)")
        drawn = _is_value(value.decode("latin-1"), quoted=quoted, password=_IS_PASSWORD.search(name) is not None)
        if drawn or (_UUID.fullmatch(value) and _IS_KEY.search(name)):
            yield Secret(at, at + len(value), "assignment")
    for start, end in _places(_URL, data):
        user, _, password = data[start + 3 : end - 2].partition(b":")
        if _is_value(password.decode("latin-1"), quoted=True, password=True):
            yield Secret(start + 4 + len(user), end - 2, "password in an address")


def _ends(data: bytes, at: int) -> bool:
    """Whether a quoted value is closed, or cut, at this place."""
    return at >= len(data) or data[at] in b"\"'`\\<" or data[at] > _ASCII


_ASCII = 127


def _is_value(value: str, *, quoted: bool, password: bool) -> bool:
    """Whether a value was drawn at random, as far as one can tell: letters and digits that change all the time."""
    if len(value) < (_LEAST_PASSWORD if quoted and password else _LEAST_LENGTH) or _is_placeholder(value):
        return False
    digits, letters = sum(map(str.isdigit, value)), sum(map(str.isalpha, value))
    if letters < 2 or _NO_VALUE.match(value) or (not quoted and _CODE.search(value)):
        return False
    if _HEX.fullmatch(value) and len(value) >= _LEAST_HEX:
        return digits > 1 and _entropy(value) >= _LEAST_ENTROPY
    # Letters alone are drawn too; then capitals stand between the others.
    least = _LEAST_CHANGES if digits > 1 and len(value) >= _LEAST_LENGTH else 1.6 * _LEAST_CHANGES
    most = _MOST_WORDS if quoted or digits > _SOME_DIGITS else _MOST_WORDS / 2
    return _changes(value) >= least and _entropy(value) >= _LEAST_ENTROPY and _words(value) < most


_LEAST_HEX, _SOME_DIGITS = 32, 3
_UUID = re.compile(rb"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_IS_KEY = re.compile(
    rb"(?i)(?:(?:api|app|access|client|service|subscription|license|auth)[_-]?key|secret|password)\W*$"
)
_NO_VALUE = re.compile(_UUID.pattern.decode() + r"$|[0-9]{4}-[0-9]{2}-[0-9]{2}|/[a-z]+[0-9]*/")
# Calls, members, addresses, templates and formats.
_CODE = re.compile(
    r"://|^[/@&*]|\(|\$\{|\{\{|%\(|^\$[A-Za-z]|->|::|^[A-Za-z_][A-Za-z_0-9]*(?:\.[A-Za-z_][A-Za-z_0-9]*)+$"
)
_WORD = re.compile(r"[A-Z]?[a-z]{3,}|[A-Z]{4,}")
# Letters that no word has side by side.
_NO_WORD = re.compile(
    r"(?i)[bcdfghjklmnpqrstvwxz]{4}|[aeiou]{4}|q[^u]|j[^aeiou]|v[^aeiouyrs]|x[bdgjkmnqrvwxz]|z[bcdfgjkmnpqrstvwx]"
    r"|w[bcgjmpqvxz]|[bcdfghjkmpqtvwxz][xjq]|[bcfgjkmpqvwxz][kz]|[fghjkmqvwxz][bcdpv]|[bdgkptvz][fmpgbv][^aeioulry]|yy|uu|ii|hh"
)
_VOWEL = re.compile(r"[aeiouyAEIOUY]")
_MOST_WORDS = 0.5


def _words(value: str) -> float:
    """The share of a value that consists of words; letters that were drawn seldom look like one for long."""
    found = [word for word in _WORD.findall(value) if _VOWEL.search(word) and not _NO_WORD.search(word)]
    return sum(map(len, found)) / len(value)


def _changes(value: str) -> float:
    """How often a value changes between small letters, capitals, digits and signs."""
    kinds = ["d" if c.isdigit() else "l" if c.islower() else "u" if c.isupper() else "s" for c in value]
    return sum(a != b for a, b in pairwise(kinds)) / max(1, len(value) - 1)


def _entropy(value: str) -> float:
    """The entropy of a value, as a share of the most that its length and its alphabet allow."""
    size = len(value)
    entropy = -sum(n / size * log2(n / size) for n in Counter(value).values())
    most = 4.0 if _HEX.fullmatch(value) else 6.0
    return entropy / min(log2(size), most)


_HEX = re.compile(r"[0-9a-f]+|[0-9A-F]+")
# What stands in documentation and in templates. A word of five letters in one case is hardly ever drawn.
_FILLER = re.compile(
    r"x{4}|X{5}|\*{3}|\.{3}|(.)\1{5}|123456|abcdef(?![0-9a-f])|ABCDEF(?![0-9A-F])|[<>]|(?<![a-zA-Z])test(?![a-zA-Z])"
    r"|(?i:example|your[_-]|changeme|placeholder|redacted|replace|sample[_-]|dummy[_-]|fake[_-]|mock[_-])"
)


def _is_placeholder(value: str) -> bool:
    return _FILLER.search(value) is not None
