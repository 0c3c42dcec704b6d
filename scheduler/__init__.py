"""Deciding what to solve, and telling what happened."""
