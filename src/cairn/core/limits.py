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
MAX_CONFIG_MODELS = 20
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
# An audit reads one in so many of the files that are said to be unchanged, and at least so many.
AUDIT_SAMPLE_FRACTION = 100
AUDIT_SAMPLE_MIN = 100

# --- git, as a child process --------------------------------------------------------------------------------------
# All calls of one command together; a git that took longer is left alone for a while. History is asked by `eval` alone.
GIT_TIMEOUT_SECONDS = 20.0
GIT_REST_SECONDS = 60.0
GIT_HISTORY_SECONDS = 300.0
GIT_OUTPUT_BYTES = 256 * MIB
GIT_LOCK_ATTEMPTS = 5
GIT_LOCK_BACKOFF_SECONDS = 0.1
# Files whose bytes are compared to find out whether a work tree is dirty; more of them say so by themselves.
MAX_DIRTY_CHECKS = 200

# --- watching -----------------------------------------------------------------------------------------------------
MAX_PENDING_EVENTS = 10_000
MAX_WATCHED_FOLDERS = 50_000
WATCH_DEBOUNCE_MS = 20
# Everything below a watched root is compared again after this time: not every disk tells what changes on it.
WATCH_RECONCILE_SECONDS = 300.0
# Where others change files unheard, everything is compared after this time, and after ten times what that took.
WATCH_POLL_SECONDS = 5.0
# Roots that one server watches; more are compared when somebody asks.
MAX_WATCHED_ROOTS = 32
# Names that are looked at one by one; when more have changed, the whole tree is as quickly compared.
MAX_HINTED_FILES = 200

# --- indexing -----------------------------------------------------------------------------------------------------
# Text in one segment. A larger tree gets larger ones, so that it is read from a few: at most this many are aimed at.
BATCH_BYTES = 32 * MIB
MAX_BATCHES_AIMED_AT = 32
# Text in the first segment of a first index that is larger than one segment; each after it may hold twice as much.
FIRST_BATCH_BYTES = 2 * MIB
# Vectors are made for this much text at once: enough to be fast, little enough to be forgotten at once.
EMBED_GROUP_BYTES = 1 * MIB
# How often a tree that moves under a publish is looked at again, and the first wait (it doubles).
PUBLISH_ROUNDS = 5
PUBLISH_BACKOFF_SECONDS = 0.1
MAX_TREE_BYTES = 512 * MIB
# How often a run writes down how far it is, for `cairn status` of another process.
PROGRESS_SECONDS = 1.0

# --- worker processes ---------------------------------------------------------------------------------------------
# Below this many files a pool costs more than it saves (about 0.3 s to start two workers).
MIN_FILES_FOR_POOL = 150
FILES_PER_TASK = 32
# The last resort: the kernel kills a worker that spends more CPU than this on one file, which is then cut by lines.
WORKER_CPU_SECONDS_PER_FILE = 5.0
# On top of what a worker holds at its start (about 60 MiB), which keeps it below 512 MiB.
WORKER_MEMORY_BYTES = 440 * MIB
# In a server a worker waits so long for the next save before it leaves.
WORKER_IDLE_SECONDS = 60.0

# --- store defaults -----------------------------------------------------------------------------------------------
RETAIN_SNAPSHOTS_MIN = 5
# Kept in the folder of all stores for what frees room on a disk without a byte left.
RESERVE_BYTES = 256 * KIB
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
# A segment with this much text is not merged for its size alone; merged ones hold up to twice as much.
FULL_GROWN_TEXT_BYTES = 32 * MIB
# How much of all text may be dead before segments are written again for it.
COMPACTION_DEAD_SHARE = 0.1

# --- what all stores of a user share ------------------------------------------------------------------------------
EMBED_CACHE_BYTES = 512 * MIB
# A store that gave no answer for this long may be collected; readers write down that they were here once in an hour.
STORE_UNUSED_DAYS = 30
LAST_USED_SECONDS = 3_600

