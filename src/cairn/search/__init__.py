"""What matches? Sees an engine over a pinned snapshot, and nothing below it."""
