"""One process for each user that keeps codebases open: the wire, who is served next, and where it is done."""
