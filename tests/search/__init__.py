"""Tests of cairn.search."""
