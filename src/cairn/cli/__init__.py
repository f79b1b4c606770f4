r"""What does a person at a terminal ask? Here command lines are parsed, the work is called, and answers are printed.

`main.main` runs one command line and returns its exit status. `verbs.COMMANDS` is the table of verbs, with the module
of each; `options` turns the options of a question into those of argparse. `output.Output` prints: answers on stdout,
everything else on stderr. `commands.run_command` runs a command in the daemon for a person in another process. A module
holds a few verbs, each with `configure_NAME` for its options and `run_NAME` for its work.

    >>> import io, pathlib
    >>> _ = pathlib.Path("ledger.py").write_text("def settle(account):\n    return account\n")

    >>> from cairn.cli.main import main
    >>> from cairn.cli.output import Output
    >>> main(["index", "--quiet"], Output(stdout=io.StringIO()))
    0
    >>> main(["outline", "ledger.py"])
    ledger.py:1  def settle(account)  (function)
    0
    >>> said = io.StringIO()
    >>> main(["outline", "missing.py"], Output(stderr=said))
    15
    >>> said.getvalue().startswith("cairn: There is no file missing.py")
    True
"""
