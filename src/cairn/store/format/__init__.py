"""What do the bytes of a store mean? Write and read segments, manifests, tombstones and side files."""
