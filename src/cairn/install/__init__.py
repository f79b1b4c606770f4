r"""How does a coding agent learn of Cairn? An entry in its settings, which can be taken back to the byte.

`registrar.Registrar` is the way in: it finds agents, plans changes and carries them out, with a `record` of what was
written. `known.agents` is the table of agents, `plans` computes what would change in each file, `edits` and `texts`
change a text and nothing else in it, and `files` is the only door to the files of the user.

    >>> import os, pathlib
    >>> settings = pathlib.Path(".cursor/mcp.json")
    >>> settings.parent.mkdir()
    >>> _ = settings.write_text('{"mcpServers": {}}')

    >>> from cairn.install.registrar import Registrar
    >>> registrar = Registrar({**os.environ, "HOME": os.getcwd()})
    >>> cursor = registrar.agents["cursor"]
    >>> [registrar.write(change).outcome.value for change in registrar.install([cursor])]
    ['added']
    >>> "cairn" in settings.read_text()
    True
    >>> [registrar.write(change).outcome.value for change in registrar.uninstall([cursor])]
    ['removed']
    >>> settings.read_text()
    '{"mcpServers": {}}'
"""
