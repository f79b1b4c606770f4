r"""What can an agent call? A table of tools with their arguments, and the functions that answer.

`table.TOOLS` lists the tools, and `table.call` answers a call with an envelope, whatever goes wrong. `arguments` makes
the schema of a tool from its options and checks arguments against it. The tools of `reading` cannot write; those of
`searching` may index first, and `managing` starts runs.

    >>> import os, pathlib
    >>> _ = pathlib.Path("ledger.py").write_text("def settle(account):\n    return account\n")

    >>> from cairn.ask.allowed import Allowed
    >>> from cairn.ask.workspace import Workspace
    >>> from cairn.tools.table import call
    >>> workspace = Workspace(os.environ, Allowed(os.environ, ["."]))
    >>> call(workspace, "manage_index", {"action": "create"}).status.value
    'ok'
    >>> call(workspace, "file_outline", {"file": 3}).status.value
    'error'
    >>> workspace.close()
"""
