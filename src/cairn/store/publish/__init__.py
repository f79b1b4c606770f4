"""How does work become the newest snapshot? Take the lease, stage batches, and publish them step by step."""
