"""Puzzles: kinds, problems, constraints and outcomes. This package imports the standard library only."""
