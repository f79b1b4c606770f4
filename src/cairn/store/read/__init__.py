"""What does a snapshot say? The newest one that is whole, opened for reading; only what is live is given out."""
