"""What Cairn is made of and how it is packed: the locks, the list of parts, the wheel."""
