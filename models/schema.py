"""Whether a database is ours and up to date, and bringing it there."""

from __future__ import annotations

from enum import StrEnum
from importlib.util import find_spec

from sqlalchemy import Engine, inspect, text
from sqlalchemy.exc import DatabaseError

from cagematch.models.engine import reading
from cagematch.problems.errors import SchemaError

VERSION_TABLE = "cagematch_version"
REVISIONS = ("0001", "0002", "0003", "0004", "0005")  # oldest first; the migrations' own names
HEAD = REVISIONS[-1]


class SchemaState(StrEnum):
    """What was found in a database."""

    EMPTY = "empty"
    CURRENT = "current"
    OLDER = "older"
    NEWER = "newer"
    FOREIGN = "foreign"


def schema_state(engine: Engine) -> SchemaState:
    """Look, without touching anything."""
    try:
        with reading(engine) as connection:
            tables = inspect(connection).get_table_names()
            if VERSION_TABLE not in tables:
                return SchemaState.FOREIGN if tables else SchemaState.EMPTY
            found = connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()  # noqa: S608
    except DatabaseError as error:
        if "file is not a database" in str(error):
            return SchemaState.FOREIGN
        raise
    if found is None:
        return SchemaState.EMPTY
    if found == HEAD:
        return SchemaState.CURRENT
    return SchemaState.OLDER if found in REVISIONS else SchemaState.NEWER


def require_current(engine: Engine, *, upgrade_it: bool) -> None:
    """Make sure of a database of this program's version, bringing an embedded one up to date.

    Raises SchemaError, with what to do, for any other.
    """
    where = engine.url.render_as_string(hide_password=True)
    state = schema_state(engine)
    if state is SchemaState.CURRENT:
        return
    if state is SchemaState.NEWER:
        raise SchemaError(f"{where} was made by a newer Cagematch than this one; upgrade the program")
    if state is SchemaState.FOREIGN:
        raise SchemaError(f"{where} is not Cagematch's, and not empty: it was left alone. Name an empty database")
    if not upgrade_it:
        found = "is empty" if state is SchemaState.EMPTY else "is of an older version"
        raise SchemaError(f"{where} {found}; run `scheduler db upgrade` first")
    upgrade(engine)


def upgrade(engine: Engine, revision: str = "head") -> None:
    """Run the migrations up to ``revision``."""
    _alembic("upgrade", engine, revision)


def downgrade(engine: Engine, revision: str) -> None:
    """Run the migrations back to ``revision`` (``base`` for an empty database)."""
    _alembic("downgrade", engine, revision)


def _alembic(command: str, engine: Engine, revision: str) -> None:
    import alembic.command
    from alembic.config import Config

    package = find_spec("cagematch.migrations")
    if package is None or not package.submodule_search_locations:
        raise SchemaError("the migrations are missing from this installation")
    config = Config()
    config.set_main_option("script_location", package.submodule_search_locations[0].replace("%", "%%"))
    config.attributes["engine"] = engine
    config.attributes["version_table"] = VERSION_TABLE
    getattr(alembic.command, command)(config, revision)
