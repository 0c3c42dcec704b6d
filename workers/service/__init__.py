"""The worker process: the Celery application, its task, its lifecycle and its supervisor."""
