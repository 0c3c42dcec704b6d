"""Batches in progress: the embedded worker, progress, outages and status."""
