"""The Celery queues: their names and pools, sending messages, and the gate for incoming ones."""