# --- a remote model -----------------------------------------------------------------------------------------------
MAX_EMBED_DIMENSION = 8_192
# Texts in one request, and their bytes. Each time the model has been given that many, a run shows that it lives.
MAX_EMBED_BATCH = 128
EMBED_BATCH = 64
EMBED_REQUEST_BYTES = 256 * KIB
# Of a text only this many tokens are sent: what the usual remote models read at most.
EMBED_MAX_TOKENS = 8_192
MAX_EMBED_TOKENS = 131_072
MAX_EMBED_PREFIX_CHARS = 1_000
# One answer, and all attempts of one call together: below the term of a lease, which nothing renews meanwhile.
EMBED_TIMEOUT_SECONDS = 30.0
EMBED_DEADLINE_SECONDS = 60.0
# Somebody waits for the answer to a query.
EMBED_QUERY_SECONDS = 10.0
EMBED_ATTEMPTS = 5
EMBED_BACKOFF_SECONDS = 0.5
# A server that has failed is not asked again before this has passed: hundreds of files would each wait for it.
EMBED_REST_SECONDS = 30.0

# --- what a file of a store may cost to read ----------------------------------------------------------------------
# A damaged or hostile store is refused by size before anything is parsed.
MAX_MANIFEST_BYTES = 4 * MIB
MAX_STATE_BYTES = 64 * KIB
MAX_DIGESTS_BYTES = 1 * MIB
MAX_TOMBSTONE_BYTES = 48 * MIB
MAX_TOMBSTONE_FILES = 256
MAX_DEGRADED_ERRORS = 10_000
# The system opens paths below 4 KiB; composing (NFC) can make one of them three times as long.
MAX_PATH_KEY_BYTES = 12 * KIB

# --- looking for a pattern ----------------------------------------------------------------------------------------
# A longer one is a mistake, and the cost of a search grows with it.
MAX_QUERY_PATTERN_BYTES = 16 * KIB
# What one compiled pattern may hold; beyond it matching stays linear but becomes slower.
PATTERN_MEMORY_BYTES = 32 * MIB
# Text that is searched in one step: between two steps the time is looked at.
SCAN_STEP_BYTES = 1 * MIB
MAX_SHOWN_LINE_CHARS = 500

# --- asking ---------------------------------------------------------------------------------------------------------
# Characters of a ranked query: nobody types more, and a pasted file is a mistake.
MAX_QUERY_CHARS = 4_096
MAX_CONTINUATION_CHARS = 512
DEFAULT_RESULTS = 10
MAX_RESULTS = 100
# Imports and uses of one definition that are listed at once; the next page has more.
DEFAULT_REFERENCES = 100
MAX_REFERENCES = 10_000
# Uses of one name that are looked at, each for about 0.1 ms, to find out what they mean; the rest are only counted.
MAX_USES_LOOKED_AT = 20_000
# Places of a name that are looked at for one page of uses, the nearest first; what the page then lacks is looked at in
# another step of so many. And those for the callers of one definition.
USES_LOOKED_AT = 500
CALLS_LOOKED_AT = 300
# Definitions in one call graph, each way; between them four times as many edges. Notes on what is not in it.
DEFAULT_GRAPH_NODES = 50
MAX_GRAPH_NODES = 500
GRAPH_EDGES_PER_NODE = 4
MAX_GRAPH_DEPTH = 3
DEFAULT_GRAPH_NOTES = 50
# A call in a graph is shown with so much of its line.
EDGE_TEXT_CHARS = 160
# Definitions whose calls are looked at for a way from one to another, or for the tests that reach one.
# Tests are looked for in so many steps.
MAX_ROUTE_LOOKED_AT = 600
# What these looks may cost together, counted in places that are bound.
MAX_ROUTE_COST = 400
MAX_TEST_STEPS = 6
# A definition that is used in so many files, and in such a share of those of its language, is a utility: it is listed
# last in a graph.
UTILITY_FILES = 12
UTILITY_SHARE = 0.03
MAX_GRAPH_NOTES = 1_000
# A line of a batch of questions: a question, its id and a number.
MAX_BATCH_LINE_BYTES = 64 * KIB
# Codebases that are searched as one.
MAX_CODEBASES = 8

