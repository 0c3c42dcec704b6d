"""Shifts with the conditions of their hosts; permutations, priorities and repeated batches"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

COLUMNS = ("taken", "permuted", "priority", "again")


def upgrade() -> None:
    """Apply. Earlier runs have no shift, as the conditions of their hosts were not recorded."""
    op.add_column("batch", sa.Column("taken", sa.Integer(), nullable=True))
    op.add_column("batch", sa.Column("permuted", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.add_column("batch", sa.Column("priority", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("batch", sa.Column("again", sa.Integer(), nullable=True))
    op.create_table(
        "shift",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("batch_id", sa.Integer(), nullable=False),
        sa.Column("worker_id", sa.Integer(), nullable=False),
        sa.Column("began_at", sa.Double(), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=True),
        sa.Column("steal", sa.Double(), nullable=True),
        sa.Column("pressure", sa.Double(), nullable=True),
        sa.Column("load", sa.Double(), nullable=True),
        sa.Column("oversubscribed", sa.Boolean(), nullable=True),
        sa.Column("reference_s", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(["batch_id"], ["batch.id"], name=op.f("fk_shift_batch_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["worker_id"], ["worker.id"], name=op.f("fk_shift_worker_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_shift")),
    )
    op.create_index(op.f("ix_shift_batch_id"), "shift", ["batch_id"])
    # Finds the puzzles that no batch uses.
    op.create_index(op.f("ix_batch_puzzle_puzzle_id"), "batch_puzzle", ["puzzle_id"])
    op.add_column("run", sa.Column("shift_id", sa.Integer(), nullable=True))


def downgrade() -> None:
    """Revert."""
    op.drop_column("run", "shift_id")
    op.drop_index(op.f("ix_batch_puzzle_puzzle_id"), table_name="batch_puzzle")
    op.drop_table("shift")
    for name in reversed(COLUMNS):
        op.drop_column("batch", name)
