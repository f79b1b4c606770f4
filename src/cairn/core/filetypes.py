"""What a file's name says of the file: its language by its ending, and whether it is left out for its name alone.

This is the one table of names. It is asked for every name in a tree, so an ordinary name costs one look into a
dictionary. Names are bytes, without their folder; letter case matters only where a language says so (`.C`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from cairn.core.limits import MAX_JSON_BYTES
from cairn.core.types import SkipReason

TEXT = "text"

# --- languages ----------------------------------------------------------------------------------------------------

_EXTENSIONS = {
    # with a grammar
    "bash": "sh bash zsh ksh bats ebuild",
    "c": "c h",
    "cpp": "cpp cc cxx c++ hpp hh hxx h++ ipp inl tpp cppm ixx cu cuh ino C H",
    "csharp": "cs csx",
    "css": "css",
    "elixir": "ex exs",
    "go": "go",
    "haskell": "hs",
    "html": "html htm xhtml",
    "java": "java",
    "javascript": "js mjs cjs jsx es6",
    "json": "json jsonc json5 jsonl ndjson geojson topojson webmanifest ipynb map har code-workspace avsc",
    "kotlin": "kt kts",
    "lua": "lua",
    "markdown": "md markdown mdx mkd qmd rmd",
    "php": "php phtml",
    "python": "py pyi pyw bzl bazel star",
    "ruby": "rb rake gemspec ru podspec jbuilder rbi",
    "rust": "rs",
    "scala": "scala sc sbt",
    "sql": "sql ddl psql pgsql",
    "swift": "swift",
    "toml": "toml",
    "tsx": "tsx",
    "typescript": "ts mts cts",
    "yaml": "yaml yml",
    "zig": "zig zon",
    # text with a known name
    "ada": "adb ads",
    "asciidoc": "adoc asciidoc",
    "asm": "asm s S nasm",
    "astro": "astro",
    "awk": "awk",
    "batch": "bat cmd",
    "clojure": "clj cljs cljc edn",
    "cmake": "cmake",
    "cobol": "cob cbl cpy",
    "coffeescript": "coffee",
    "commonlisp": "lisp lsp cl asd",
    "crystal": "cr",
    "csv": "csv tsv psv",
    "cython": "pyx pxd pxi",
    "d": "d",
    "dart": "dart",
    "dhall": "dhall",
    "diff": "diff patch",
    "dockerfile": "dockerfile containerfile",
    "elm": "elm",
    "emacslisp": "el",
    "erb": "erb",
    "erlang": "erl hrl",
    "fish": "fish",
    "fortran": "f f77 f90 f95 f03 f08 for",
    "fsharp": "fs fsi fsx",
    "gdscript": "gd",
    "gettext": "po pot",
    "gleam": "gleam",
    "glsl": "glsl vert frag geom comp hlsl wgsl metal",
    "gradle": "gradle",
    "graphql": "graphql gql graphqls",
    "groovy": "groovy jenkinsfile",
    "haml": "haml",
    "handlebars": "hbs handlebars mustache",
    "hcl": "hcl tf tfvars nomad",
    "idl": "idl thrift fbs capnp",
    "ini": "ini cfg conf cnf properties prefs editorconfig desktop service socket timer env",
    "jinja": "j2 jinja jinja2",
    "jsonnet": "jsonnet libsonnet",
    "julia": "jl",
    "just": "just",
    "latex": "tex sty cls bib ltx",
    "less": "less",
    "make": "mk mak make am",
    "meson": "meson",
    "nim": "nim nims nimble",
    "nix": "nix",
    "objc": "m mm",
    "ocaml": "ml mli mll mly",
    "org": "org",
    "pascal": "pas dpr lpr",
    "perl": "pl pm pod t",
    "powershell": "ps1 psm1 psd1",
    "prisma": "prisma",
    "proto": "proto",
    "pug": "pug jade",
    "puppet": "pp epp",
    "purescript": "purs",
    "qml": "qml",
    "r": "r R",
    "racket": "rkt",
    "reason": "re rei res resi",
    "rst": "rst rest",
    "scheme": "scm ss sld",
    "scss": "scss sass",
    "smalltalk": "st",
    "solidity": "sol",
    "stylus": "styl",
    "svelte": "svelte",
    "systemverilog": "sv svh",
    "tcl": "tcl",
    "text": "txt text log",
    "vala": "vala vapi",
    "vb": "vb vbs bas",
    "verilog": "v vh",
    "vhdl": "vhd vhdl",
    "vim": "vim",
    "vue": "vue",
    "wat": "wat wast",
    "xml": "xml xsd xsl xslt svg plist csproj fsproj vbproj vcxproj props targets resx xaml xib storyboard wsdl rss",
}

_NAMES = {
    "bash": ".bashrc .bash_profile .bash_aliases .bash_logout .profile .zshrc .zshenv .zprofile PKGBUILD APKBUILD",
    "cmake": "CMakeLists.txt",
    "dockerfile": "Dockerfile Containerfile",
    "gomod": "go.mod go.work go.sum",
    "groovy": "Jenkinsfile",
    "ini": ".editorconfig .gitconfig .gitmodules .npmrc .flake8 .pylintrc .coveragerc setup.cfg .env",
    "javascript": "Jakefile",
    "json": ".babelrc .eslintrc .prettierrc .swcrc .jshintrc composer.lock flake.lock deno.lock",
    "just": "Justfile justfile .justfile",
    "make": "Makefile makefile GNUmakefile BSDmakefile Kbuild",
    "meson": "meson.build meson_options.txt meson.options",
    "perl": "cpanfile",
    "python": "SConstruct SConscript Snakefile wscript BUILD WORKSPACE Tiltfile .pythonrc",
    "ruby": "Gemfile Rakefile Guardfile Podfile Vagrantfile Brewfile Fastfile Appfile Dangerfile .irbrc .pryrc",
    "text": ".gitignore .gitattributes .dockerignore .ignore .cairnignore .npmignore .mailmap CODEOWNERS",
    "toml": "Cargo.lock poetry.lock uv.lock pdm.lock Pipfile",
    "vim": ".vimrc .gvimrc vimrc",
    "yaml": ".clang-format .clang-tidy .clangd .yamllint .gemrc",
}

_INTERPRETERS = {
    "ash": "bash", "bash": "bash", "dash": "bash", "ksh": "bash", "sh": "bash", "zsh": "bash", "bats": "bash",
    "awk": "awk", "gawk": "awk", "deno": "typescript", "elixir": "elixir", "escript": "erlang", "fish": "fish",
    "groovy": "groovy", "julia": "julia", "just": "just", "kotlin": "kotlin", "lua": "lua", "luajit": "lua",
    "make": "make", "node": "javascript", "nodejs": "javascript", "bun": "typescript", "ts-node": "typescript",
    "tsx": "typescript", "ocaml": "ocaml", "perl": "perl", "php": "php", "pwsh": "powershell", "pypy": "python",
    "python": "python", "racket": "racket", "rscript": "r", "ruby": "ruby", "jruby": "ruby", "runghc": "haskell",
    "runhaskell": "haskell", "scala": "scala", "swift": "swift", "tclsh": "tcl", "wish": "tcl", "uv": "python",
}  # fmt: skip

# The name without these is the name of what the file will become, or of what it is an example for.
_WRAPPERS = frozenset((b"in", b"tmpl", b"tpl", b"template", b"example", b"sample", b"dist", b"default"))


def _by_word(table: Mapping[str, str]) -> dict[bytes, str]:
    return {word.encode(): language for language, words in table.items() for word in words.split()}


_BY_EXTENSION = _by_word(_EXTENSIONS)
_BY_NAME = _by_word(_NAMES)
_AMBIGUOUS = frozenset((b"h", b"m", b"ts", b"pl"))
LANGUAGES = frozenset((*_EXTENSIONS, *_NAMES, *_INTERPRETERS.values(), "matlab", "prolog"))
ALSO_CALLED = {
    "c#": "csharp", "cs": "csharp", "c++": "cpp", "golang": "go", "js": "javascript", "ts": "typescript",
    "objective-c": "objc", "shell": "bash", "sh": "bash", "zsh": "bash", "f#": "fsharp", "yml": "yaml", "docker":
    "dockerfile", "makefile": "make", "protobuf": "proto", "terraform": "hcl", "viml": "vim", "elisp": "emacslisp",
}  # fmt: skip
"""What people call a language, by names that are not ours."""

_NO_CODE = frozenset((
    TEXT, "asciidoc", "csv", "css", "diff", "gettext", "gomod", "ini", "json", "latex", "less", "markdown", "org",
    "rst", "scss", "stylus", "toml", "xml", "yaml",
))  # fmt: skip

# Only blanks, never newlines, between the parts: what spans lines takes quadratic time on a file of blank lines.
_HEAD_BYTES = 4096
_CPP_HINT = re.compile(
    rb"^[ \t]*(?:class[ \t]+\w|namespace\b|template[ \t]*<|public:|private:|using[ \t])|\bstd::|#include <\w+>", re.M
)
_OBJC_HINT = re.compile(
    rb"^[ \t]*(?:@(?:interface|implementation|protocol|import|class)\b|#(?:import|include)\b)", re.M
)
_PROLOG_HINT = re.compile(rb"^[ \t]*:-|^\w+\(.*\)[ \t]*:-", re.M)
# `#!/usr/bin/env -S uv run`, `#!/usr/bin/python3.12 -u`: the name is what follows the last slash, or `env`.
_SHEBANG = re.compile(rb"#!\s*(?:\S*/)?(?:env(?:\s+-\S+|\s+\w+=\S*)*\s+(?:\S*/)?)?([A-Za-z][A-Za-z-]*)")
_SHEBANG_BYTES = 128


def language_of(name: bytes, head: bytes = b"") -> str:
    """Return the language of a file by its name or its ending, else by its first bytes where these leave it open.

    A file that nothing is known of is "text".
    """
    language = _BY_NAME.get(name)
    if language is not None:
        return language
    _, dot, extension = name.rpartition(b".")
    language = _BY_EXTENSION.get(extension) if dot else None
    if language is None:
        return _language_by_effort(name, head)
    return language if extension not in _AMBIGUOUS else _settle(extension, language, head)


def _language_by_effort(name: bytes, head: bytes) -> str:
    stem, dot, extension = name.rpartition(b".")
    if dot and stem:
        lowered = _BY_EXTENSION.get(extension.lower())
        if lowered is not None:
            return lowered
        if extension.lower() in _WRAPPERS:
            return language_of(stem, head)
        # `Dockerfile.dev`, `Makefile.common`
        if (language := _BY_NAME.get(name.partition(b".")[0])) is not None:
            return language
    shebang = _SHEBANG.match(head[:_SHEBANG_BYTES].partition(b"\n")[0])
    return _INTERPRETERS.get(shebang[1].decode().lower(), TEXT) if shebang else TEXT


def _settle(extension: bytes, language: str, head: bytes) -> str:
    """Decide by the first bytes between the languages that share an extension."""
    head = head[:_HEAD_BYTES]
    if extension == b"h":
        return "objc" if b"@interface" in head else "cpp" if _CPP_HINT.search(head) else language
    if extension == b"m":
        return language if not head or _OBJC_HINT.search(head) else "matlab"
    if extension == b"pl":
        return "prolog" if _PROLOG_HINT.search(head) else language
    # Qt keeps its translations in `.ts` files, which are XML.
    return "xml" if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<") and b"<TS" in head else language


# --- names that are left out --------------------------------------------------------------------------------------

_DATA = frozenset(
    b"csv tsv psv svg ipynb map log har dat arff parquet arrow feather avro orc npy npz pkl pickle h5 hdf5 rds rdata"
    b" tfrecord sqlite sqlite3 db gltf obj stl ply fasta fastq vcf gff gff3 eps ps warc".split()
)
_JSON = frozenset(b"json jsonl ndjson geojson topojson json5 jsonc".split())
_WEB = frozenset(b"js mjs cjs css".split())
_MINIFIED = tuple(
    b"%b.%b" % (mark, extension) for mark in (b".min", b"-min", b".bundle", b".chunk", b".packed") for extension in _WEB
)

# Written by package managers. A bare `*.lock` is not enough: people keep locks of their own making as text.
_LOCK_FILES = frozenset(
    b"package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lock bun.lockb deno.lock poetry.lock uv.lock"
    b" pdm.lock pixi.lock pipfile.lock pylock.toml requirements.lock requirements-dev.lock conda-lock.yml cargo.lock"
    b" go.sum go.work.sum gemfile.lock gems.locked composer.lock symfony.lock flake.lock devbox.lock mix.lock"
    b" rebar.lock pubspec.lock podfile.lock package.resolved cartfile.resolved packages.lock.json paket.lock"
    b" gradle.lockfile buildscript-gradle.lockfile conan.lock vcpkg-lock.json .terraform.lock.hcl chart.lock buf.lock"
    b" module.bazel.lock stack.yaml.lock cabal.project.freeze shard.lock cpanfile.snapshot".split()
)

NAMES_VERSION = 2
# Of the rules by which a name says that a file holds secrets; another number is another set of files.
# 1: first shipped form. 2: copies, known folders, and what stands before or after a word (`prod-secrets.yaml`).

# Extensions of private keys and password stores. A certificate or a test key in a `.pem` is skipped too: nothing in
# its name tells it from a real one. Public parts (`.pub`, `.crt`, `.cer`, `.asc`) are not listed.
_SECRET_EXTENSIONS = frozenset(
    b"pem key p12 pfx pkcs12 p8 pk8 ppk jks jceks bks keystore keytab kdb kdbx psafe3 agekey keychain ovpn tfstate"
    b" publishsettings kubeconfig env".split()
)
_SECRET_NAMES = frozenset(
    b".env .envrc .netrc _netrc .npmrc .pypirc .htpasswd .htdigest .pgpass pgpass.conf .my.cnf .mylogin.cnf .authinfo"
    b" .git-credentials .gitcredentials .dockercfg .dockerconfigjson .s3cfg .boto .vault-token .vault_pass .vault-pass"
    b" .vault_password vault_pass.txt .msmtprc .fetchmailrc .credentials credentials .credentials.json rootkey.csv"
    b" accesskeys.csv kubeconfig .kubeconfig .secret .secrets .secrets.toml .secrets.yaml .secrets.yml .secrets.json"
    b" local.settings.json key.properties keystore.properties application_default_credentials.json"
    b" ssh_host_rsa_key ssh_host_dsa_key ssh_host_ecdsa_key ssh_host_ed25519_key"
    b" .bash_history .zsh_history .sh_history .psql_history .mysql_history .sqlite_history .python_history"
    b" .node_repl_history .irb_history .rediscli_history .mongo_history .viminfo .token .cookies .terraformrc"
    b" terraform.rc credentials.tfrc.json rclone.conf .smbcredentials shadow gshadow secring.gpg".split()
)
# What a person or an editor has left beside a file holds what the file holds; a program that holds a password may be
# indexed as a program, and nobody works on a copy of it. A bare number is a section of the manual (`shadow.5`).
_COPY_END = re.compile(
    rb"(?:[._-](?:bak|bkp|backup|old|orig|original|save|saved|sav|swp|swo|tmp|copy|prev|previous|disabled|[0-9]{8}"
    rb"|[0-9]{4}-[0-9]{2}-[0-9]{2})|~|#|(?: -)? copy(?: [0-9]{1,3})?| \([0-9]{1,3}\))\Z"
)
_COPY_START = re.compile(rb"\A(?:#|\.#|copy of )")
_MOST_COPIES = 4
_SECRET_COPIES = frozenset((b"wp-config.php", b"localsettings.php"))
# `secrets.py` is a program and `credentials.md` a manual; with one of these endings they are what they say.
_SETTINGS = frozenset(b"yml yaml json toml ini cfg conf properties xml csv txt tfvars plist".split())
# The words that say it, without what parts them (`api_key`, `api-key`), and the endings with which they do. A word that
# is not known beside them says something else: `secret-store.yaml`, `secrets.example.yaml`, `secrets.enc.yaml`.
_SECRET_WORDS = dict.fromkeys(
    b"secret secrets credential credentials creds apikeys privatekeys secretkeys accesskeys clientsecret clientsecrets"
    b" authtoken accesstoken bearertoken refreshtoken".split(),
    _SETTINGS,
) | {
    **dict.fromkeys(b"apikey privatekey secretkey accesskey deploykey sshkey".split(), _SETTINGS | {b"", b"asc"}),
    b"kubeconfig": frozenset(b"yml yaml json conf txt".split()),
    b"vault": frozenset((b"yml", b"yaml")),
    b"token": frozenset((b"json", b"txt")),
    b"key": frozenset((b"json",)),
    **dict.fromkeys((b"password", b"passwords", b"cookies"), frozenset((b"txt",))),
}
_HINT = re.compile(rb"secret|cred|key|token|kube|vault|passw|cookie")
_MOST_WORDS = 6
_WORD_ENDS = re.compile(rb"[ ._-]+")
_WHICH = frozenset(
    b"app application my our api db database aws gcp gcloud google azure client server user users admin root service"
    b" docker k8s kube kubernetes helm prod production prd stage staging stg dev devel development test testing qa uat"
    b" ci local live sandbox preview demo dec decrypted plain real new 1 2 3".split()
)
# Words are no secrets in folders of Helm's templates, of workflows and of translations.
_HARMLESS_FOLDERS = frozenset(b"templates workflows locales locale i18n lang langs translations".split())
_SECRET_FOLDERS = frozenset((b".ssh", b".gnupg"))
# Of other folders single files only: `.aws/task-definition.json` and `.docker/Dockerfile` are parts of projects. The
# folder without a name is the root, where `auth.json` is that of Composer.
_SECRET_IN_FOLDER = {
    b"": b"auth.json", b".composer": b"auth.json", b".codex": b"auth.json", b".aws": b"config",
    b".azure": b"accesstokens.json azureprofile.json msal_token_cache.json", b".config": b"hub",
    b".docker": b"config.json", b".gradle": b"gradle.properties", b".kube": b"config",
    b".m2": b"settings.xml settings-security.xml", b".pip": b"pip.conf", b"gh": b"hosts.yml",
}  # fmt: skip
_SECRET_PREFIXES = (b".env.", b".env-", b".env_", b"id_rsa", b"id_dsa", b"id_ecdsa", b"id_ed25519")
_SECRET_KEY_ENDS = (b"_rsa", b"_dsa", b"_ecdsa", b"_ed25519")
_SECRET_ENVS = frozenset(b"env.local env.prod env.production env.staging env.dev env.development env.test".split())
_SECRET_JSON_PREFIXES = (b"service-account", b"service_account", b"serviceaccount", b"client_secret", b"client-secret")
_HARMLESS_ENDS = (b"example", b"sample", b"template", b".tmpl", b".dist", b"defaults", b".pub", b".j2", b".in")

# After these extensions no rule asks another question; nearly every file of a repository has one of them.
_ORDINARY = frozenset(_BY_EXTENSION) - _DATA - _JSON - _WEB - _SECRET_EXTENSIONS - _SETTINGS - {b"hcl"}


def classify_name(name: bytes, size: int, folder: bytes = b"") -> SkipReason | None:
    """Return why a file is left out for its name: a secret first, then `skip_by_name`; None takes it in.

    `folder` is its path from the root, with a slash at its end.
    """
    extension = name.rpartition(b".")[2]
    if extension in _ORDINARY:
        return None
    if extension not in _WEB and _is_secret(name.lower(), folder):
        return SkipReason.SENSITIVE_NAME
    return skip_by_name(name, size)


def is_code(name: bytes) -> bool:
    """Whether a name is that of text in a known language, whatever the file holds."""
    return language_of(name) != TEXT


def may_define(language: str) -> bool:
    """Whether a text in this language is code: one that may define names and use those of other files."""
    return language not in _NO_CODE


def skip_by_name(name: bytes, size: int) -> SkipReason | None:
    """Return whether a name is that of a data file, a lock file or a minified bundle; `size` decides for JSON."""
    extension = name.rpartition(b".")[2]
    if extension in _ORDINARY:
        return None
    lowered = name.lower()
    if lowered in _LOCK_FILES:
        return SkipReason.LOCK_FILE
    _, dot, extension = lowered.rpartition(b".")
    if not dot:
        return None
    if extension in _WEB:
        return SkipReason.MINIFIED if lowered.endswith(_MINIFIED) else None
    if extension in _DATA or (extension in _JSON and size > MAX_JSON_BYTES):
        return SkipReason.DATA_FILE
    return None


def is_sensitive(name: bytes, folder: bytes = b"") -> bool:
    """Whether a name is one under which people keep secrets; such a file is never opened.

    Programs are not (`key.py`, `secrets.go`), nor public keys, nor examples (`.env.example`). A certificate or a test
    key with the name of a private key is, for its name is all we look at. `folder` is as for `classify_name`.
    """
    extension = name.rpartition(b".")[2]
    return extension not in _ORDINARY and extension not in _WEB and _is_secret(name.lower(), folder)


def _is_secret(lowered: bytes, folder: bytes) -> bool:
    name = _without_copy(lowered)
    if name in _SECRET_NAMES or (name in _SECRET_COPIES and name != lowered):
        return True
    above = folder.lower().split(b"/")[:-1]
    if name in _SECRET_IN_FOLDER.get(above[-1] if above else b"", b"").split():
        return True
    stem, dot, extension = name.rpartition(b".")
    if dot and (extension in _ORDINARY or extension in _WEB):
        return False
    if not _SECRET_FOLDERS.isdisjoint(above):
        return not name.endswith(b".pub")
    if dot and extension in _SECRET_EXTENSIONS:
        return extension != b"env" or not stem.endswith(_HARMLESS_ENDS)
    if extension == b"json" and (name.startswith(_SECRET_JSON_PREFIXES) or b"firebase-adminsdk" in name):
        return True
    if name.startswith(_SECRET_PREFIXES) or name in _SECRET_ENVS:
        return not name.endswith(_HARMLESS_ENDS)
    if not dot or extension == b"txt":
        stem, extension = (stem, extension) if dot else (name, b"")
        if stem.endswith(_SECRET_KEY_ENDS):
            return True
    return _says_secret(stem, extension) and _HARMLESS_FOLDERS.isdisjoint(above)


def _without_copy(lowered: bytes) -> bytes:
    """Return the name of what a copy is one of: `.env` of `#.env#`, `credentials.json` of `credentials (1).json`."""
    name = lowered
    for _ in range(_MOST_COPIES):
        found = _COPY_START.sub(b"", _COPY_END.sub(b"", name))
        stem, dot, extension = found.rpartition(b".")
        if dot and extension in _SETTINGS:
            found = _COPY_END.sub(b"", stem) + dot + extension
        if found == name or not found:
            break
        name = found
    return name


def _says_secret(stem: bytes, extension: bytes) -> bool:
    """Whether a word for secrets stands in the name, and nothing beside it but which ones they are."""
    if not _HINT.search(stem):
        return False
    inner, dot, kind = stem.rpartition(b".")
    if dot and kind in _SECRET_EXTENSIONS and kind != b"env" and extension in (b"json", b"txt") and inner:
        return True  # `tls.key.txt`
    words = [word for word in _WORD_ENDS.split(stem) if word]
    if not 1 <= len(words) <= _MOST_WORDS:
        return False
    for first in range(len(words)):
        for end in range(first + 1, len(words) + 1):
            endings = _SECRET_WORDS.get(b"".join(words[first:end]), ())
            if extension in endings and _WHICH.issuperset(words[:first] + words[end:]):
                return True
    return False
