"""What is true? Everything that lasts is written here, and through one door: `fs.py`."""
