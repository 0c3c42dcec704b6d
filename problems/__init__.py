"""What a puzzle is: kinds, problems, constraints and outcomes. Standard library only."""
