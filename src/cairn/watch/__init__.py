"""Keeping indexes up with their files: waiting for events of the file system and starting syncs."""
