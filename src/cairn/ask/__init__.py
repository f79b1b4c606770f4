"""One way to an answer: which codebase is meant, how fresh its index is, which question is put, what comes of it.

Every face (command line, Python, agents, daemon) asks here and renders with `cairn.answer`.
"""
