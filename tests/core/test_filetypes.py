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
    b"terraform.tfstate.backup", b".viminfo", b".cookies", b"cookies.txt", b".token", b"token.json", b"token.txt",
    b".terraformrc", b"rclone.conf", b"shadow", b"secring.gpg", b"admin.kubeconfig", b"kubeconfig.yaml",
    b"prod-kubeconfig.yml", b"api_key.txt", b"apikey.json", b"password.txt", b"passwords.txt", b"private_key.txt",
    b"privatekey.asc", b"private-key", b"deploy_key", b"deploy_rsa", b"my_id_rsa", b"env.local", b"env.production",
    b"firebase-adminsdk.json", b"gcp-key.json", b"service-key.json", b"jwt.key.json", b"tls.key.txt", b"vault.yml",
    b"secret.yaml", b"secret.yml", b"app-secrets.yaml", b"secrets.prod.yaml", b"prod-db-credentials.json",
    b"client.secret.properties",
]  # fmt: skip

# A copy of each is a secret too, however it was made.
COPIES = [
    "{}.bak", "{}~", "#{}#", "{}.old", "{} copy", "{} (1)", "{} - copy 2", "{}.orig", "{}.swp", "{}_backup",
    "{}.20260102", "{}.2026-01-02", "{}.bak~", "Copy of {}",
]  # fmt: skip
MADE_BEFORE_THE_ENDING = [
    b"credentials (1).json", b"credentials copy.json", b"credentials-old.json", b"secrets.bak.yaml",
    b".secrets.yaml.swp", b"wp-config.php.bak", b"wp-config.php~",
]  # fmt: skip

IN_FOLDERS = [
    b".aws/config", b".aws/credentials", b".docker/config.json", b".kube/config", b".ssh/config", b".ssh/id_work",
    b".ssh/authorized_keys", b".ssh/keys/work", b"home/.SSH/config", b".gnupg/trustdb", b".config/gh/hosts.yml",
    b".m2/settings.xml", b".gradle/gradle.properties", b"auth.json", b".composer/auth.json",
    b".azure/accessTokens.json", b".aws/config.bak",
]  # fmt: skip

HARMLESS_IN_FOLDERS = [
    b".aws/task-definition.json", b".docker/Dockerfile", b".docker/config.yml", b".kube/deployment.yaml",
    b".ssh/id_work.pub", b".ssh/README.md", b"ansible/hosts.yml", b"deploy/config", b"config", b"src/config.json",
    b"src/auth.json", b"gradle.properties", b"maven/settings.xml", b"chart/templates/secret.yaml",
    b"chart/templates/app/secrets.yaml", b".github/workflows/secrets.yml", b"locales/en/credentials.json",
    b"src/i18n/token.json",
]  # fmt: skip

HARMLESS = [
    b".env.example", b".env.sample", b".env.template", b".env.local.example", b".env-example", b"example.env",
    b"id_rsa.pub", b"ID_ED25519.PUB", b"key.py", b"keys.go", b"tokens.go", b"secrets.py", b"secrets.go",
    b"credentials.ts", b"credentials.md", b"env.d.ts", b".env.d.ts", b"environment.yml", b"pem.rs",
    b"key", b"pem", b"env", b"keystore", b"service-account.md", b"service_account.go", b"server.crt", b"KEYS.asc",
    b"id_rsa.go", b"password.js", b"monkey", b"turkey.txt", b"my.key.md", b"", b".", b"..", b"\xff\xfe",
    # Settings that nearly every project of their kind has. What stands in them is looked at when it leaves.
    b".mongorc.js", b".psqlrc", b".yarnrc.yml", b"auth.json", b"database.yml", b"gradle.properties", b"hosts.yml",
    b"nuget.config", b"pip.conf", b"settings.xml", b"terraform.tfvars", b"prod.auto.tfvars", b"wp-config.php",
    # Encrypted, an example, or about secrets.
    b"credentials.yml.enc", b"secrets.enc.yaml", b"secrets.sops.yaml", b"secrets.example.yaml",
    b"credentials.json.example", b".secrets.baseline", b"secret-store.yaml", b"external-secret.yaml",
    b"sealed-secret.yaml", b"service-account.yaml",
    b"id_rsa.pub.bak", b".env.example.bak", b"main.py.bak", b"secrets.py.old", b"shadow.5", b"netrc.5", b"passwd",
    b"tokens.json", b"keys.json", b"passwords.json", b"token.yaml", b"public_key.txt", b"key.txt", b"vault.tf",
    b"Client-TLSv13-Ed25519", b"known_hosts", b"authorized_keys",
]  # fmt: skip


@pytest.mark.parametrize("name", SENSITIVE)
def test_a_name_that_promises_secrets_is_sensitive_and_says_so_first(name: bytes) -> None:
    assert is_sensitive(name, b"x/")
    assert classify_name(name, MAX_JSON_BYTES + 1, b"x/") is SkipReason.SENSITIVE_NAME


@pytest.mark.parametrize("copy", COPIES)
def test_a_copy_of_a_secret_is_one_too(copy: str) -> None:
    harmless = [name for name in SENSITIVE if not is_sensitive(copy.format(name.decode()).encode(), b"x/")]
    assert harmless == []
    told = [
        name for name in HARMLESS if name and is_sensitive(copy.format(name.decode(errors="replace")).encode(), b"x/")
    ]
    assert set(told) <= {b"wp-config.php"}


@pytest.mark.parametrize("name", MADE_BEFORE_THE_ENDING)
def test_a_copy_may_be_named_before_the_ending(name: bytes) -> None:
    assert is_sensitive(name, b"x/")


@pytest.mark.parametrize("path", IN_FOLDERS)
def test_the_folder_says_it_where_the_name_does_not(path: bytes) -> None:
    folder, slash, name = path.rpartition(b"/")
    assert classify_name(name, 1, folder + slash) is SkipReason.SENSITIVE_NAME


@pytest.mark.parametrize("path", HARMLESS_IN_FOLDERS)
def test_a_folder_of_secrets_holds_other_files_too(path: bytes) -> None:
    folder, _, name = path.rpartition(b"/")
    assert classify_name(name, 1, b"x/" + folder + b"/") is None


@pytest.mark.parametrize(
    "unit", [b"-", b" copy", b"a.", b"_rsa", b".bak", b"secret-", b"(1) ", b"#", b"20260102.", b"1-"]
)
def test_no_name_makes_the_judgement_slow(unit: bytes) -> None:
    begin = time.process_time()
    for ending in (b"", b".json", b"!"):
        is_sensitive(unit * 40_000 + ending, b"x/" * 1_000)
    assert time.process_time() - begin < 1


@pytest.mark.parametrize("name", HARMLESS)
def test_programs_public_keys_and_examples_are_not_sensitive(name: bytes) -> None:
    assert not is_sensitive(name, b"x/")
    assert classify_name(name, 100, b"x/") is None


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
