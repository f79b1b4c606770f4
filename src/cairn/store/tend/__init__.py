"""How does a store stay small? Merge segments, collect old snapshots, rewrite old formats."""
