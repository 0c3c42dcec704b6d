"""Descriptions of puzzles, runs, solvers and model sizes."""
