"""What is on disk, and what changed? Reads the tree; never writes anywhere."""
