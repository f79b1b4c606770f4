"""What does a snapshot say? Open the newest whole snapshot for reading, and give out only what is live."""
