"""How good the answers are, measured where the right ones are known."""
