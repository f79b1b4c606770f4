"""The copy of a store on the user's search server: sent, proven, swept and brought back."""
