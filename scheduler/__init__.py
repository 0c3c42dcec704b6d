"""Deciding what to solve, and reporting the results."""
