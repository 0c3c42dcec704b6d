"""Batches: creating, cutting into shards, experiment files, comparing and deleting."""
