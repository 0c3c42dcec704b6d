"""Names in messages. Queues may hold messages of earlier releases, so a name never changes."""

TASK = "cagematch.solve_shard"
