"""The Celery queues: names, pools, sending messages, and filtering incoming ones."""
