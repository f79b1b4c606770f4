"""The tables of a codebase's semantic database, as SQL: this page is the agreement between who writes and who asks.

Nothing in them is believed for itself. A file's facts hold while `file_semantic_facts.content_hash_at_index` is the
`StoredFile.file_hash` of the pinned snapshot; otherwise the file is dirty, and without a row it is unindexed.

What a file leans on: one row of `edges` for each (source_file, target_file, context_id). `interface_hash_at_index` is
the syntactic interface hash (`StoredFile.interface_hash`) that the target had when the source was indexed, empty when
that is not known because the target changed meanwhile. While the target is clean it is compared with that file's
`files.syntactic_interface_hash`, which was taken down when the target itself was last indexed: another one makes the
source stale. So does another `semantic_hash_at_index`: the target's `reach_hash` then, which is what an indexer said of
its definitions (`semantic_interface_hash`, with types that nobody wrote down), and of all that they rest on. A file
that others lean on keeps its row in `files` when it is gone, without facts: it is unindexed.
`imported_keys` are what the files that have facts import (`shadows.py`): a file that is new, and offers one
of them, may be what they mean from now on.

`identities` holds each normalised symbol once, whatever contexts speak of it; occurrences refer to it and not to a
definition, so that a file can be taken in anew without touching those that use it. `silent_files` are those of which
an index should have spoken and did not, with the hash that they had then: unindexed, and no reason to run it again.
`settings_files` are the project files that a context was read by: while one of them is another, all of it is stale.
Lines are 1-based, columns count bytes from 0, and times are seconds since 1970. `layer` is `semantic` in all that an
indexer said.
"""

from __future__ import annotations

VERSION = 1

