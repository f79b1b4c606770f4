"""How the bundled model is made: pairs from public repositories, a vocabulary, a table of vectors, and its measure."""
