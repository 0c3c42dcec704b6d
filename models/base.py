"""The declarative base, column types used in several tables, and the database's own clock."""

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
    """Every table; constraints have names that migrations can refer to."""

    metadata = MetaData(naming_convention=NAMES)


class LimitedText(TypeDecorator[str]):
    """Text from outside, of files and solvers: what a database cannot store in it is escaped.

    PostgreSQL has no NUL in its texts, and no UTF-8 has half a surrogate pair, which is what Python makes of a byte in
    a file's name that is none.
    """

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002 - the library's
        """Escape, where there is anything to escape."""
        if value is None or (value.isascii() and "\0" not in value):
            return value
        return value.replace("\0", "\\0").encode("utf-8", "backslashreplace").decode("utf-8")


Id = Annotated[int, mapped_column(primary_key=True)]
# SQLite counts rows by itself in a column that is declared as plain INTEGER, of 64 bits in any case.
BigId = Annotated[int, mapped_column(BigInteger().with_variant(Integer, "sqlite"), primary_key=True)]
Instant = Annotated[float, mapped_column(Double)]  # seconds since 1970, by the database's clock
Seconds = Annotated[float, mapped_column(Double)]
ShortText = Annotated[str, mapped_column(String(64))]


def choice(enum: type[StrEnum]) -> Enum:
    """A text column with a CHECK, as native enum types cannot be altered and used in one transaction."""
    return Enum(
        enum,
        name=enum.__name__.lower(),
        native_enum=False,
        create_constraint=True,
        length=16,
        values_callable=lambda members: [member.value for member in members],
    )


class now(FunctionElement[float]):  # noqa: N801 - it is written like a SQL function
    """Seconds since 1970 by the clock of the database, the one that all workers share."""

    inherit_cache = True
    type = Double()


@compiles(now, "sqlite")
def _(element: now, compiler: Any, **_: Any) -> str:  # noqa: ARG001
    return "((julianday('now') - 2440587.5) * 86400.0)"


@compiles(now, "postgresql")
def _(element: now, compiler: Any, **_: Any) -> str:  # noqa: ARG001
    return "extract(epoch from clock_timestamp())::double precision"
