"""The declarative base, the column types, and the clock of the database."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from sqlalchemy import BigInteger, Dialect, Double, Enum, Integer, MetaData, String, Text, TypeDecorator
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import DeclarativeBase, mapped_column
from sqlalchemy.sql.functions import FunctionElement

NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s",
    "pk": "pk_%(table_name)s",
}


class Base(DeclarativeBase):
    """The base class of all tables. Constraints have names, so that migrations can refer to them."""

    metadata = MetaData(naming_convention=NAMES)


class LimitedText(TypeDecorator[str]):
    """Text from files and solvers, in which characters that a database cannot store are escaped.

    PostgreSQL rejects NUL characters. UTF-8 cannot encode lone surrogates, which Python uses for undecodable bytes of
    file names.
    """

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002 - the library's
        """Escape NUL characters and lone surrogates."""
        if value is None or (value.isascii() and "\0" not in value):
            return value
        return value.replace("\0", "\\0").encode("utf-8", "backslashreplace").decode("utf-8")


Id = Annotated[int, mapped_column(primary_key=True)]
# SQLite numbers rows automatically only in a column declared as INTEGER, which has 64 bits there.
BigId = Annotated[int, mapped_column(BigInteger().with_variant(Integer, "sqlite"), primary_key=True)]
Instant = Annotated[float, mapped_column(Double)]  # seconds since 1970, by the database's clock
Seconds = Annotated[float, mapped_column(Double)]
Mebibytes = Annotated[float, mapped_column(Double)]  # MiB
Share = Annotated[float, mapped_column(Double)]  # from 0 to 1
LoadAverage = Annotated[float, mapped_column(Double)]  # runnable threads, averaged over one minute
ShortText = Annotated[str, mapped_column(String(64))]


def choice(enum: type[StrEnum]) -> Enum:
    """Return a text column type with a CHECK constraint for the values of an enumeration.

    A native enum type of PostgreSQL cannot be altered and used in the same transaction.
    """
    return Enum(
        enum,
        name=enum.__name__.lower(),
        native_enum=False,
        create_constraint=True,
        length=16,
        values_callable=lambda members: [member.value for member in members],
    )


class now(FunctionElement[float]):  # noqa: N801 - used like a SQL function
    """Seconds since 1970 by the clock of the database, which all workers share."""

    inherit_cache = True
    type = Double()


@compiles(now, "sqlite")
def _(element: now, compiler: Any, **_: Any) -> str:  # noqa: ARG001
    return "((julianday('now') - 2440587.5) * 86400.0)"


@compiles(now, "postgresql")
def _(element: now, compiler: Any, **_: Any) -> str:  # noqa: ARG001
    return "extract(epoch from clock_timestamp())::double precision"
