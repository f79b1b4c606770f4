r"""What is true? Everything that lasts is written here, and only through `disk.Disk`.

To write: `writer.open_writer` takes the lease and stages batches, `publish.publish` makes them the newest snapshot or
leaves everything as it was. To read: `snapshot.open_view` opens the newest snapshot that is whole; nothing that is
published or collected later changes an open view. To check: `verify` reads every byte again. The folder of a store is
described byte by byte in `docs/FORMAT.md`.

    >>> import os, pathlib
    >>> import cairn
    >>> _ = pathlib.Path("ledger.py").write_text("def settle(account):\n    return account\n\nsettle(1)\n")
    >>> cairn.open(".").close()

    >>> from cairn.store.disk import Disk
    >>> from cairn.store.snapshot import open_view
    >>> home = os.environ["CAIRN_HOME"]
    >>> [store] = os.listdir(f"{home}/data")
    >>> with Disk.at(home, f"data/{store}") as disk, open_view(disk, store) as view:
    ...     view.manifest.generation, list(view.paths()), view.counts().files
    ...     bytes(view.text("ledger.py"))[:20]
    (1, ['ledger.py'], 1)
    b'def settle(account):'
"""
