"""What an agent pays and gets with Cairn's tools, beside ripgrep and sed: `python -m bench.agents REPOSITORIES`.

`tasks.toml` holds questions with answers that were checked by hand. A fixed program (`grep`) plays each with ripgrep
and sed, another (`tools`) with a real `cairn mcp` over stdio. Counted are calls, the characters that come back, and the
precision and recall of the answer: of the whole, and of what the first call alone has said. Nothing here is clever, so
that both sides are read alike: what stands in an answer is taken for said, comments aside.
"""
