"""Tests of what Cairn writes into the settings of agents."""
