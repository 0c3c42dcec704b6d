"""The core speed probe of each run, and an index on the worker of a shift"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.add_column("run", sa.Column("reference_s", sa.Double(), nullable=True))
    op.create_index(op.f("ix_shift_worker_id"), "shift", ["worker_id"])


def downgrade() -> None:
    """Revert."""
    op.drop_index(op.f("ix_shift_worker_id"), "shift")
    op.drop_column("run", "reference_s")
