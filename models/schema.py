"""The state of a database's schema, and its migrations."""

from __future__ import annotations

from enum import StrEnum
from importlib.util import find_spec

from sqlalchemy import Engine, inspect, text
from sqlalchemy.exc import DatabaseError

from cagematch.models.engine import reading
from cagematch.problems.errors import SchemaError

VERSION_TABLE = "cagematch_version"
REVISIONS = ("0001", "0002", "0003", "0004", "0005")  # the revisions of migrations/versions, oldest first
HEAD = REVISIONS[-1]


class SchemaState(StrEnum):
    """The state of a database's schema.

    ``foreign``: the database contains tables of another program, or the file is not a database.
    """

    EMPTY = "empty"
    CURRENT = "current"
    OLDER = "older"
    NEWER = "newer"
    FOREIGN = "foreign"


def schema_state(engine: Engine) -> SchemaState:
    """Return the state of a database's schema, without changing anything.

    Raises
    ------
    sqlalchemy.exc.DatabaseError
        The database is unreachable, or does not permit reading.
    """
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
    """Require a database with this program's schema version.

    Parameters
    ----------
    engine
        The database.
    upgrade_it
        Whether to migrate an empty or older database, as is done for embedded ones.

    Raises
    ------
    SchemaError
        The schema has another version, or is not Cagematch's.
    """
    where = engine.url.render_as_string(hide_password=True)
    state = schema_state(engine)
    if state is SchemaState.CURRENT:
        return
    if state is SchemaState.NEWER:
        raise SchemaError(f"{where} was created by a newer Cagematch, expected version {HEAD}; upgrade Cagematch")
    if state is SchemaState.FOREIGN:
        raise SchemaError(
            f"{where} belongs to another program and was not changed; "
            "expected an empty database, or one that Cagematch created. Check CAGEMATCH_DATABASE_URL"
        )
    if not upgrade_it:
        found = "is empty" if state is SchemaState.EMPTY else "has an older schema version"
        raise SchemaError(f"{where} {found}, expected version {HEAD}; run `scheduler db upgrade`")
    upgrade(engine)


def upgrade(engine: Engine, revision: str = "head") -> None:
    """Run the migrations up to ``revision``; see `migrations.env` for what they raise."""
    _alembic("upgrade", engine, revision)


def downgrade(engine: Engine, revision: str) -> None:
    """Run the migrations back to ``revision`` (``base`` for an empty database)."""
    _alembic("downgrade", engine, revision)


def _alembic(command: str, engine: Engine, revision: str) -> None:
    import alembic.command
    from alembic.config import Config

    package = find_spec("cagematch.migrations")
    if package is None or not package.submodule_search_locations:
        raise SchemaError("the package cagematch.migrations is missing from this installation; reinstall Cagematch")
    config = Config()
    config.set_main_option("script_location", package.submodule_search_locations[0].replace("%", "%%"))
    config.attributes["engine"] = engine
    config.attributes["version_table"] = VERSION_TABLE
    getattr(alembic.command, command)(config, revision)
