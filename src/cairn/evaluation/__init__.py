"""How good the results are, measured by questions whose right answers are known."""
