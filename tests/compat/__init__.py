"""Stores of every format that was ever released, and what must be read in them."""