# --- secrets in answers and on the way to a server ------------------------------------------------------------------
# A text with more secrets than this is hidden as a whole.
MAX_SECRETS = 2_000
# Places that are named when a store is not sent for the secrets in it.
MAX_SECRET_PLACES = 20

# --- before a search ------------------------------------------------------------------------------------------------
# A folder with more files than this is not indexed unasked: somebody is asked, or told what to run. The user's own
# settings change it (`ask_above`).
AUTO_INDEX_FILES = 20_000
MAX_ASK_ABOVE = 100_000_000
# How long a search waits for the files to be compared; what is there answers after that.
SYNC_BEFORE_SEARCH_SECONDS = 60.0
# With `--partial` and without a daemon a command works on a first index for so long, and answers from what is done.
PARTIAL_SECONDS = 5.0
# How long `cairn.open` waits for another process that indexes the folder for the first time.
OPEN_WAIT_SECONDS = 600.0
# How long a fork waits for questions of other threads; their locks would never be released in the child.
FORK_WAIT_SECONDS = 10.0
# A store that could not be read is tried again after this time; what was open answers meanwhile.
RECENT_SYNC_SECONDS = 60.0

# --- serving agents -------------------------------------------------------------------------------------------------
# Codebases that are kept open at once; the one that was asked longest ago is closed for another.
SERVE_SESSIONS = 16
# How long an agent's search waits for the files to be compared; the comparing goes on after that.
AGENT_SYNC_SECONDS = 0.3
# How long an agent's question waits for the files to be compared and for changed ones to be read; what is not known
# by then, the answer says.
AGENT_LOOK_SECONDS = 5.0
# Changed files that are read for one answer, and their bytes; for the others the snapshot answers, and that is said.
MAX_OVERLAY_FILES = 256
MAX_OVERLAY_BYTES = 8 * MIB
# After a comparison that failed, the next one is made so much later.
AGENT_RECENT_SECONDS = 1.0
# How long a call waits for a run that it has started; after that it tells how far the run is, and the run goes on.
AGENT_WAIT_SECONDS = 15.0
# Calls that one MCP server works on at once; more wait for their turn.
SERVE_CALLS = 8
# Runs of a server that read whole trees at once; more wait. A sync never waits: somebody who searches waits for it.
MAX_RUNS = 2
# One message of a client of MCP, how deep it may be nested, and the longest number in it.
MAX_MESSAGE_BYTES = 4 * MIB
MAX_MESSAGE_DEPTH = 64
MAX_NUMBER_CHARS = 400
# Sessions over HTTP that are open at once: the one that was used longest ago makes room. Unused, one ends by itself.
MAX_HTTP_SESSIONS = 100
HTTP_SESSION_SECONDS = 1_800.0
# In this time a request over HTTP must have come whole, and so long a connection may rest between two of them.
HTTP_REQUEST_SECONDS = 20.0
HTTP_IDLE_SECONDS = 30
# Connections over HTTP that are open at once, and of these such as have not sent a whole request yet.
MAX_HTTP_CONNECTIONS = 256
MAX_HTTP_STRANGERS = 64
AGENT_RESULTS = 8
# Definitions in the answer to a question in words: the first of them is shown with most lines.
AGENT_PLACES = 6
# Callers, callees and heirs of a definition that is explored, and tests that reach it.
EXPLORED_CALLS = 12
EXPLORED_TESTS = 8
AGENT_TOKENS = 1_500
MAX_AGENT_TOKENS = 100_000
# Definitions of one file in the answer to an agent.
AGENT_OUTLINE = 200
MAX_OUTLINE = 2_000

# Files that are checked together before an edit.
MAX_EDIT_FILES = 200

# Files that are left out of the index, and are read for a name before a rename: so many names below folders that are
# left out, so much of one file.
MAX_LEFT_OUT_NAMES = 20_000
MAX_LEFT_OUT_BYTES = 16 * MIB

