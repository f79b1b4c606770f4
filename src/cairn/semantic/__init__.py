r"""What do compilers know of a codebase? Their indexers write it down, and it is read from there.

A context is a set of files that one run of an indexer understands together; `contexts.discover` finds the contexts of
a codebase. A refresh is a job (`jobs`): `worker.run_job` claims it, `running` runs the indexer that `tools.find_tool`
found, `scip` decodes what the indexer wrote, and `importing.import_index` puts it into the `database`. `facts` answers
for the files of a snapshot that are clean by `state`. `editing` says what may be edited and `rename` plans a rename;
`ambiguity` finds the places that a person must decide.

    >>> from cairn.semantic.contexts import discover
    >>> files = {"api/pyproject.toml": b"[project]", "api/app.py": b"", "web/package.json": b"{}", "web/a.ts": b""}
    >>> found = discover(files, files.get)
    >>> [(context.family.value, context.root) for context in found.contexts]
    [('python', 'api'), ('typescript', 'web')]
    >>> found.owner("api/app.py").root
    'api'
"""
