"""Settings of coding agents: finding them, adding Cairn to them, taking it back to the byte."""
