"""Secrets that open nothing: drawn when a test runs, in the forms in which providers write theirs."""

from __future__ import annotations

import base64
import json
import random
import string
from collections.abc import Callable

SMALL, LETTERS = string.ascii_lowercase, string.ascii_letters
WORD = LETTERS + string.digits
HEX = "0123456789abcdef"
BASE64 = WORD + "+/"
URL = WORD + "-_"
CAPITALS = string.ascii_uppercase + string.digits
BASE32 = string.ascii_uppercase + "234567"

Drawn = Callable[[random.Random], str]


def drawn(rng: random.Random, alphabet: str, length: int) -> str:
    """So many characters of an alphabet."""
    return "".join(rng.choices(alphabet, k=length))


def _form(prefix: str, alphabet: str, length: int, after: str = "") -> Drawn:
    return lambda rng: f"{prefix}{drawn(rng, alphabet, length)}{after}"


def jwt(rng: random.Random) -> str:
    """A signed token of three parts."""
    parts = [
        json.dumps({"alg": "HS256", "typ": "JWT"}),
        json.dumps({"sub": str(rng.randrange(10**9)), "iat": 1_700_000_000}),
    ]
    coded = [base64.urlsafe_b64encode(part.encode()).decode().rstrip("=") for part in parts]
    return ".".join([*coded, drawn(rng, URL, 43)])


TOKENS: dict[str, Drawn] = {
    "github classic": _form("gh" + "p_", WORD, 36),
    "github oauth": _form("gh" + "o_", WORD, 36),
    "github server": _form("gh" + "s_", WORD, 36),
    "github fine-grained": lambda rng: f"github{'_pat_'}{drawn(rng, WORD, 22)}_{drawn(rng, WORD, 59)}",
    "gitlab": _form("gl" + "pat-", URL, 20),
    "gitlab runner": _form("gl" + "rt-", URL, 20),
    "aws key id": _form("AK" + "IA", BASE32, 16),
    "aws session key id": _form("AS" + "IA", BASE32, 16),
    "slack bot": lambda rng: (
        f"xo{'xb-'}{drawn(rng, string.digits, 12)}-{drawn(rng, string.digits, 13)}-{drawn(rng, WORD, 24)}"
    ),
    "slack webhook": lambda rng: (
        f"https://hooks.{'slack.com'}/services/T{drawn(rng, CAPITALS, 10)}/B{drawn(rng, CAPITALS, 10)}/"
        + drawn(rng, WORD, 24)
    ),
    "stripe live": _form("sk" + "_live_", WORD, 24),
    "stripe restricted": _form("rk" + "_live_", WORD, 99),
    "stripe webhook": _form("wh" + "sec_", WORD, 32),
    "google api": _form("AI" + "za", URL, 35),
    "google oauth secret": _form("GOC" + "SPX-", URL, 28),
    "google access": _form("ya" + "29.", URL, 120),
    "npm": _form("np" + "m_", WORD, 36),
    "pypi": _form("py" + "pi-AgEIcHlwaS5vcmc", URL, 150),
    "jwt": jwt,
    "openai": _form("sk" + "-proj-", URL, 74),
    "anthropic": _form("sk" + "-ant-api03-", URL, 95),
    "hugging face": _form("hf" + "_", LETTERS, 34),
    "sendgrid": lambda rng: f"S{'G.'}{drawn(rng, URL, 22)}.{drawn(rng, URL, 43)}",
    "mailgun": _form("ke" + "y-", HEX, 32),
    "twilio": _form("S" + "K", HEX, 32),
    "digitalocean": _form("do" + "p_v1_", HEX, 64),
    "heroku": _form("HR" + "KU-", URL, 62),
    "netlify": _form("nf" + "p_", WORD, 36),
    "databricks": _form("da" + "pi", HEX, 32),
    "doppler": _form("dp" + ".pt.", WORD, 43),
    "vault": _form("hv" + "s.", URL, 90),
    "docker": _form("dc" + "kr_pat_", URL, 27),
    "rubygems": _form("ruby" + "gems_", HEX, 48),
    "cargo": _form("c" + "io", WORD, 32),
    "shopify": _form("shp" + "at_", HEX, 32),
    "square": _form("sq" + "0csp-", URL, 43),
    "telegram": lambda rng: f"{drawn(rng, '123456789', 9)}:AA{drawn(rng, URL, 33)}",
    "atlassian": _form("ATA" + "TT3", URL, 185),
    "linear": _form("lin" + "_api_", WORD, 40),
    "notion": _form("nt" + "n_", WORD, 46),
    "figma": _form("fi" + "gd_", URL, 40),
    "airtable": lambda rng: f"p{'at'}{drawn(rng, WORD, 14)}.{drawn(rng, HEX, 64)}",
    "new relic": _form("NR" + "AK-", CAPITALS, 27),
    "grafana": lambda rng: f"gl{'sa_'}{drawn(rng, WORD, 32)}_{drawn(rng, HEX, 8)}",
    "azure storage": lambda rng: f"Account{'Key='}{drawn(rng, BASE64, 86)}==",
    "tailscale": lambda rng: f"ts{'key'}-auth-{drawn(rng, WORD, 12)}CNTRL-{drawn(rng, WORD, 32)}",
    "age": _form("AGE" + "-SECRET-KEY-1", CAPITALS, 58),
    "terraform": lambda rng: f"{drawn(rng, WORD, 14)}.atlas{'v1.'}{drawn(rng, URL, 67)}",
    "buildkite": _form("bk" + "ua_", HEX, 40),
    "pulumi": _form("p" + "ul-", HEX, 40),
    "postman": lambda rng: f"PM{'AK-'}{drawn(rng, HEX, 24)}-{drawn(rng, HEX, 34)}",
    "alibaba": _form("LT" + "AI", WORD, 20),
    "supabase": _form("sb" + "p_", HEX, 40),
}
"""A token of each kind, whatever stands around it."""

