"""Killers: the canonical text of JSON, the messages for invalid texts, and the rules of cages."""

from __future__ import annotations

import json

import pytest

from cagematch.problems.constraints import AllDifferent, Sum
from cagematch.problems.errors import PuzzleError
from cagematch.problems.kinds import killer

DOTS = "." * 16


def written(*cages: tuple[list[list[int]], int], **more: object) -> str:
    return json.dumps({"cages": [{"cells": cells, "sum": total} for cells, total in cages], **more})


def fault(text: str) -> tuple[str, int | None]:
    with pytest.raises(PuzzleError) as caught:
        killer.parse(text)
    return str(caught.value), caught.value.offset


def test_the_order_of_cages_and_cells_is_irrelevant():
    first = killer.parse(written(([[1, 0], [0, 0]], 15), ([[0, 2], [0, 1]], 8)))
    second = killer.parse(written(([[0, 1], [0, 2]], 8), ([[0, 0], [1, 0]], 15), ([[0, 2], [0, 1]], 8)))

    assert first == second
    assert first == '{"cages":[{"cells":[[0,0],[1,0]],"sum":15},{"cells":[[0,1],[0,2]],"sum":8}]}'


@pytest.mark.parametrize(
    "more",
    [
        {"n": 4},
        {"box": [2, 2]},
        {"givens": DOTS},
        {"givens": ["....", "0000", ". . . .", [None, 0, ".", "."]]},
        {"grid": "2x2:" + DOTS},
        {"n": 4, "diagonal": False, "givens": None, "solution": "?", "id": 7},
    ],
)
def test_a_grid_has_several_notations(more):
    text = killer.parse(written(([[0, 0], [0, 1]], 3), **more))

    assert json.loads(text) == {"cages": [{"cells": [[0, 0], [0, 1]], "sum": 3}], "grid": DOTS}


def test_the_grid_contains_shape_diagonals_and_givens():
    givens = ["6 . . . . .", *["......"] * 5]

    text = killer.parse(written(([[0, 1], [0, 2]], 3), box=[2, 3], diagonal=True, givens=givens))

    assert json.loads(text)["grid"] == "X:2x3:6" + "." * 35
    assert killer.problem(text).givens == ((0, 6),)


def test_numbers_above_nine_are_valid_givens():
    text = killer.parse(written(([[0, 1], [0, 2]], 3), givens=["16 1 " + ". " * 14] + ["." * 16] * 15))

    assert killer.problem(text).givens == ((0, 16), (1, 1))


def test_a_cage_is_a_sum_and_different_values():
    constraints = killer.problem(killer.parse(written(([[0, 0], [0, 1]], 5), ([[2, 2]], 3), n=4))).constraints[12:]

    assert constraints == (Sum((0, 1), 5, "cage"), AllDifferent((0, 1), "cage"), Sum((10,), 3, "cage"))


def test_values_may_repeat_where_the_puzzle_allows_it():
    text = killer.parse(written(([[0, 0], [1, 2], [3, 1]], 3), n=4, repeats=True))

    assert json.loads(text)["repeats"] is True
    assert killer.problem(text).constraints[12:] == (Sum((0, 6, 13), 3, "cage"),)


def test_a_cage_without_a_sum_has_different_values():
    text = killer.parse(written(([[0, 0], [1, 2]], 0), ([[3, 3]], 0), n=4))

    assert json.loads(text)["cages"] == [{"cells": [[0, 0], [1, 2]], "sum": 0}]
    assert killer.problem(text).constraints[12:] == (AllDifferent((0, 6), "cage"),)


def test_a_known_sum_replaces_an_unknown_one():
    cells = [[0, 0], [1, 2]]

    assert killer.parse(written((cells, 0), (cells, 5))) == killer.parse(written((cells, 5)))


def test_cages_may_overlap():
    text = killer.parse(written(([[0, 0], [0, 1]], 5), ([[0, 1], [0, 2]], 5), n=4))

    assert len(json.loads(text)["cages"]) == 2


