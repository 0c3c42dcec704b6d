"""Work on shards: the lease, the shift, and the way of results into the database."""
