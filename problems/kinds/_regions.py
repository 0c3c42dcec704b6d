"""The regions of a jigsaw text: one symbol per cell, after the cells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from math import isqrt

from cagematch.problems.errors import PuzzleError

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


def regions_of(text: str, start: int, largest: int) -> str:
    """Return the region of each cell as a canonical letter.

    Parameters
    ----------
    text
        The whole puzzle text.
    start
        The offset of the cells; the regions follow them.
    largest
        The largest number of rows.

    Raises
    ------
    PuzzleError
        The length does not fit a grid, or a region does not have n cells.
    """
    count = len(text) - start
    n = isqrt(count // 2)
    if 2 * n * n != count or not 2 <= n <= largest:
        raise PuzzleError(
            f"found {count} characters after J:, expected the cells and then as many regions: 162, or 32, 50, 72 …"
        )
    body = text[start + n * n :]
    sizes = Counter(body)
    for symbol, size in sizes.items():
        if size != n:
            where = start + n * n + body.index(symbol)
            raise PuzzleError(f"region {symbol!r} has {size} cell{'s' * (size != 1)}, expected {n}", where)
    return as_regions(body)


def as_regions(names: Sequence[Hashable]) -> str:
    """Rename regions to A, B, C … (after Z: 0-9) in the order in which they appear.

    >>> as_regions("22712777")
    'AABCABBB'
    """
    letters = {name: LETTERS[at] for at, name in enumerate(dict.fromkeys(names))}
    return "".join([letters[name] for name in names])
