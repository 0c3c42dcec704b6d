"""Do not reuse the numbers of pruned batches on SQLite"""

from __future__ import annotations

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    _recreate(numbered_once=True)


def downgrade() -> None:
    """Revert."""
    _recreate(numbered_once=False)


def _recreate(*, numbered_once: bool) -> None:
    """Recreate the table on SQLite, which cannot alter its numbering. PostgreSQL never reuses numbers."""
    if op.get_context().dialect.name == "sqlite":
        options = {"sqlite_autoincrement": numbered_once}
        with op.batch_alter_table("batch", recreate="always", table_kwargs=options):
            pass
