"""The fixtures of rooms that serve."""

from tests.support.serving import agent, indexed, no_thread_left, parsed_here

__all__ = ["agent", "indexed", "no_thread_left", "parsed_here"]
