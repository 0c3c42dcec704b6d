"""The messages between worker, keeper and sandbox, and their encoding."""
