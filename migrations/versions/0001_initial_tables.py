"""The initial tables"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

WORD = 64
BIG_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
# In the order of removal: a table is dropped before the tables that it refers to.
TABLES = (
    "run",
    "shard",
    "worker",
    "host",
    "lease",
    "batch_puzzle",
    "batch_set",
    "batch_configuration",
    "batch",
    "configuration",
    "size",
    "set_entry",
    "puzzle_set",
    "puzzle",
)


def upgrade() -> None:
    """Apply."""
    _puzzles()
    _fleet()
    _batches()
    _shards()
    _runs()


def downgrade() -> None:
    """Revert. Dropping a table drops its indexes."""
    for table in TABLES:
        op.drop_table(table)


def _choice(name: str, *values: str) -> sa.Enum:
    return sa.Enum(*values, name=name, native_enum=False, create_constraint=True, length=16)


def _refers(table: str, column: str, to: str, ondelete: str | None = None) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], [f"{to}.id"], name=op.f(f"fk_{table}_{column}"), ondelete=ondelete)


def _puzzles() -> None:
    op.create_table(
        "puzzle",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(WORD), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("fingerprint", sa.LargeBinary(32), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_puzzle")),
        sa.UniqueConstraint("fingerprint", name=op.f("uq_puzzle_fingerprint")),
    )
    op.create_table(
        "puzzle_set",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("digest", sa.String(WORD), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("ready", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_puzzle_set")),
        sa.UniqueConstraint("name", "digest", name=op.f("uq_puzzle_set_name_digest")),
    )
    op.create_table(
        "set_entry",
        sa.Column("set_id", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("puzzle_id", sa.Integer(), nullable=False),
        sa.Column("line", sa.Integer(), nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        _refers("set_entry", "puzzle_id", "puzzle"),
        _refers("set_entry", "set_id", "puzzle_set", "CASCADE"),
        sa.PrimaryKeyConstraint("set_id", "position", name=op.f("pk_set_entry")),
    )
    op.create_index(op.f("ix_set_entry_puzzle_id"), "set_entry", ["puzzle_id"])


def _fleet() -> None:
    op.create_table(
        "host",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("digest", sa.String(WORD), nullable=False),
        sa.Column("facts", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_host")),
        sa.UniqueConstraint("digest", name=op.f("uq_host_digest")),
    )
    op.create_table(
        "worker",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("host_id", sa.Integer(), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("program", sa.String(WORD), nullable=False),
        sa.Column("queues", sa.JSON(), nullable=False),
        sa.Column("versions", sa.JSON(), nullable=False),
        sa.Column("slots", sa.Integer(), nullable=False),
        sa.Column("schema", sa.String(WORD), nullable=False),
        sa.Column("reference_s", sa.Double(), nullable=False),
        sa.Column("started_at", sa.Double(), nullable=False),
        sa.Column("heartbeat_at", sa.Double(), nullable=False),
        sa.Column("stopped_at", sa.Double(), nullable=True),
        _refers("worker", "host_id", "host"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_worker")),
    )
    op.create_table(
        "lease",
        sa.Column("duty", sa.String(WORD), nullable=False),
        sa.Column("owner", sa.String(WORD), nullable=False),
        sa.Column("expires_at", sa.Double(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("duty", name=op.f("pk_lease")),
    )


def _batches() -> None:
    op.create_table(
        "configuration",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("expanded", sa.Text(), nullable=False),
        sa.Column("backend", sa.String(WORD), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_configuration")),
        sa.UniqueConstraint("text", name=op.f("uq_configuration_text")),
    )
    op.create_table(
        "batch",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=True),
        sa.Column("state", _choice("batchstate", "loading", "active", "done", "cancelled"), nullable=False),
        sa.Column("task", sa.String(WORD), nullable=False),
        sa.Column("timeout_s", sa.Double(), nullable=False),
        sa.Column("memory_mib", sa.Integer(), nullable=False),
        sa.Column("repeats", sa.Integer(), nullable=False),
        sa.Column("seed", sa.Integer(), nullable=False),
        sa.Column("puzzles", sa.Integer(), nullable=False),
        sa.Column("versions", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("finished_at", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_batch")),
        sa.UniqueConstraint("name", name=op.f("uq_batch_name")),
    )
    for other, to in (("set", "puzzle_set"), ("configuration", "configuration")):
        table, column = f"batch_{other}", f"{other}_id"
        op.create_table(
            table,
            sa.Column("batch_id", sa.Integer(), nullable=False),
            sa.Column(column, sa.Integer(), nullable=False),
            sa.Column("position", sa.Integer(), nullable=False),
            _refers(table, "batch_id", "batch", "CASCADE"),
            _refers(table, column, to),
            sa.PrimaryKeyConstraint("batch_id", column, name=op.f(f"pk_{table}")),
        )


def _shards() -> None:
    op.create_table(
        "batch_puzzle",
        sa.Column("batch_id", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("puzzle_id", sa.Integer(), nullable=False),
        _refers("batch_puzzle", "batch_id", "batch", "CASCADE"),
        _refers("batch_puzzle", "puzzle_id", "puzzle"),
        sa.PrimaryKeyConstraint("batch_id", "position", name=op.f("pk_batch_puzzle")),
    )
    op.create_table(
        "shard",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("batch_id", sa.Integer(), nullable=False),
        sa.Column("configuration_id", sa.Integer(), nullable=False),
        sa.Column("queue", sa.String(WORD), nullable=False),
        sa.Column("state", _choice("shardstate", "waiting", "queued", "leased", "done", "cancelled"), nullable=False),
        sa.Column("start", sa.Integer(), nullable=False),
        sa.Column("stop", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("claimed_at_position", sa.Integer(), nullable=False),
        sa.Column("marked", sa.Integer(), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("sent_at", sa.Double(), nullable=True),
        sa.Column("lease_owner", sa.Integer(), nullable=True),
        sa.Column("lease_token", sa.String(WORD), nullable=True),
        sa.Column("lease_expires_at", sa.Double(), nullable=True),
        sa.CheckConstraint("start <= position AND position <= stop", name=op.f("ck_shard_position")),
        _refers("shard", "batch_id", "batch", "CASCADE"),
        _refers("shard", "configuration_id", "configuration"),
        _refers("shard", "lease_owner", "worker"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_shard")),
    )
    columns = ["batch_id", "state", "queue", "position", "configuration_id"]
    op.create_index("ix_shard_batch_id_state_queue_position", "shard", columns)
    op.create_index("ix_shard_state_queue", "shard", ["state", "queue"])


def _runs() -> None:
    op.create_table(
        "size",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("variables", sa.Integer(), nullable=False),
        sa.Column("constraints", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_size")),
        sa.UniqueConstraint("text", name=op.f("uq_size_text")),
    )
    once = ("batch_id", "configuration_id", "puzzle_id", "repeat")
    op.create_table(
        "run",
        sa.Column("id", BIG_ID, nullable=False),
        *_columns_of_a_run(),
        _refers("run", "batch_id", "batch", "CASCADE"),
        _refers("run", "configuration_id", "configuration"),
        _refers("run", "puzzle_id", "puzzle"),
        _refers("run", "size_id", "size"),
        _refers("run", "worker_id", "worker"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_run")),
        sa.UniqueConstraint(*once, name=op.f("uq_run_" + "_".join(once))),
    )
    op.create_index("ix_run_puzzle_id_holds", "run", ["puzzle_id", "holds"])


def _columns_of_a_run() -> list[sa.Column[object]]:
    stops = ("finished", "timeout", "memout", "crashed", "unsupported", "error")
    return [
        sa.Column("batch_id", sa.Integer(), nullable=False),
        sa.Column("configuration_id", sa.Integer(), nullable=False),
        sa.Column("puzzle_id", sa.Integer(), nullable=False),
        sa.Column("repeat", sa.Integer(), nullable=False),
        sa.Column("seed", sa.Integer(), nullable=False),
        sa.Column("answer", _choice("answer", "solution", "none", "unknown"), nullable=False),
        sa.Column("stop", _choice("stop", *stops), nullable=False),
        sa.Column("holds", sa.Boolean(), nullable=True),
        sa.Column("solution", sa.Text(), nullable=True),
        sa.Column("count", sa.BigInteger(), nullable=True),
        sa.Column("build_s", sa.Double(), nullable=True),
        sa.Column("solve_s", sa.Double(), nullable=True),
        sa.Column("wall_s", sa.Double(), nullable=False),
        sa.Column("cpu_s", sa.Double(), nullable=True),
        sa.Column("baseline_mib", sa.Double(), nullable=True),
        sa.Column("peak_mib", sa.Double(), nullable=True),
        sa.Column("size_id", sa.Integer(), nullable=True),
        sa.Column("counters", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("signal", sa.Integer(), nullable=True),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("threads", sa.Integer(), nullable=False),
        sa.Column("cores", sa.Text(), nullable=False),
        sa.Column("worker_id", sa.Integer(), nullable=False),
        sa.Column("finished_at", sa.Double(), nullable=False),
    ]
