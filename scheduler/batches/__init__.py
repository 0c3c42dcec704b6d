"""Batches: creation, lookup, state transitions, shards, puzzle sets, experiment files, comparison and deletion."""
