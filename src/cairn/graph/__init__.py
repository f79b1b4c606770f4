"""What leads where: imports resolved to files, uses of names bound to definitions, each with how sure that is."""
