r"""What has changed since the last look? File events are waited for, and syncs keep the indexes up to date.

`watcher.WatchedWorkspace` is the workspace of a server whose codebases are watched, and `watcher.Watching` watches
their roots. `event_loop.EventLoop` waits for the events of all roots in one thread, and
`pending_changes.PendingChanges` holds the changes of one root until a run takes them.

    >>> import os, pathlib
    >>> _ = pathlib.Path("ledger.py").write_text("def settle(account):\n    return account\n")

    >>> from cairn.ask.allowed import Allowed
    >>> from cairn.watch.watcher import WatchedWorkspace
    >>> root = os.getcwd()
    >>> workspace = WatchedWorkspace(os.environ, Allowed(os.environ, [root]), roots=[root], create=True)
    >>> workspace.watching.caught_up(root, seconds=300)
    True
    >>> list(workspace.watching.state()) == [root]
    True
    >>> workspace.close()
"""
