from __future__ import annotations

import time

import pytest

from cairn.core.filetypes import LANGUAGES, classify_name, is_sensitive, language_of, skip_by_name
from cairn.core.limits import MAX_JSON_BYTES
from cairn.core.types import SkipReason

WITH_GRAMMAR = {
    "python": b"a.py", "javascript": b"a.jsx", "typescript": b"a.ts", "tsx": b"a.tsx", "go": b"a.go", "rust": b"a.rs",
    "java": b"A.java", "c": b"a.c", "cpp": b"a.cc", "csharp": b"A.cs", "ruby": b"a.rb", "php": b"a.php",
    "kotlin": b"A.kt", "swift": b"A.swift", "scala": b"A.scala", "bash": b"a.sh", "lua": b"a.lua", "haskell": b"A.hs",
    "elixir": b"a.exs", "zig": b"a.zig", "markdown": b"README.md", "json": b"a.json", "yaml": b"a.yml",
    "toml": b"a.toml", "html": b"a.htm", "css": b"a.css", "sql": b"a.sql",
}  # fmt: skip


@pytest.mark.parametrize(("language", "name"), WITH_GRAMMAR.items())
def test_every_language_with_a_grammar_is_known_by_its_extension(language: str, name: bytes) -> None:
    assert language_of(name) == language
    assert language in LANGUAGES


@pytest.mark.parametrize(
    ("name", "language"),
    [
        (b"Makefile", "make"),
        (b"Makefile.common", "make"),
        (b"Dockerfile", "dockerfile"),
        (b"Dockerfile.dev", "dockerfile"),
        (b"CMakeLists.txt", "cmake"),
        (b"notes.txt", "text"),
        (b"Gemfile", "ruby"),
        (b".bashrc", "bash"),
        (b"go.mod", "gomod"),
        (b"config.h.in", "c"),
        (b"settings.yaml.example", "yaml"),
        (b"SETUP.PY", "python"),
        (b"matrix.C", "cpp"),
        (b"model.R", "r"),
        (b"App.vue", "vue"),
        (b"api.proto", "proto"),
        (b"LICENSE", "text"),
        (b"what.isthis", "text"),
        (b"", "text"),
        (b".", "text"),
        (b"\xff\xfe.\xff", "text"),
    ],
)
def test_a_name_says_the_language(name: bytes, language: str) -> None:
    assert language_of(name) == language
    assert language in LANGUAGES


@pytest.mark.parametrize("name", [b"c", b"go", b"py", b"sql"])
def test_a_name_without_a_dot_has_no_extension(name: bytes) -> None:
    assert language_of(name) == "text"


@pytest.mark.parametrize(
    ("head", "language"),
    [
        (b"#!/bin/sh\n", "bash"),
        (b"#!/usr/bin/env python3\n", "python"),
        (b"#! /usr/bin/python3.12 -u\n", "python"),
        (b"#!/usr/bin/env -S uv run --script\n", "python"),
        (b"#!/usr/bin/env NODE_ENV=test node\r\n", "javascript"),
        (b"#!/usr/local/bin/ruby", "ruby"),
        (b"#!/usr/bin/Rscript\n", "r"),
        (b"#!/usr/bin/env\npython\n", "text"),
        (b"#!\n", "text"),
        (b"#!/opt/unheard-of\n", "text"),
        (b"\n#!/bin/sh\n", "text"),
        (b"", "text"),
    ],
)
def test_a_shebang_decides_where_the_name_does_not(head: bytes, language: str) -> None:
    assert language_of(b"tool", head) == language
    assert language_of(b"tool.go", head) == "go"


@pytest.mark.parametrize(
    ("name", "head", "language"),
    [
        (b"a.h", b"", "c"),
        (b"a.h", b"#include <stdio.h>\nint f(void);\n", "c"),
        (b"a.h", b'#ifdef __cplusplus\nextern "C" {\n#endif\nint f(void);\n', "c"),
        (b"a.h", b"#pragma once\n#include <string>\n", "cpp"),
        (b"a.h", b"#pragma once\n  namespace x {\n", "cpp"),
        (b"a.h", b"#import <Foundation/Foundation.h>\n@interface A : NSObject\n", "objc"),
        (b"a.m", b"#import <Foundation/Foundation.h>\n", "objc"),
        (b"a.m", b"% rotates\nfunction y = rot(x)\n", "matlab"),
        (b"a.pl", b"use strict;\n", "perl"),
        (b"a.pl", b":- module(a, []).\n", "prolog"),
        (b"a.ts", b"const a: number = 1\n", "typescript"),
        (b"a.ts", b'<?xml version="1.0"?>\n<!DOCTYPE TS>\n<TS version="2.1">\n', "xml"),
    ],
)
def test_the_first_bytes_decide_where_languages_share_an_extension(name: bytes, head: bytes, language: str) -> None:
    assert language_of(name, head) == language
    assert language in LANGUAGES


