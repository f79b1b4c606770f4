"""What is taken for a secret: each form of each provider, in each place; what is none; and that it ends soon."""

from __future__ import annotations

import random
import shutil
import subprocess
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from cairn.core.limits import MAX_SECRETS, MIB
from cairn.core.secrets import REDACTED, hidden, secret_lines, secrets_in
from tests.support.secrets import NAMES, PLACES, TOKENS, VALUES, WORD, drawn, jwt, private_key


def shown(text: str) -> str:
    """The text as an agent gets it."""
    data = text.encode()
    return hidden(data, secrets_in(data)).decode()


@pytest.mark.parametrize("kind", TOKENS)
def test_a_token_with_a_form_of_its_own_is_found_wherever_it_stands(kind: str) -> None:
    rng = random.Random(kind)
    for place in ("{}\n", "x = '{}'\n", 'curl -H "X: {}"\n', "see {}, and so on\n", "- {}\n", "f({});\n"):
        for _ in range(8):
            token = TOKENS[kind](rng)
            found = shown(place.format(token))
            assert token[12:] not in found, (place, token, found)
            assert found.count("\n") == 1


@pytest.mark.parametrize("kind", VALUES)
def test_a_drawn_value_is_found_by_the_name_it_has(kind: str) -> None:
    rng = random.Random(kind)
    missed = []
    for place in PLACES:
        for name in NAMES:
            for _ in range(5):
                secret = VALUES[kind](rng)
                line = place.format(name=name, secret=secret)
                if secret in shown(line):
                    missed.append(line)
    # Some draws look like words or numbers.
    assert len(missed) <= 0.12 * len(PLACES) * len(NAMES) * 5, missed[:20]


@pytest.mark.parametrize("kind", ["", "RSA ", "EC ", "DSA ", "OPENSSH ", "ENCRYPTED "])
def test_of_a_private_key_only_its_first_and_last_line_are_shown(kind: str) -> None:
    key = private_key(random.Random(kind), kind)
    first, *_, last = key.splitlines()
    for text in (
        key,
        f'KEY = """{key}"""\n',
        key.replace("\n", "\r\n"),
        "\n".join("    " + one for one in key.splitlines()),
    ):
        found = shown(text)
        assert found.count("\n") == text.count("\n")
        assert not any(line in found for line in key.splitlines()[1:-1])
        assert first in found
        assert last in found
    assert secret_lines(f"a\n{key}b\n".encode()) == list(range(3, 3 + key.count("\n") - 2))


def test_a_key_in_one_line_in_quoted_lines_or_without_an_end_is_found_too() -> None:
    key = private_key(random.Random(1))
    body = key.splitlines()[1:-1]
    one_line = 'key: "' + key.replace("\n", "\\n") + '"\n'
    quoted = "".join(f'  "{line}\\n" +\n' for line in key.splitlines())
    cut = "\n".join(key.splitlines()[:-1]) + "\nand then text that goes on\n"
    for text in (one_line, quoted, cut):
        found = shown(text)
        assert not any(line in found for line in body), found
    assert "and then text that goes on" in shown(cut)


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed")
def test_a_key_that_a_program_has_made_is_found(tmp_path: Path) -> None:
    for kind in ("ed25519", "ecdsa", "rsa"):
        subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", "", "-f", tmp_path / kind], check=True)
        text = (tmp_path / kind).read_text()
        assert not any(line in shown(text) for line in text.splitlines()[1:-1])
        public = (tmp_path / f"{kind}.pub").read_text()
        assert shown(public) == public


NO_SECRETS = [
    "token = next_token(stream)",
    "password = request.POST['password']",
    'password = "correct horse battery staple"',
    'SECRET_KEY = os.environ["DJANGO_SECRET_KEY"]',
    'api_key = "your-api-key-1234567890"',
    "AWS_ACCESS_KEY_ID=" + "AK" + "IAIOSFODNN7EXAMPLE",
    'token: "${{ secrets.GITHUB_TOKEN }}"',
    "client_secret: {{ .Values.clientSecret2023Name }}",
    "const tokenizer = createTokenizer(options.secretTokenName1);",
    'private_key_path = "/etc/ssl/private/server-key-2048.pem"',
    "password: xxxxxxxxxxxxxxxxxxxx1234",
    "gh" + "p_" + "x" * 36,
    "-----BEGIN " + "PRIVATE KEY-----\n...\n-----END " + "PRIVATE KEY-----",
    "sha256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'",
    "integrity: sha512-oZ3GgYV7jQb2c1kqVb5pP0kF1e8r0j5vY9gk3LqQe0w==",
    "public_key = 'MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA7x'",
    "key-value-pairs-of-the-1st-kind-and-2nd-kind",
    "commit 4f2d9e0c1b7a6d5e3f8c9b0a1d2e3f4a5b6c7d8e",
    "token_type = 'urn:ietf:params:oauth:token-type:access_token_v2'",
    "eyJ0aGlzIjoibm8gdG9rZW4ifQ.eyJhIjoxfQ",
]


