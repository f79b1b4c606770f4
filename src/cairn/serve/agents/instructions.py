"""What an agent is taught about Cairn: when to use which tool, in a few lines."""

from __future__ import annotations

INSTRUCTIONS = """\
## Finding code: use the `cairn` tools

The MCP server `cairn` keeps an index of this code that is brought up to date before every search.

- To find code whose place you do not know, call `search_codebase` first, with words or a question; do not read files
  one after the other. With `mode` `regex` every indexed file is looked at: what is not found is not there.
- To find a definition by its name, call `find_symbol`; to see what a long file defines, `file_outline`.
- Before you change a function, call `call_graph` to see who calls it; each edge says how sure it is.
- In a codebase that is new to you, begin with `repo_map`.
- `read_file` shows lines as they were indexed; read the file itself before you edit it.
- `not_ready` means that the first index is being made: wait `retryAfterMs`, then ask again. With `requires_reindex` or
  `not_indexed`, do what `hints` says; ask the user before you clear or rebuild anything.
- Files that are ignored, binary or secret are not in the index: use other tools for those.
"""
