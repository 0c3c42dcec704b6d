"""Durations and sizes as typed on the command line."""

from __future__ import annotations

import math
import re

from cagematch.problems.errors import InputError

SECONDS = {"ms": 0.001, "s": 1.0, "": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
MEBIBYTES = {"": 1.0, "mib": 1.0, "m": 1.0, "mb": 1e6 / 2**20, "gib": 1024.0, "g": 1024.0, "gb": 1e9 / 2**20}
LARGEST = 1e6  # number in front of any unit
LONGEST_S = 7 * 24 * 3600.0
QUANTITY = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([a-zA-Z]*)")


def seconds(text: str) -> float:
    """Parse a duration into seconds: ``3``, ``3s``, ``500ms``, ``2m``.

    Raises
    ------
    InputError
        The text is not a duration, or it exceeds one week.

    """
    value = _quantity(text, SECONDS, "a duration such as 3s, 500ms or 2m")
    if value > LONGEST_S:
        raise InputError(f"found {text!r}, expected a duration of at most 168h (a week)")
    return value


def mebibytes(text: str) -> int:
    """Parse a size into MiB, rounded up: ``512MiB``, ``2GiB``.

    Raises
    ------
    InputError
        The text is not a size.

    """
    return math.ceil(_quantity(text, MEBIBYTES, "a size such as 512MiB or 2GiB"))


def _quantity(text: str, units: dict[str, float], expected: str) -> float:
    found = QUANTITY.fullmatch(text.strip())
    if not found or found[2].lower() not in units or not 0 < float(found[1]) < LARGEST:
        raise InputError(f"found {text!r}, expected {expected}")
    return float(found[1]) * units[found[2].lower()]
