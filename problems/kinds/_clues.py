"""The clues of a Sudoku text: canonical form and validation.

Values are written 1-9, then A-Z, then 0 for 36. Blanks are ``.`` (canonical), ``*``, ``_``, ``-`` and, up to n = 9,
``0``.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import lru_cache

from cagematch.problems.errors import Contradiction, PuzzleError
from cagematch.problems.kinds._shape import SYMBOLS, Shape, place, units

BLANKS = ".*_-"
NO_SYMBOL = b"?"
FIELD = 8  # bits per cell


def canonical(body: str, start: int, shape: Shape) -> str:
    """Return the canonical text of a grid.

    Parameters
    ----------
    body
        The n × n cells, row by row.
    start
        The offset of the cells in the whole text, which the offsets of errors are relative to.
    shape
        The shape of the grid.

    Raises
    ------
    PuzzleError
        A symbol is invalid or ambiguous.
    Contradiction
        A value appears twice in a unit.
    """
    tables = _tables(shape)
    cells = body.encode("latin-1", "replace").translate(tables.symbols)
    if NO_SYMBOL in cells:
        raise _unexpected(body, cells.index(NO_SYMBOL), start, shape)
    if tables.letters and cells.strip(b".") and not any(digit in cells for digit in b"1234567890"):
        raise _ambiguous(shape)
    text = tables.prefix + cells.decode("ascii") + ("" if tables.regular else shape.regions)
    # The fast check covers rows, columns and boxes; other units are checked one by one.
    if (not tables.regular or _repeated(cells, tables)) and (fault := _repetition(cells, shape)):
        cell, why = fault
        raise Contradiction(why, start + cell, text)
    return text


def values(body: str, shape: Shape) -> bytes:
    """Return one byte per cell of a canonical text: the value, or 0 for a blank."""
    return body.encode("ascii").translate(_tables(shape).values)


@dataclass(frozen=True)
class _Tables:
    """Lookup tables of a shape.

    Each table in ``planes`` translates the symbols of some values to a byte with one bit set, and all others to 0.
    The translated planes, concatenated and read as one integer, have one field per cell. Shifting the integer by each
    of ``down`` and adding turns a field into the sum over the cells above it, up to the height of a box. The other
    shifts work alike, so that the last cell of each unit holds the unit's sum.
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
    """Return whether a value appears twice in a row, column or box.

    A sum of powers of two has as many one bits as terms if and only if no two terms are equal.
    """
    bands = grid = int.from_bytes(b"".join(map(cells.translate, tables.planes)), "little")
    for step in tables.down:
        bands += grid << step
    columns = bands
    for step in tables.down_boxes:
        columns += bands << step
    # Multiplication by a short factor is faster than a sum of shifts; by a long one it is slower.
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
    # A plane has as many values as leave room for a sum over n cells in a field.
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


def _unexpected(body: str, cell: int, start: int, shape: Shape) -> PuzzleError:
    blanks = ". * _ - or 0" if shape.n <= 9 else ". * _ or -"
    hint = "; 0 is ambiguous, as some files use it for a value and others for a blank" if body[cell] == "0" else ""
    expected = f"{_alphabet(shape)} or a blank ({blanks})"
    return PuzzleError(f"found {body[cell]!r}, expected {expected}{hint}", start + cell)


def _ambiguous(shape: Shape) -> PuzzleError:
    """A grid written with A-Y is also valid with 1-9 and A-P, but is a different puzzle."""
    grids = f"{shape.n}×{shape.n} grids"
    return PuzzleError(f"all clues are letters, so that A could be 1 or 10; write {grids} with {_alphabet(shape)}")


def _repetition(cells: bytes, shape: Shape) -> tuple[int, str] | None:
    """Find the first value that appears twice in a unit: return the second cell and a message."""
    numbers: Counter[str] = Counter()
    for role, unit in units(shape):
        numbers[role] += 1
        seen: dict[int, int] = {}
        for cell in unit:
            first = seen.setdefault(cells[cell], cell)
            if first != cell and cells[cell] != ord("."):
                both = f"{place(first, shape.n)} and {place(cell, shape.n)}"
                return cell, f"{chr(cells[cell])} appears twice in {role} {numbers[role]} ({both})"
    return None
