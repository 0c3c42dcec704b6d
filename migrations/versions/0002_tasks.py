"""Results of the tasks unique, count and repair"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

COLUMNS = (
    ("second", sa.Text()),
    ("complete", sa.Boolean()),
    ("changes", sa.Integer()),
    ("verified", sa.Integer()),
)
OF_A_BATCH = ("run", "shard", "batch_puzzle", "batch_set", "batch_configuration")


def upgrade() -> None:
    """Apply. All earlier runs have the task solve."""
    op.add_column("batch", sa.Column("bound", sa.Integer(), nullable=True))
    for name, kind in COLUMNS:
        op.add_column("run", sa.Column(name, kind, nullable=True))
    op.execute("UPDATE run SET verified = CASE WHEN holds THEN 1 ELSE 0 END WHERE holds IS NOT NULL")
    op.create_index("ix_run_puzzle_id_verified", "run", ["puzzle_id", "verified"])
    op.drop_index("ix_run_puzzle_id_holds", table_name="run")


def downgrade() -> None:
    """Revert. Delete the batches of other tasks, which the old schema cannot tell apart from the task solve."""
    for table in OF_A_BATCH:
        op.execute(f"DELETE FROM {table} WHERE batch_id IN (SELECT id FROM batch WHERE task <> 'solve')")  # noqa: S608
    op.execute("DELETE FROM batch WHERE task <> 'solve'")
    op.create_index("ix_run_puzzle_id_holds", "run", ["puzzle_id", "holds"])
    op.drop_index("ix_run_puzzle_id_verified", table_name="run")
    for name, _ in reversed(COLUMNS):
        op.drop_column("run", name)
    op.drop_column("batch", "bound")
