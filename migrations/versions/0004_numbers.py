"""A batch's number is given once: what was pruned leaves a gap on SQLite, too"""

from __future__ import annotations

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    _make_anew(numbered_once=True)


def downgrade() -> None:
    """Take back."""
    _make_anew(numbered_once=False)


def _make_anew(*, numbered_once: bool) -> None:
    """SQLite cannot alter how a table counts; PostgreSQL counts so by itself."""
    if op.get_context().dialect.name == "sqlite":
        how = {"sqlite_autoincrement": numbered_once}
        with op.batch_alter_table("batch", recreate="always", table_kwargs=how):
            pass
