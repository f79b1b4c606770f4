"""Tests of cairn.graph."""
