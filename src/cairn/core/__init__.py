"""What all rooms mean by the same words: types, limits, the clock, settings, fingerprints, tokens."""