# --- the daemon -----------------------------------------------------------------------------------------------------
# One frame each way, refused by the length it announces.
MAX_FRAME_REQUEST_BYTES = 1 * MIB
MAX_FRAME_RESPONSE_BYTES = 10 * MIB
# Requests that are worked on at once, of all clients and of one; the others wait.
DAEMON_CALLS = 8
DAEMON_CALLS_PER_CLIENT = 4
# Requests that wait, of all clients and of one; more are told to come again.
DAEMON_QUEUE = 512
DAEMON_QUEUE_PER_CLIENT = 128
DAEMON_CLIENTS = 256
# Longest time for one request, waiting included; a client may ask for less.
DAEMON_DEADLINE_SECONDS = 120.0
# Without a request and without a run for so long, it leaves.
DAEMON_IDLE_SECONDS = 1_800
MAX_DAEMON_IDLE_SECONDS = 604_800
# How long it finishes what it is doing once it is to leave.
DAEMON_DRAIN_SECONDS = 10.0
# How long a client waits for the hello of a daemon that is there, and for one that it has started to listen.
DAEMON_HELLO_SECONDS = 1.0
DAEMON_START_SECONDS = 3.0
# When it starts, it catches up with the codebases that were used within this time.
DAEMON_RECENT_SECONDS = 1_209_600
# Memory of its own (RssAnon) that it may hold. From this share on caches are shed.
DAEMON_MEMORY_MIB = 1_024
MAX_DAEMON_MEMORY_MIB = 65_536
DAEMON_SHED_SHARE = 0.8
# Fewer requests say nothing of how long one in twenty takes.
DAEMON_LEAST_TIMES = 20
DAEMON_LOG_BYTES = 5 * MIB
DAEMON_LOG_FILES = 3

# --- what is shown of a result ------------------------------------------------------------------------------------
SNIPPET_LINES = 12
# Lines of one file that are named where all that match are.
MAX_MATCH_LINES = 100
MAX_CONTEXT_LINES = 200
# Lines around each line that `cairn grep` prints.
MAX_GREP_LINES = 10_000

# --- a map of a codebase --------------------------------------------------------------------------------------------
# Tokens, as estimated. Below the least there is no room for more than the languages.
DEFAULT_MAP_TOKENS = 1_000
MIN_MAP_TOKENS = 128
MAX_MAP_TOKENS = 10_000
# Files that a query finds, from which a map is drawn then.
MAP_QUERY_FILES = 20
MAX_MAP_FOCUS = 100

# --- answers ------------------------------------------------------------------------------------------------------
DEFAULT_ENVELOPE_BYTES = 64 * KIB
MAX_ENVELOPE_BYTES = 1 * MIB

# --- which parts of a codebase an indexer understands, and what a run of one may take ---------------------------------
# A larger project file marks its folder, and is not read.
MAX_PROJECT_FILE_BYTES = 256 * KIB
MAX_WORKSPACE_MEMBERS = 1_000
MAX_CONTEXTS = 1_000
# Folders that an indexer of Python is told to look for modules in.
MAX_SOURCE_ROOTS = 32
# Defaults that the user's own settings change. Measured: 3,000 files of Python take 8 minutes of CPU and 4.2 GB.
INDEXER_SECONDS = 1_800
INDEXER_MEMORY_MIB = 6_144
MAX_INDEXER_SECONDS = 86_400
MAX_INDEXER_MEMORY_MIB = 1_048_576
# How often a run is looked at: its memory, and whether it is still wanted.
INDEXER_LOOK_SECONDS = 0.2
# What the files of a run may take, in a folder that is removed at its end, and how often that is looked at.
INDEXER_DISK_MIB = 16_384
INDEXER_DISK_LOOK_SECONDS = 2.0
MAX_INDEXER_DISK_MIB = 1_048_576
# What is kept of what an indexer prints, for the reason when it fails.
INDEXER_SAID_BYTES = 16 * KIB
# One that does not say its version in this time is taken for broken.
INDEXER_VERSION_SECONDS = 20.0
# What killed runs have left is removed after this time.
INDEXER_SCRATCH_SECONDS = 172_800

