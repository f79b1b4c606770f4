"""What do the bytes of a store mean? How segments, manifests, tombstones and side files are written and read."""
