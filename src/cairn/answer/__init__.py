"""What may we say? The only builders of a response live here."""