VALUES: dict[str, Drawn] = {
    "hex of 16 bytes": _form("", HEX, 32),
    "hex of 20 bytes": _form("", HEX, 40),
    "hex of 32 bytes": _form("", HEX, 64),
    "base64 of 16 bytes": lambda rng: f"{drawn(rng, BASE64, 22)}==",
    "base64 of 32 bytes": lambda rng: f"{drawn(rng, BASE64, 43)}=",
    "base64 of 30 bytes (AWS)": _form("", BASE64, 40),
    "address-safe base64": _form("", URL, 43),
    "20 letters and digits": _form("", WORD, 20),
    "24 letters and digits": _form("", WORD, 24),
    "32 letters and digits": _form("", WORD, 32),
    "32 small letters and digits": _form("", SMALL + string.digits, 32),
    "20 of a password generator": _form("", WORD + "!#%&*+-=?@_", 20),
}
"""A value that was drawn, without any form of its own."""

PLACES = (
    '{name} = "{secret}"\n',
    "{name} = '{secret}'\n",
    "{name}: {secret}\n",
    '{name}: "{secret}"\n',
    "{name}={secret}\n",
    "export {name}={secret}\n",
    '  "{name}": "{secret}",\n',
    "const {name} = `{secret}`;\n",
    'private static final String {name} = "{secret}";\n',
    "    {name}='{secret}',\n",
    'os.environ["{name}"] = "{secret}"\n',
    '{name} := "{secret}"\n',
    "<{name}>{secret}</{name}>\n",
    '<add key="{name}" value="{secret}" />\n',
    'define("{name}", "{secret}");\n',
    "set {name} {secret}\n",
)
NAMES = ("API_KEY", "client_secret", "dbPassword", "authToken", "aws_secret_access_key", "SECRET_KEY", "access-token")
"""How people write an assignment, and what they call secrets."""


def private_key(rng: random.Random, kind: str = "RSA ", lines: int = 12) -> str:
    """The lines of a private key that no program would take for one."""
    body = [drawn(rng, BASE64, 64) for _ in range(lines - 1)] + [drawn(rng, BASE64, 42) + "=="]
    edge = "-" * 5
    return (
        "\n".join([f"{edge}BEGIN {kind}{'PRIVATE'} KEY{edge}", *body, f"{edge}END {kind}{'PRIVATE'} KEY{edge}"]) + "\n"
    )


def pieces(secret: str, size: int = 8) -> set[str]:
    """Every run of so many characters of a secret, beyond the prefix that everybody knows."""
    return {secret[at : at + size] for at in range(6, len(secret) - size + 1)}
