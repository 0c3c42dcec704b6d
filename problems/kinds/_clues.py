"""The clues of a Sudoku text: their canonical form, and what may be wrong with them.

Values are written 1-9, then A-Z, then 0 for 36 (only there is 0 a value); blanks are ``.`` (canonical), ``*``,
``_``, ``-`` and, up to n = 9, ``0``.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import lru_cache

from cagematch.problems.errors import Contradiction, PuzzleError
from cagematch.problems.kinds._shape import SYMBOLS, Shape, place, units

BLANKS = ".*_-"
NO_SYMBOL = b"?"
FIELD = 8  # bits a cell


def canonical(body: str, start: int, shape: Shape) -> str:
    """The canonical text of cells that begin at ``start`` in the text that errors count in."""
    tables = _tables(shape)
    cells = body.encode("latin-1", "replace").translate(tables.symbols)
    if NO_SYMBOL in cells:
        raise _foreign(body, cells.index(NO_SYMBOL), start, shape)
    if tables.letters and cells.strip(b".") and not any(digit in cells for digit in b"1234567890"):
        raise _doubtful(shape)
    told = tables.prefix + cells.decode("ascii") + ("" if tables.regular else shape.regions)
    # The quick look knows rows, columns and boxes; where there is more, each unit is looked at.
    if (not tables.regular or _repeated(cells, tables)) and (fault := _twice(cells, shape)):
        cell, why = fault
        raise Contradiction(why, start + cell, told)
    return told


def values(body: str, shape: Shape) -> bytes:
    """One byte a cell of a canonical text: the value, 0 for a blank."""
    return body.encode("ascii").translate(_tables(shape).values)


@dataclass(frozen=True)
class _Tables:
    """What reading needs to know of a shape, worked out once.

    ``planes`` turn the symbols of some values each into a byte with one bit, and all others into 0. Planes end
    to end, read as one integer, have a field a cell. Shifted by each of ``down`` and added up, a field becomes the
    sum of the cells above it as far as a box is high, and so on: at the last cell of a unit stands the unit's sum.
    """

    prefix: str
    symbols: bytes
    values: bytes
    letters: bool
    regular: bool
    planes: tuple[bytes, ...]
    along: int
    down: tuple[int, ...]
    across_box: int
    down_boxes: tuple[int, ...]
    row_ends: int
    column_ends: int
    box_ends: int


def _repeated(cells: bytes, tables: _Tables) -> bool:
    """Whether a value stands twice in a unit.

    A sum of powers of two has as many bits as terms exactly when no two terms are equal.
    """
    bands = grid = int.from_bytes(b"".join(map(cells.translate, tables.planes)), "little")
    for step in tables.down:
        bands += grid << step
    columns = bands
    for step in tables.down_boxes:
        columns += bands << step
    # A short factor is faster than a sum of shifts, a long one slower.
    rows = grid * tables.along & tables.row_ends
    boxes = bands * tables.across_box & tables.box_ends
    columns &= tables.column_ends
    return rows.bit_count() + boxes.bit_count() + columns.bit_count() != 3 * grid.bit_count()


@lru_cache(maxsize=64)
def _tables(shape: Shape) -> _Tables:
    if shape.options or shape.regions:
        return replace(_tables(Shape(shape.rows, shape.columns)), prefix=shape.prefix, regular=False)
    n, rows, columns = shape.n, shape.rows, shape.columns
    symbols, numbers = bytearray(NO_SYMBOL * 256), bytearray(256)
    for blank in BLANKS + "0" * (n <= 9):
        symbols[ord(blank)] = ord(".")
    for value, symbol in enumerate(SYMBOLS[:n], 1):
        symbols[ord(symbol)] = symbols[ord(symbol.lower())] = ord(symbol)
        numbers[ord(symbol)] = value
    # As many values a plane as leave room for a sum over n cells in a field.
    most = FIELD + 1 - n.bit_length()
    planes = tuple(_plane(SYMBOLS[at : min(at + most, n)]) for at in range(0, n, most))
    whole = (1 << FIELD) - 1
    ends = (
        sum(whole << FIELD * (plane * n * n + cells[-1]) for plane in range(len(planes)) for cells in group)
        for group in ([cells for role, cells in units(shape) if role == wanted] for wanted in ("row", "column", "box"))
    )
    return _Tables(
        shape.prefix,
        bytes(symbols),
        bytes(numbers),
        n > 9,
        True,
        planes,
        sum(1 << FIELD * step for step in range(n)),
        tuple(FIELD * n * step for step in range(1, rows)),
        sum(1 << FIELD * step for step in range(columns)),
        tuple(FIELD * n * rows * step for step in range(1, columns)),
        *ends,
    )


def _plane(symbols: str) -> bytes:
    return bytes(1 << symbols.index(chr(code)) if chr(code) in symbols else 0 for code in range(256))


def _alphabet(shape: Shape) -> str:
    n = shape.n
    return f"1-{n}" if n <= 9 else f"1-9 and A-{SYMBOLS[min(n, 35) - 1]}" + " and 0" * (n == 36)


def _foreign(body: str, cell: int, start: int, shape: Shape) -> PuzzleError:
    blanks = ". * _ - or 0" if shape.n <= 9 else ". * _ or -"
    hint = " (0 is a value to some and a blank to others)" if body[cell] == "0" else ""
    wanted = f"{_alphabet(shape)} or a blank ({blanks})"
    return PuzzleError(f"{body[cell]!r} where {wanted} was expected{hint}", start + cell)


def _doubtful(shape: Shape) -> PuzzleError:
    """A grid of A-Y looks like one of 1-9A-P, and means another puzzle."""
    grids = f"{shape.n}×{shape.n} grids"
    return PuzzleError(f"only letters as clues: is A 1 or 10? Write {grids} with {_alphabet(shape)}")


def _twice(cells: bytes, shape: Shape) -> tuple[int, str] | None:
    """Find the first value that stands twice in a unit, in the order of rows, columns, boxes and so on, and say so."""
    numbers: Counter[str] = Counter()
    for role, unit in units(shape):
        numbers[role] += 1
        seen: dict[int, int] = {}
        for cell in unit:
            first = seen.setdefault(cells[cell], cell)
            if first != cell and cells[cell] != ord("."):
                both = f"{place(first, shape.n)} and {place(cell, shape.n)}"
                return cell, f"{chr(cells[cell])} stands twice in {role} {numbers[role]} ({both})"
    return None
