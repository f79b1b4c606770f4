"""Agents and other programs: the tools they call, and the codebases that are kept open for them."""
