"""The tools that agents call: a table of names and arguments, and the functions that answer."""
