# The front door; `run.py` does the work and needs only Python and pip.

# linters, types and the fast tests
default: test

test *ARGS:
    python3 run.py test {{ARGS}}

# the long suites
faults *ARGS:
    python3 run.py faults {{ARGS}}

# speed, as ratios
bench *ARGS:
    python3 run.py bench {{ARGS}}

# make every generated page anew, and the site of the documentation in site/
docs:
    .venv/bin/python -m tests.conformance_report --write
    .venv/bin/python -m tests.docs.tables --write
    .venv/bin/python -m mkdocs build --strict

# show the site of the documentation on this machine, while you write it
site:
    .venv/bin/python -m mkdocs serve

# write the golden files anew; read the difference before you commit it
golden *ARGS:
    CAIRN_UPDATE_GOLDEN=1 python3 run.py test tests/core/test_limits.py tests/answer tests/syntax tests/graph/test_golden_graphs.py tests/mcp/test_server.py {{ARGS}}

# sort imports, format
fix:
    .venv/bin/ruff check --fix .
    .venv/bin/ruff format .

# does every committed mutant die?
mutants *WORDS:
    .venv/bin/python -m tests.mutants.run {{WORDS}}

# exactly what the change gate runs
ci:
    .ci/run
