"""Keep the copy of a store on the user's search server: send it, prove it, sweep it and bring it back."""