@pytest.mark.parametrize("name", [b"a.h", b"a.m", b"a.pl", b"a.ts", b"tool"])
@pytest.mark.parametrize("unit", [b"\n", b" ", b"#! ", b"a(", b"#!/usr/bin/env -a ", b")", b"\x00\xff"])
def test_no_head_makes_the_decision_slow(name: bytes, unit: bytes) -> None:
    begin = time.process_time()
    language_of(name, unit * 100_000)
    language_of(name, b"#!" + unit * 100_000)
    assert time.process_time() - begin < 1


SENSITIVE = [
    b".env", b".env.local", b".env.production", b".env-prod", b"prod.env", b".envrc", b"id_rsa", b"id_dsa", b"id_ecdsa",
    b"id_ed25519", b"id_ed25519_work", b"id_rsa.bak", b"server.pem", b"tls.key", b"a.p12", b"a.pfx", b"a.jks",
    b"debug.keystore", b"vault.kdbx", b".netrc", b"_netrc", b".npmrc", b".pypirc", b".htpasswd", b"credentials",
    b"credentials.json", b"credentials.toml", b".git-credentials", b".pgpass", b"service-account.json",
    b"service-account-prod.json", b"my-app-firebase-adminsdk-x1y2.json", b"office.ovpn", b"secrets.yml",
    b"secrets.yaml", b"secrets.json", b"secrets.toml", b"SECRETS.YAML", b"Server.PEM", b"ID_RSA", b".Env",
    b"terraform.tfstate", b"secrets.tfvars", b"client_secret_12.apps.json", b".bash_history", b"ssh_host_rsa_key",
]  # fmt: skip

HARMLESS = [
    b".env.example", b".env.sample", b".env.template", b".env.local.example", b".env-example", b"example.env",
    b"id_rsa.pub", b"ID_ED25519.PUB", b"key.py", b"keys.go", b"tokens.go", b"secrets.py", b"secrets.go",
    b"credentials.ts", b"credentials.md", b"secret.yaml", b"env.d.ts", b".env.d.ts", b"environment.yml", b"pem.rs",
    b"key", b"pem", b"env", b"keystore", b"service-account.md", b"service_account.go", b"server.crt", b"KEYS.asc",
    b"id_rsa.go", b"password.js", b"monkey", b"turkey.txt", b"my.key.md", b"", b".", b"..", b"\xff\xfe",
]  # fmt: skip


@pytest.mark.parametrize("name", SENSITIVE)
def test_a_name_that_promises_secrets_is_sensitive_and_says_so_first(name: bytes) -> None:
    assert is_sensitive(name)
    assert classify_name(name, MAX_JSON_BYTES + 1) is SkipReason.SENSITIVE_NAME


@pytest.mark.parametrize("name", HARMLESS)
def test_programs_public_keys_and_examples_are_not_sensitive(name: bytes) -> None:
    assert not is_sensitive(name)
    assert classify_name(name, 100) is None


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (b"table.csv", SkipReason.DATA_FILE),
        (b"TABLE.CSV", SkipReason.DATA_FILE),
        (b"logo.svg", SkipReason.DATA_FILE),
        (b"lab.ipynb", SkipReason.DATA_FILE),
        (b"app.js.map", SkipReason.DATA_FILE),
        (b"package-lock.json", SkipReason.LOCK_FILE),
        (b"yarn.lock", SkipReason.LOCK_FILE),
        (b"poetry.lock", SkipReason.LOCK_FILE),
        (b"Cargo.lock", SkipReason.LOCK_FILE),
        (b"go.sum", SkipReason.LOCK_FILE),
        (b"uv.lock", SkipReason.LOCK_FILE),
        (b"Gemfile.lock", SkipReason.LOCK_FILE),
        (b"composer.lock", SkipReason.LOCK_FILE),
        (b"pnpm-lock.yaml", SkipReason.LOCK_FILE),
        (b"flake.lock", SkipReason.LOCK_FILE),
        (b".terraform.lock.hcl", SkipReason.LOCK_FILE),
        (b"jquery.min.js", SkipReason.MINIFIED),
        (b"JQUERY.MIN.JS", SkipReason.MINIFIED),
        (b"site-min.css", SkipReason.MINIFIED),
        (b"app.bundle.js", SkipReason.MINIFIED),
        (b"lib.min.mjs", SkipReason.MINIFIED),
        (b"my.lock", None),
        (b"admin.js", None),
        (b"min.js", None),
        (b"csv", None),
        (b"map", None),
        (b"csv.py", None),
        (b"Cargo.toml", None),
        (b"package.json", None),
        (b"main.tf", None),
        (b"index.html", None),
        (b"requirements.txt", None),
        (b"Makefile", None),
    ],
)
def test_data_lock_files_and_bundles_have_their_own_reasons(name: bytes, reason: SkipReason | None) -> None:
    assert skip_by_name(name, 100) is reason
    assert classify_name(name, 100) is reason


@pytest.mark.parametrize("name", [b"a.json", b"a.jsonl", b"a.ndjson", b"a.geojson", b"A.JSON"])
def test_json_is_data_only_above_its_limit(name: bytes) -> None:
    assert classify_name(name, MAX_JSON_BYTES) is None
    assert classify_name(name, MAX_JSON_BYTES + 1) is SkipReason.DATA_FILE
