"""Who is asking at a terminal? One module per verb group: parse, call, print."""
