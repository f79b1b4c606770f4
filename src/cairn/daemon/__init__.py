r"""Who answers faster than a new process? The daemon: one process for each user that keeps codebases open.

`client.ensure_daemon` connects to the daemon, and starts it if needed; `client.stop_daemon` ends it. On the daemon's
side `process.Daemon` accepts clients, `connection` reads what each sends, `dispatcher` decides about every message,
`admission` queues requests, and `executor` answers them from open codebases. `frames` is the wire between both sides,
`requests` checks what a client may ask, and `address` finds the socket. `memory` and `logs` keep the process small and
its log free of what was asked.

    >>> import socket
    >>> from cairn.daemon.frames import receive, send
    >>> from cairn.daemon.requests import request_of
    >>> client, daemon = socket.socketpair()
    >>> send(client, {"id": 7, "tool": {"name": "list_codebases"}, "deadlineMs": 2000})
    >>> request_of(receive(daemon))
    Request(number=7, kind='tool', body={'name': 'list_codebases'}, seconds=2.0)
    >>> client.close(), daemon.close()
    (None, None)
"""
