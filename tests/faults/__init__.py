"""The store under power cuts and failing disks: every step of every operation, and what is found afterwards."""
