"""Names that a message carries. Queues hold messages of earlier releases: a name never changes."""

TASK = "cagematch.solve_shard"