@pytest.mark.parametrize("text", NO_SECRETS)
def test_what_is_no_secret_stays(text: str) -> None:
    assert shown(text) == text


def test_what_was_found_is_told_with_its_lines_and_is_bounded() -> None:
    rng = random.Random(3)
    token = TOKENS["github classic"](rng)
    assert secret_lines(f"a\n\nb {token}\nc\n{token} {token}".encode()) == [3, 5]
    many = "\n".join(TOKENS["npm"](rng) for _ in range(MAX_SECRETS + 50)).encode()
    assert len(secrets_in(many)) == MAX_SECRETS
    assert secrets_in(b"") == ()
    assert REDACTED in shown(f"x {jwt(rng)}")


# --- hostile text -----------------------------------------------------------------------------------------------------

BOMBS: dict[str, Callable[[], bytes]] = {
    "one line": lambda: b"a" * MIB,
    "names of secrets": lambda: b"password" * (MIB // 8),
    "assignments without a value": lambda: b"token = \n" * (MIB // 9),
    "assignments to words": lambda: b'password = "aaaaaaaaaaaaaaaaaaaaaaaa"\n' * (MIB // 38),
    "names without an end": lambda: b"secret_" * (MIB // 7),
    "beginnings of tokens": lambda: (b"gh" + b"p_") * (MIB // 4),
    "beginnings of web tokens": lambda: b"eyJ" * (MIB // 3),
    "web tokens that do not end": lambda: (b"eyJ" + b"a" * 3_990 + b".") * (MIB // 4_000),
    "beginnings of keys": lambda: (b"-----BEGIN " + b"PRIVATE KEY-----") * (MIB // 27),
    "beginnings of keys on lines": lambda: (b"-----BEGIN " + b"PRIVATE KEY-----\n" + b"A" * 60 + b"\n") * (MIB // 89),
    "a key without an end": lambda: b"-----BEGIN " + b"PRIVATE KEY-----\n" + b"QUFB" * (MIB // 4),
    "addresses": lambda: b"http://a:" * (MIB // 9),
    "quotes": lambda: b"token='\"`" * (MIB // 9),
    "blanks after a name": lambda: (b"token" + b" " * 500) * (MIB // 505),
    "all bytes": lambda: bytes(range(256)) * (MIB // 256),
    "colons": lambda: b"token" + b":" * MIB,
    "bearers": lambda: b"Bearer " * (MIB // 7),
}


def seconds_for(data: bytes) -> float:
    begin = time.process_time()
    secrets_in(data)
    return time.process_time() - begin


@pytest.mark.parametrize("name", BOMBS)
def test_a_mebibyte_of_anything_is_looked_through_in_linear_time(name: str) -> None:
    data = BOMBS[name]()
    quarter = min(seconds_for(data[: len(data) // 4]) for _ in range(2))
    whole = seconds_for(data)
    assert whole < 3.0
    assert whole < 12 * max(quarter, 0.01)


@pytest.mark.parametrize("seed", range(40))
def test_any_bytes_have_sound_places(seed: int) -> None:
    rng = random.Random(seed)
    parts = [
        b"password",
        b'"',
        b"=",
        b":",
        b"\n",
        b" ",
        b"\xff",
        b"\xc3",
        "é".encode(),
        b"eyJ",
        b"-----BEGIN PRIVATE KEY-----",
    ]
    parts += [drawn(rng, WORD, 20).encode(), TOKENS["npm"](rng).encode(), private_key(rng, lines=3).encode()]
    data = b"".join(rng.choices(parts, k=200))
    found = secrets_in(data)
    assert all(one.start < one.end <= len(data) for one in found)
    assert all(before.end <= after.start for before, after in pairwise(found))
    assert all(b"\n" not in data[one.start : one.end] for one in found)
    assert hidden(data, found).count(b"\n") == data.count(b"\n")
