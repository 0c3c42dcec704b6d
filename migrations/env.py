"""Alembic's entry: runs the migrations on the engine that `models.schema` hands over."""

from __future__ import annotations

from alembic import context
from sqlalchemy import Engine

from models import Base


def run(engine: Engine, version_table: str) -> None:
    """Run in one transaction. On SQLite foreign keys are off meanwhile, and checked after."""
    sqlite = engine.dialect.name == "sqlite"
    with engine.connect() as connection:
        if sqlite:
            connection.connection.execute("PRAGMA foreign_keys=OFF")  # type: ignore[attr-defined]
        context.configure(
            connection=connection,
            target_metadata=Base.metadata,
            version_table=version_table,
            render_as_batch=sqlite,
            transaction_per_migration=False,
        )
        with context.begin_transaction():
            if engine.dialect.name == "postgresql":  # two upgrades at once: the second waits, then finds it done
                connection.exec_driver_sql("SELECT pg_advisory_xact_lock(723480615)")
            context.run_migrations()
            if sqlite and (broken := connection.exec_driver_sql("PRAGMA foreign_key_check").fetchall()):
                raise RuntimeError(f"the migration left broken references: {broken[:5]}")
        if sqlite:
            connection.connection.execute("PRAGMA foreign_keys=ON")  # type: ignore[attr-defined]


run(context.config.attributes["engine"], context.config.attributes["version_table"])
