"""How does a store stay small? Segments are merged, old snapshots collected, old formats rewritten."""
