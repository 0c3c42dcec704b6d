"""Symmetries of Sudoku grids: the permuted puzzle differs, and its solution maps back to the original."""

from __future__ import annotations

import random

import pytest
from cases import cases_of

from cagematch.problems.kinds import KINDS, Symmetric, sudoku
from cagematch.problems.kinds._shape import shape_of, units
from cagematch.problems.kinds._symmetry import symmetry_of
from cagematch.workers.configurations import configuration
from cagematch.workers.sandbox.solving import measure

SHAPES = ("." * 81, "2x3:" + "." * 36, "X:" + "." * 81, "X:2x3:" + "." * 36, "W:" + "." * 81, "C:" + "." * 81)
JIGSAW = next(case.puzzle for case in cases_of("sudoku") if case.puzzle.startswith("J:"))
SOLVED = [case for case in cases_of("sudoku") if case.count == 1 and len(case.puzzle) < 100]


@pytest.mark.parametrize("text", [*SHAPES, JIGSAW])
@pytest.mark.parametrize("seed", range(6))
def test_a_symmetry_maps_units_to_units(text, seed):
    shape, _, _ = shape_of(text)
    symmetry = symmetry_of(shape, random.Random(seed))
    now = {cell: at for at, cell in enumerate(symmetry.cells)}
    before = {frozenset(cells) for _, cells in units(shape)}

    assert {frozenset(now[cell] for cell in cells) for cells in before} == before
    assert sorted(symmetry.values) == list(range(1, shape.n + 1))


@pytest.mark.parametrize("text", [*SHAPES, JIGSAW])
def test_a_symmetry_can_be_undone(text):
    shape, _, _ = shape_of(text)
    symmetry = symmetry_of(shape, random.Random(5))
    grid = [random.Random(7).randrange(shape.n + 1) for _ in range(shape.n**2)]

    assert symmetry.undo(symmetry.apply(grid)) == grid


@pytest.mark.parametrize("case", SOLVED, ids=lambda case: case.name)
def test_a_permuted_solution_maps_back_to_the_puzzle(case):
    text = sudoku.parse(case.puzzle)
    permuted, restore = sudoku.permuted(text, random.Random(3))

    found = measure(configuration("cp-sat-fast"), sudoku.problem(permuted), 1, 60)

    assert sudoku.parse(permuted) == permuted != text
    assert sudoku.problem(text).is_solution(restore(found.assignment))
    if case.solution:
        assert sudoku.digits(text, restore(found.assignment)) == case.solution


def test_every_seed_gives_another_symmetry():
    text = SOLVED[0].puzzle

    assert len({sudoku.permuted(text, random.Random(seed))[0] for seed in range(50)}) == 50


def test_an_invalid_value_is_restored_as_zero():
    _, restore = sudoku.permuted("." * 81, random.Random(1))

    assert restore([77] * 81) == [0] * 81


def test_only_sudoku_has_symmetries():
    assert [name for name, kind in KINDS.items() if isinstance(kind, Symmetric)] == ["sudoku"]