@pytest.mark.parametrize(
    ("text", "message", "offset"),
    [
        ('{"cages": [,]}', "invalid JSON: Expecting value", 11),
        ('{"cages": [', "invalid JSON: Expecting value", 11),
        ("[1]", 'found [1], expected {"cages": [{"cells"', None),
        ("{}", 'no cages, expected {"cages": [{"cells"', None),
        ('{"cages": []}', "no cages, expected", None),
        ('{"cages": [3]}', "cage 1: found 3, expected {", None),
        ('{"cages": [{"sum": 3}]}', 'cage 1: found {"sum": 3}, expected {', None),
        ('{"cages": [{"cells": [[0, 0]]}]}', "cage 1: the sum is missing; write 0 if it is unknown", None),
        ('{"cages": [{"cells": [[0, 0]], "sum": "3"}]}', 'cage 1: sum "3", expected a whole number', None),
        ('{"cages": [{"cells": [[0, 0]], "sum": true}]}', "cage 1: sum true, expected a whole number", None),
        (written(([[0, 0, 0]], 3)), "cage 1: found [0, 0, 0], expected a cell as [row, column]", None),
        (written(([["0", 0]], 3)), 'cage 1: found ["0", 0], expected a cell as [row, column]', None),
        (
            written(([[0, 0]], 3), ([[9, 1]], 3)),
            "cage 2: cell [9, 1] is outside the 9×9 grid, expected rows and columns",
            None,
        ),
        (written(([[0, -1]], 3)), "cage 1: cell [0, -1] is outside the 9×9 grid", None),
        (written(([[0, 1], [0, 1]], 3)), "cage 1: cell [0, 1] (r1c2) is listed twice", None),
        (written(([[0, 0]], 10)), "cage 1: sum 10 is impossible for 1 cell, expected 1 to 9, or 0 if", None),
        (written(([[0, 0], [0, 1]], 18)), "cage 1: sum 18 is impossible for 2 cells, expected 3 to 17", None),
        (written(([[0, 0], [0, 1]], -3)), "cage 1: sum -3 is impossible for 2 cells", None),
        (
            written(([[0, 0], [0, 1]], 19), repeats=True),
            "cage 1: sum 19 is impossible for 2 cells, expected 2 to",
            None,
        ),
        (written(([[0, c] for c in range(4)] + [[1, 0]], 12), n=4), "cage 1: found 5 cells, expected at most 4", None),
        (written(([[0, 0], [0, 1]], 5), ([[0, 1], [0, 0]], 6)), "cage 2: sum 6, expected 5 as in another cage", None),
        (written(([[0, 0]], 3), repeats="yes"), "\"repeats\" is 'yes', expected true or false", None),
        (written(([[0, 0]], 3), n=6), "grid: found 36 characters, expected a box shape in front", None),
        (written(([[0, 0]], 3), n="9"), "\"n\" is '9', expected the number of rows", None),
        (
            written(([[0, 0]], 3), n=9, box=[2, 3]),
            "found boxes of 2x3, expected 9 cells per box in a grid of 9 rows",
            None,
        ),
        (written(([[0, 0]], 3), box=[3]), '"box" is [3], expected [rows, columns]', None),
        (written(([[0, 0]], 3), diagonal=1.5), '"diagonal" is 1.5, expected true or false', None),
        (written(([[0, 0]], 3), givens="11" + DOTS[2:]), "grid: 1 appears twice in row 1 (r1c1 and r1c2)", None),
        (written(([[0, 0]], 3), givens=7), '"givens" is 7, expected a string or a list of rows', None),
        (written(([[0, 0]], 3), givens=[7]), 'row 1 of "givens" is 7, expected a string or a list', None),
        (
            written(([[0, 0]], 3), givens=["99 1 1"]),
            "found '99' in row 1 of \"givens\", expected a number or a blank",
            None,
        ),
        (written(([[0, 0]], 3), grid=7), '"grid" is 7, expected a string with a text of the kind sudoku', None),
        (written(([[0, 0]], 3), kind="kakuro"), "\"kind\" is 'kakuro', expected 'killer'", None),
        ("[" * 100_000, "invalid JSON: a number is too long, or the nesting is too deep", None),
        ("1" * 5_000, "invalid JSON: a number is too long, or the nesting is too deep", None),
    ],
)
def test_a_fault_is_reported(text, message, offset):
    found, where = fault(text)

    assert found.startswith(message), found
    assert where == offset
