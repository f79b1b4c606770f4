"""How does work become the newest snapshot? The lease, staged batches, and the steps of a publish."""
