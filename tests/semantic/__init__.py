"""Tests of cairn.semantic."""
