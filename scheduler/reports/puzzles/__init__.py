"""Reports on puzzles: improper puzzles, solution counts and repairs."""
