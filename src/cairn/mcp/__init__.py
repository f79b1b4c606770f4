"""The Model Context Protocol, over standard input or HTTP, for coding agents."""
