"""The commands ``db upgrade`` and ``db check``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cagematch.scheduler.cli.output import notes, output

if TYPE_CHECKING:
    from cagematch.workers.connections import Connections

EXAMPLES = ("scheduler db upgrade", "scheduler db check")
UPGRADE_EXAMPLES = ("scheduler db upgrade",)
CHECK_EXAMPLES = ("scheduler db check",)


def upgrade() -> None:
    """Create the tables, or upgrade those of an older version.

    A database server needs this after each update of the program. An embedded database is upgraded automatically.
    """
    from cagematch.models.engine import open_engine
    from cagematch.models.schema import HEAD, SchemaState, require_current, schema_state
    from cagematch.workers.service.app import make_app
    from cagematch.workers.service.lifecycle import check_broker

    connections = _connections()
    engine = open_engine(connections.database)
    before = schema_state(engine)
    require_current(engine, upgrade_it=True)
    if not connections.embedded:
        check_broker(make_app(connections))
    state = "is up to date" if before is SchemaState.CURRENT else "was upgraded"
    output().print(f"the database {state} (version {HEAD})")


def check() -> None:
    """Check the version of the database without changing it.

    The exit code is 2 when the version differs from the version of this program.
    """
    from cagematch.models.engine import open_engine
    from cagematch.models.schema import HEAD, require_current

    require_current(open_engine(_connections().database), upgrade_it=False)
    output().print(f"the database has the version of this program ({HEAD})")


def _connections() -> Connections:
    """Find the connections and print them."""
    from cagematch.workers.connections import find_connections

    connections = find_connections()
    notes().print(str(connections), style="dim")
    return connections
