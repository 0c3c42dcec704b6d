"""Commands for workers, backends and the database."""
