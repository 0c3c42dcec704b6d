"""The fields of CP-SAT's parameters, as the installed library describes them.

Documentation: ``sat_parameters.proto`` of OR-Tools describes each field.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cagematch.problems.errors import ConfigurationError
from cagematch.workers.backends.contract import SEED_MOST, Parameter, Settings

# Fields that users cannot set, and what to use instead: other parameters, or the limits of a run.
RESERVED = {
    "num_workers": "workers=",
    "num_search_workers": "workers=",
    "random_seed": "seed=",
    "cp_model_presolve": "presolve=",
    "log_search_progress": "log=",
    "log_to_stdout": "log=",
    "log_to_response": "log=",
    "max_time_in_seconds": "--timeout",
    "max_memory_in_mb": "--memory",
    "catch_sigint_signal": "--timeout, as interrupts are disabled during a run",
}
REAL = r"-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?|-?inf"


def parameter(name: str) -> Parameter | None:
    """Describe a field as a parameter.

    Parameters
    ----------
    name
        The field's name in ``SatParameters``.

    Returns
    -------
    Parameter | None
        None if there is no such field, or if it is a message.

    Raises
    ------
    ConfigurationError
        Cagematch sets the field itself, or OR-Tools is not installed.
    """
    if name in RESERVED:
        raise ConfigurationError(f"cp-sat: {name} cannot be set directly; use {RESERVED[name]}")
    field = _field(name)
    if field is None or field.message_type:
        return None
    return _repeated(field) if field.is_repeated else _single(field)


def _repeated(field: Any) -> Parameter:
    """Describe a repeated field: values are separated by +, because commas separate parameters."""
    word = "|".join(value.name for value in field.enum_type.values) if field.enum_type else r"\w+"
    return Parameter("", pattern=rf"({word})(\+({word}))*")


def _single(field: Any) -> Parameter:
    if field.enum_type:
        named = field.enum_type.values_by_number
        return Parameter(named[field.default_value].name, tuple(value.name for value in field.enum_type.values))
    if field.cpp_type == field.CPPTYPE_BOOL:
        return Parameter(str(field.default_value).lower(), ("true", "false"))
    if field.cpp_type == field.CPPTYPE_STRING:
        return Parameter(field.default_value, pattern=r"\w+")
    if field.cpp_type in (field.CPPTYPE_DOUBLE, field.CPPTYPE_FLOAT):
        return Parameter(str(field.default_value), pattern=REAL)
    return Parameter(field.default_value, least=-SEED_MOST)


def text(settings: Settings) -> str:
    """Return those settings that are fields, in protobuf's text format."""
    return " ".join(line for name, value in settings.items() for line in _lines(name, value))


def _lines(name: str, value: str | int) -> Iterator[str]:
    if (field := _field(name)) is None:
        return
    for part in str(value).split("+") if field.is_repeated else [value]:
        yield f"{name}: {part!r}" if field.cpp_type == field.CPPTYPE_STRING else f"{name}: {part}"


def _field(name: str) -> Any:
    try:
        from ortools.sat.sat_parameters_pb2 import SatParameters
    except ImportError:
        raise ConfigurationError(
            f"cp-sat: cannot check parameter {name} without OR-Tools; run `pip install ortools`"
        ) from None
    return SatParameters.DESCRIPTOR.fields_by_name.get(name)