TABLES: tuple[str, ...] = (
    """CREATE TABLE contexts (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    language TEXT NOT NULL,
    root TEXT NOT NULL,
    name TEXT NOT NULL,
    fence TEXT NOT NULL,
    config_hash TEXT NOT NULL,
    include TEXT NOT NULL,
    punched TEXT NOT NULL,
    why TEXT NOT NULL,
    tool_version TEXT NOT NULL DEFAULT '',
    enabled INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
    refreshed_at REAL
)""",
    """CREATE TABLE files (
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE,
    language TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    syntactic_interface_hash TEXT NOT NULL,
    indexed_at REAL NOT NULL
)""",
    """CREATE TABLE file_semantic_facts (
    file_id INTEGER NOT NULL REFERENCES files(id) ON DELETE CASCADE,
    context_id INTEGER NOT NULL REFERENCES contexts(id) ON DELETE CASCADE,
    semantic_interface_hash TEXT NOT NULL,
    content_hash_at_index TEXT NOT NULL,
    ambiguity_flags TEXT NOT NULL DEFAULT '[]',
    refreshed_at REAL NOT NULL,
    reach_hash TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (file_id, context_id)
) WITHOUT ROWID""",
    """CREATE TABLE settings_files (
    context_id INTEGER NOT NULL REFERENCES contexts(id) ON DELETE CASCADE,
    path TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    PRIMARY KEY (context_id, path)
) WITHOUT ROWID""",
    """CREATE TABLE silent_files (
    context_id INTEGER NOT NULL REFERENCES contexts(id) ON DELETE CASCADE,
    path TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    PRIMARY KEY (context_id, path)
) WITHOUT ROWID""",
    """CREATE TABLE identities (
    id INTEGER PRIMARY KEY,
    symbol TEXT NOT NULL UNIQUE
)""",
    """CREATE TABLE symbols (
    id INTEGER PRIMARY KEY,
    file_id INTEGER NOT NULL REFERENCES files(id) ON DELETE CASCADE,
    context_id INTEGER NOT NULL REFERENCES contexts(id) ON DELETE CASCADE,
    identity_id INTEGER NOT NULL REFERENCES identities(id),
    name TEXT NOT NULL,
    qualified_name TEXT NOT NULL,
    kind TEXT NOT NULL,
    line INTEGER NOT NULL,
    column INTEGER NOT NULL,
    body_start_line INTEGER,
    body_end_line INTEGER,
    signature TEXT NOT NULL,
    layer TEXT NOT NULL CHECK (layer IN ('syntactic', 'semantic'))
)""",
    """CREATE TABLE symbol_interface_hashes (
    symbol_id INTEGER PRIMARY KEY REFERENCES symbols(id) ON DELETE CASCADE,
    interface_hash TEXT NOT NULL
)""",
    """CREATE TABLE exports (
    file_id INTEGER NOT NULL REFERENCES files(id) ON DELETE CASCADE,
    context_id INTEGER NOT NULL REFERENCES contexts(id) ON DELETE CASCADE,
    identity_id INTEGER NOT NULL REFERENCES identities(id),
    name TEXT NOT NULL,
    PRIMARY KEY (file_id, context_id, identity_id)
) WITHOUT ROWID""",
    """CREATE TABLE occurrences (
    id INTEGER PRIMARY KEY,
    file_id INTEGER NOT NULL REFERENCES files(id) ON DELETE CASCADE,
    context_id INTEGER NOT NULL REFERENCES contexts(id) ON DELETE CASCADE,
    identity_id INTEGER NOT NULL REFERENCES identities(id),
    start_line INTEGER NOT NULL,
    start_col INTEGER NOT NULL,
    end_line INTEGER NOT NULL,
    end_col INTEGER NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('definition', 'reference', 'import')),
    layer TEXT NOT NULL CHECK (layer IN ('syntactic', 'semantic')),
    anchor_before TEXT NOT NULL,
    anchor_after TEXT NOT NULL
)""",
    """CREATE TABLE relationships (
    file_id INTEGER NOT NULL REFERENCES files(id) ON DELETE CASCADE,
    context_id INTEGER NOT NULL REFERENCES contexts(id) ON DELETE CASCADE,
    identity_id INTEGER NOT NULL REFERENCES identities(id),
    target_id INTEGER NOT NULL REFERENCES identities(id),
    kind TEXT NOT NULL CHECK (kind IN ('reference', 'implementation', 'type_definition', 'definition')),
    PRIMARY KEY (file_id, context_id, identity_id, target_id, kind)
) WITHOUT ROWID""",
    """CREATE TABLE edges (
    id INTEGER PRIMARY KEY,
    source_file INTEGER NOT NULL REFERENCES files(id) ON DELETE CASCADE,
    target_file INTEGER NOT NULL REFERENCES files(id) ON DELETE CASCADE,
    dependency_type TEXT NOT NULL,
    context_id INTEGER NOT NULL REFERENCES contexts(id) ON DELETE CASCADE,
    layer TEXT NOT NULL CHECK (layer IN ('syntactic', 'semantic')),
    interface_hash_at_index TEXT NOT NULL,
    semantic_hash_at_index TEXT NOT NULL DEFAULT '',
    UNIQUE (source_file, target_file, context_id)
)""",
    """CREATE TABLE imported_keys (
    key TEXT NOT NULL,
    context_id INTEGER NOT NULL REFERENCES contexts(id) ON DELETE CASCADE,
    file_id INTEGER NOT NULL REFERENCES files(id) ON DELETE CASCADE,
    PRIMARY KEY (key, context_id, file_id)
) WITHOUT ROWID""",
    """CREATE TABLE refresh_jobs (
    id INTEGER PRIMARY KEY,
    context_id INTEGER NOT NULL REFERENCES contexts(id) ON DELETE CASCADE,
    status TEXT NOT NULL CHECK (status IN ('queued', 'running', 'completed', 'superseded', 'failed')),
    scope TEXT NOT NULL,
    trigger_reason TEXT NOT NULL,
    priority INTEGER NOT NULL,
    head_at_enqueue TEXT NOT NULL,
    created_at REAL NOT NULL,
    started_at REAL,
    finished_at REAL,
    superseded_reason TEXT,
    error TEXT,
    attempts INTEGER NOT NULL DEFAULT 0,
    holder TEXT,
    pid INTEGER,
    heartbeat_at REAL
)""",
    """CREATE TABLE repo_state (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    last_seen_head TEXT NOT NULL,
    last_seen_snapshot TEXT NOT NULL,
    checked_at REAL NOT NULL
)""",
    """CREATE TABLE decision_cache (
    id INTEGER PRIMARY KEY,
    ambiguity_signature TEXT NOT NULL,
    repo_head TEXT NOT NULL,
    file_hashes TEXT NOT NULL,
    file_hashes_digest TEXT NOT NULL,
    decision TEXT NOT NULL,
    proof_payload TEXT NOT NULL,
    created_at REAL NOT NULL,
    UNIQUE (ambiguity_signature, repo_head, file_hashes_digest)
)""",
    # What a job needs: at most one that runs and one that waits for each context, whoever asks at the same time.
    "CREATE UNIQUE INDEX one_running ON refresh_jobs (context_id) WHERE status = 'running'",
    "CREATE UNIQUE INDEX one_queued ON refresh_jobs (context_id) WHERE status = 'queued'",
    # What answers ask, and what a cascade walks.
    "CREATE INDEX facts_of_context ON file_semantic_facts (context_id)",
    "CREATE INDEX symbols_of_identity ON symbols (identity_id)",
    "CREATE INDEX symbols_of_file ON symbols (file_id, context_id)",
    "CREATE INDEX symbols_by_name ON symbols (name)",
    "CREATE INDEX occurrences_of_identity ON occurrences (identity_id)",
    "CREATE INDEX occurrences_of_file ON occurrences (file_id, context_id, start_line)",
    "CREATE INDEX exports_of_identity ON exports (identity_id)",
    "CREATE INDEX relationships_of_identity ON relationships (identity_id)",
    "CREATE INDEX relationships_of_target ON relationships (target_id)",
    "CREATE INDEX edges_of_target ON edges (target_file)",
    "CREATE INDEX imported_keys_of_file ON imported_keys (file_id, context_id)",
)
