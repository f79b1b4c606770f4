"""Hard caps and shipped defaults, on one page.

A hard cap is an upper bound that no setting can raise; repository config and user settings may only lower it.
A default is stable once shipped: tests hold a snapshot of this page.
"""

from __future__ import annotations

KIB = 1024
MIB = 1024 * KIB

# --- hard caps on what a repository may cost us -------------------------------------------------------------------
MAX_FILE_BYTES = 10 * MIB
MAX_CHUNKS_PER_FILE = 2_000
MAX_BYTES_PER_BATCH = 256 * MIB
MAX_LINK_HOPS = 32

# Repository config and ignore files are hostile input: what exceeds these is refused or cut, never believed.
MAX_CONFIG_BYTES = 64 * KIB
MAX_CONFIG_GLOBS = 200
MAX_IGNORE_BYTES = 64 * KIB
MAX_IGNORE_PATTERNS = 10_000
MAX_PATTERN_BYTES = 1 * KIB

# --- what the syntax layer spends on one file ---------------------------------------------------------------------
# A tree costs about 100 bytes of memory per source byte and 0.2 s per MiB; beyond this a file is cut by lines.
MAX_PARSE_BYTES = 2 * MIB
PARSE_CPU_SECONDS = 1.0
MAX_SYMBOLS_PER_FILE = 50_000
MAX_REFERENCES_PER_FILE = 200_000
MAX_NESTING = 1_000
# Half-found matches a query may hold: real code holds less than 64, and the cost of holding n is n to the third.
MAX_MATCH_STATES = 256
MAX_SIGNATURE_CHARS = 300
MAX_DOC_CHARS = 2_000
MAX_PARTIAL_RANGES = 100

# --- chunks -------------------------------------------------------------------------------------------------------
# Budgets count non-whitespace characters. 1.5 to 3 kB ranked best when measured; definitions above it are split inside.
CHUNK_TARGET_CHARS = 1_500
CHUNK_MIN_CHARS = 400
MAX_LINE_BYTES = 16 * KIB
# Names in a breadcrumb: a hostile file nests definitions thousands deep.
MAX_BREADCRUMB = 32

# --- what counts as text ------------------------------------------------------------------------------------------
BINARY_SNIFF_BYTES = 8 * KIB
MAX_JSON_BYTES = 64 * KIB
MINIFIED_LINE_BYTES = 5_000
MINIFIED_MEAN_LINE_BYTES = 500

# --- reading a tree that others are writing -----------------------------------------------------------------------
STABLE_READ_ATTEMPTS = 5
STABLE_READ_BACKOFF_SECONDS = 0.01
# Two writes within one tick (10 ms at worst) get the same time stamp: only a file that was quiet for two ticks can be
# proven to hold still.
STABLE_READ_QUIET_NS = 20_000_000
# git's racy rule: an mtime this close to the recorded sync proves nothing, so the file is hashed again.
RACY_WINDOW_NS = 2_000_000_000
REHASH_FRACTION = 100

# --- git, as a child process --------------------------------------------------------------------------------------
GIT_TIMEOUT_SECONDS = 20.0
GIT_OUTPUT_BYTES = 256 * MIB
GIT_LOCK_ATTEMPTS = 5
GIT_LOCK_BACKOFF_SECONDS = 0.1

# --- watching -----------------------------------------------------------------------------------------------------
MAX_PENDING_EVENTS = 10_000
MAX_WATCHED_FOLDERS = 50_000
WATCH_DEBOUNCE_MS = 50

# --- worker processes ---------------------------------------------------------------------------------------------
# Below this many files a pool costs more than it saves (about 0.3 s to start two workers).
MIN_FILES_FOR_POOL = 150
FILES_PER_TASK = 32
# The last resort: the kernel kills a worker that spends more CPU than this on one file, which is then cut by lines.
WORKER_CPU_SECONDS_PER_FILE = 5.0
# On top of what a worker holds at its start (about 60 MiB), which keeps it below 512 MiB.
WORKER_MEMORY_BYTES = 440 * MIB

# --- store defaults -----------------------------------------------------------------------------------------------
RETAIN_SNAPSHOTS_MIN = 5
RETAIN_SNAPSHOTS_MIN_AGE_SECONDS = 600
STAGING_TTL_SECONDS = 1_800
GC_SAFETY_MARGIN_MS = 120_000
LEASE_TTL_MS = 120_000
QUERY_TIMEOUT_MS = 30_000
MAX_SEGMENTS_PER_SNAPSHOT = 64
MAX_TOTAL_SEGMENTS_REFERENCED = 256
MAX_TOMBSTONES_PER_SNAPSHOT = 250_000
COMPACTION_OVERDUE_SEGMENTS = 48
COMPACTION_OVERDUE_TOMBSTONES = 200_000

# --- what a file of a store may cost to read ----------------------------------------------------------------------
# A damaged or hostile store is refused by size before anything is parsed.
MAX_MANIFEST_BYTES = 4 * MIB
MAX_STATE_BYTES = 64 * KIB
MAX_TOMBSTONE_BYTES = 48 * MIB
MAX_TOMBSTONE_FILES = 256
MAX_DEGRADED_ERRORS = 10_000
# The system opens paths below 4 KiB; composing (NFC) can make one of them three times as long.
MAX_PATH_KEY_BYTES = 12 * KIB

# --- answers ------------------------------------------------------------------------------------------------------
DEFAULT_ENVELOPE_BYTES = 64 * KIB
MAX_ENVELOPE_BYTES = 1 * MIB
