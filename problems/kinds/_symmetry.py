"""The symmetries of a Sudoku grid: transformations into an equivalent puzzle.

In a grid with boxes, values are renamed, rows are permuted within their band, bands are permuted, columns likewise,
and the grid is transposed. Additional units leave fewer symmetries: diagonals, windows and centre dots
only rotations and reflections of the whole grid; regions only the renaming of values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from cagematch.problems.kinds._shape import Shape


@dataclass(frozen=True, slots=True)
class Symmetry:
    """A symmetry: cell i of the result is cell ``cells[i]`` of the grid, and value v becomes ``values[v - 1]``."""

    cells: tuple[int, ...]
    values: tuple[int, ...]

    def apply(self, grid: Sequence[int]) -> list[int]:
        """Return the transformed grid; 0 is a blank."""
        return [self.values[grid[cell] - 1] if grid[cell] else 0 for cell in self.cells]

    def undo(self, grid: Sequence[int]) -> list[int]:
        """Return the grid that `apply` transforms into this one; an invalid value becomes 0."""
        names = {new: old for old, new in enumerate(self.values, 1)}
        found = [0] * len(grid)
        for at, cell in enumerate(self.cells):
            found[cell] = names.get(grid[at], 0)
        return found


def symmetry_of(shape: Shape, random: Random) -> Symmetry:
    """Return one of the shape's symmetries, drawn uniformly at random."""
    values = list(range(1, shape.n + 1))
    random.shuffle(values)
    return Symmetry(_cells(shape, random), tuple(values))


def _cells(shape: Shape, random: Random) -> tuple[int, ...]:
    n = shape.n
    if shape.regions:
        return tuple(range(n * n))
    if shape.options:
        rows, columns = (list(range(n))[:: random.choice((1, -1))] for _ in "rc")
    else:
        rows, columns = _order(shape.rows, shape.columns, random), _order(shape.columns, shape.rows, random)
    found = [[row * n + column for column in columns] for row in rows]
    if shape.rows == shape.columns and random.random() < 0.5:
        found = [list(column) for column in zip(*found, strict=True)]
    return tuple(cell for row in found for cell in row)


def _order(size: int, count: int, random: Random) -> list[int]:
    """Return the lines in a random order that keeps ``count`` bands of ``size`` lines together."""
    bands = [list(range(band * size, band * size + size)) for band in range(count)]
    random.shuffle(bands)
    for band in bands:
        random.shuffle(band)
    return [line for band in bands for line in band]
