"""How coding agents come to know Cairn: what is written into their settings, and taken out again to the byte."""
