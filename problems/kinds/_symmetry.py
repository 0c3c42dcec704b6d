"""The symmetries of a Sudoku grid: what turns a puzzle into another that is as hard to a person, and solves alike.

Values are renamed; rows change places inside their band and bands among each other, columns likewise; the grid is
reflected in its diagonal. What holds besides boxes leaves fewer of these: diagonals, windows and centre dots the turns
and reflections of the whole grid, regions the names only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from cagematch.problems.kinds._shape import Shape


@dataclass(frozen=True, slots=True)
class Symmetry:
    """``cells[i]`` is the cell that comes to stand at i; ``values[v - 1]`` is what value v is called then."""

    cells: tuple[int, ...]
    values: tuple[int, ...]

    def apply(self, grid: Sequence[int]) -> list[int]:
        """A grid's values, 0 where a cell is blank, as they stand then."""
        return [self.values[grid[cell] - 1] if grid[cell] else 0 for cell in self.cells]

    def undo(self, grid: Sequence[int]) -> list[int]:
        """The grid of which `apply` made this one; a value that is none is 0."""
        names = {new: old for old, new in enumerate(self.values, 1)}
        found = [0] * len(grid)
        for at, cell in enumerate(self.cells):
            found[cell] = names.get(grid[at], 0)
        return found


def symmetry_of(shape: Shape, random: Random) -> Symmetry:
    """One of the shape's symmetries, each as likely as any other."""
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
    """Lines in a new order: ``count`` bands of ``size`` lines each stay together."""
    bands = [list(range(band * size, band * size + size)) for band in range(count)]
    random.shuffle(bands)
    for band in bands:
        random.shuffle(band)
    return [line for band in bands for line in band]
