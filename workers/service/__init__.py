"""The worker process: the Celery application, its tasks, its lifecycle and its supervision."""
