r"""What may be said? This package is the only builder of responses: values in, a bounded `Envelope` of JSON out.

`envelope.ok` and `envelope.error` build every response, and `envelope.fit` cuts lists at whole items. `search` and
`structure` render answers about the code, `semantic` answers about what indexers know, `gate` the answer of a closed
gate. `runs`, `stores` and `machine` render reports about indexes, stores and the machine. The package opens no
index; the JSON Schemas of all envelopes are in `schemas`.

    >>> import json, os, pathlib
    >>> _ = pathlib.Path("ledger.py").write_text("def settle(account):\n    return account\n")

    >>> from cairn.answer.structure import outline_answer
    >>> from cairn.ask.prepare import AS_IT_IS, Policy, prepare
    >>> from cairn.ask.session import Session, whole
    >>> from cairn.ask.structure import asked_of, file_outline
    >>> def outline(policy):
    ...     with Session(whole(".", os.environ), os.environ) as session:
    ...         prepare(session, policy)
    ...         return outline_answer(file_outline(session, asked_of("ledger.py", session.root)))
    >>> closed = json.loads(outline(AS_IT_IS).to_json())
    >>> closed["schema"], closed["status"], closed["reason"]
    ('cairn.outline/1', 'not_indexed', 'not_indexed')
    >>> told = json.loads(outline(Policy()).to_json())
    >>> told["status"], [(row["kind"], row["symbol"]) for row in told["results"]]
    ('ok', [('function', 'settle')])
"""
