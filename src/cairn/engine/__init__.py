"""Where are a published segment's rows searched? On this machine, from the memory-mapped files."""
