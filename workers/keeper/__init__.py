"""The keeper: the process that owns the sandboxes, cores and limits of one slot."""
