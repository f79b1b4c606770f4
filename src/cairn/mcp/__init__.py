r"""How do coding agents reach the tools? Over the Model Context Protocol, on standard input or over HTTP.

`server.mcp_server` is the server for any transport; `stdio.serve_stdio` and `http.serve_http` run it. `messages`
reads what clients send. `calls` says who answers a call: `calls.ThroughDaemon` asks the daemon, and
`calls.InThisProcess` answers here when there is none. The answers are the same envelopes that every face gives.

    >>> import json, os, pathlib
    >>> _ = pathlib.Path("ledger.py").write_text("def settle(account):\n    return account\n")

    >>> from cairn.ask.allowed import Allowed
    >>> from cairn.ask.workspace import Workspace
    >>> from cairn.mcp.calls import InThisProcess
    >>> calls = InThisProcess(lambda: Workspace(os.environ, Allowed(os.environ, ["."])))
    >>> reply = calls.call("search_codebase", {"query": "settle"}, lambda _: None, lambda: False)
    >>> reply.failed, [hit["path"] for hit in json.loads(reply.text)["results"]]
    (False, ['ledger.py'])
    >>> calls.close()
"""