# --- what a semantic index may cost to read -----------------------------------------------------------------------
# An indexer wrote it, or somebody who wants to harm: it is refused by size before it is believed.
MAX_SCIP_BYTES = 1024 * MIB
MAX_SCIP_DOCUMENTS = 500_000
MAX_SCIP_OCCURRENCES = 1_000_000
MAX_SCIP_RELATIONSHIPS = 10_000
MAX_SCIP_TEXT_BYTES = 1 * MIB

# --- refreshing semantic facts --------------------------------------------------------------------------------------
# How long a writer waits for another one: to take in a large index takes about a minute.
SEMANTIC_WAIT_SECONDS = 120.0
# A job whose worker has not been heard of for this long is given to another; the worker speaks every few seconds.
JOB_LEASE_SECONDS = 120.0
JOB_HEARTBEAT_SECONDS = 5.0
# A job that was begun so often and never ended is given up.
JOB_ATTEMPTS = 3
# How often one command looks again for what has become stale by what it did, or was overtaken by a commit.
REFRESH_ROUNDS = 3
# Ended jobs of one context that are remembered.
JOBS_KEPT = 50
# Bytes of the line before and behind an occurrence that are kept to recognise its place.
ANCHOR_BYTES = 24

# --- settings of agents, which `cairn install` edits --------------------------------------------------------------
# Some agents keep their whole history in that file. TOML is read by a slower reader, and nobody keeps a history in it.
MAX_AGENT_SETTINGS_BYTES = 16 * MIB
MAX_AGENT_TOML_BYTES = 1 * MIB

# --- a compiler that judges a plan ------------------------------------------------------------------------------------
# A check is made unasked when it is expected to take no longer than this: two runs, each with its start and its bytes.
CHECK_EXPECTED_SECONDS = 60.0
CHECK_START_SECONDS = 4.0
CHECK_PYRIGHT_BYTES_PER_SECOND = 30 * KIB
CHECK_TSC_BYTES_PER_SECOND = 200 * KIB
CHECK_VET_BYTES_PER_SECOND = 500 * KIB
CHECK_SAID_BYTES = 8 * MIB

# --- what a change reaches --------------------------------------------------------------------------------------------
DEFAULT_IMPACT = 20
MAX_IMPACT = 500
DEFAULT_IMPACT_DEPTH = 2
# Names of changed definitions that are looked for in tests, and files of a difference whose definitions are compared.
MAX_IMPACT_NAMES = 200
MAX_IMPACT_FILES = 500

# --- edits of the tree ------------------------------------------------------------------------------------------------
# Edits that can be taken back, for each root; and bytes of all files of one of them, which are kept as they were.
EDITS_KEPT = 10
MAX_EDIT_BYTES = 256 * MIB

# --- a search server ------------------------------------------------------------------------------------------------
# Rows that the server names for a question; what may be among the best beside them is found out here.
ENGINE_CANDIDATES = 1_000
# Rows that are looked at here to know which nearness is nothing special.
ENGINE_SAMPLE = 65_536
# How long one call may take: a question, a write, and the barrier after which what was written lasts.
ENGINE_SEARCH_SECONDS = 2.0
ENGINE_WRITE_SECONDS = 30.0
ENGINE_FLUSH_SECONDS = 120.0
# Only what did not get through is tried again, after a wait that grows; and how often at most.
ENGINE_TRIES = 3
# A server that did not answer is not asked again so soon.
ENGINE_REST_SECONDS = 10.0
ENGINE_BACKOFF_SECONDS = 0.1
ENGINE_ROWS_PER_CALL = 500
# Bytes of a sealed file in one document, so that base64 of it stays below the 65,535 bytes of a text field.
ENGINE_PIECE_BYTES = 47 * KIB
ENGINE_PIECES_PER_CALL = 16
# From so many rows on the server's own index of vectors is an approximate one.
ENGINE_EXACT_ROWS = 1_000_000
