"""Queens, Latin squares, Futoshiki and Kakuro: canonical texts, messages for invalid texts, and rules."""

from __future__ import annotations

from collections import Counter

import pytest

from cagematch.problems.constraints import AllDifferent, Less, Sum
from cagematch.problems.errors import PuzzleError
from cagematch.problems.kinds import KINDS, futoshiki, kakuro, latin, queens
from cagematch.problems.rewrite import direct

BOARD = r"3x3:x(4\)(6\)(\3)..(\7).."


@pytest.mark.parametrize(
    ("kind", "text", "canonical"),
    [
        ("queens", " 008 ", "8"),
        ("latin", "1-*_", "1..."),
        ("latin", "1a" + "." * 98, "1A" + "." * 98),
        ("futoshiki", ".v<.^-0", ".<v.^.."),
        ("futoshiki", "*>_-0", ".>..."),
        ("kakuro", r"2x2:X(\)-0", "2x2:xx.."),
        ("kakuro", r"2X3:x(04\)(\)(\03)*_", r"2x3:x(4\)x(\3).."),
    ],
)
def test_equivalent_notations_have_one_canonical_text(kind, text, canonical):
    assert KINDS[kind].parse(text) == canonical
    assert KINDS[kind].parse(canonical) == canonical


@pytest.mark.parametrize(
    ("kind", "text", "message", "offset"),
    [
        ("queens", "0", "found '0', expected a number of queens from 1 to 99", 0),
        ("queens", "eight", "found 'eight', expected a number of queens from 1 to 99", 0),
        ("queens", "100", "found '100', expected a number of queens from 1 to 99", 0),
        ("queens", "٨", "found '٨', expected a number of queens from 1 to 99", 0),
        ("latin", "...", "length is 3, expected a square number", None),
        ("latin", ".", "length is 1, expected a square number", None),
        ("latin", "11..", "1 appears twice in row 1 (r1c1 and r1c2)", 1),
        ("latin", "1.1.", "1 appears twice in column 1 (r1c1 and r2c1)", 2),
        ("latin", "13..", "found '3', expected 1-2 or a blank (. * _ - or 0)", 1),
        ("futoshiki", "..?.", "found '?', expected a cell (1-9 or a blank) and its signs (< > v ^)", 2),
        ("futoshiki", ".<<...", "found '<', expected a cell (1-9 or a blank)", 2),
        ("futoshiki", ".....", "found 5 cells, expected a square number", None),
        ("futoshiki", ".<.<..", "found a sign at the edge: r1c2 has no neighbour there", 3),
        ("futoshiki", "...^.", "found a sign at the edge: r2c1 has no neighbour there", 3),
        ("futoshiki", ".<3..", "found '3', expected 1-2 or a blank", 2),
        ("futoshiki", "1<.1.", "1 appears twice in column 1 (r1c1 and r2c1)", 3),
        ("kakuro", "...", "found '...', expected rows x columns and then the cells", 0),
        ("kakuro", "1x3:..", "found 2 cells, expected 3 for 1 rows of 3", None),
        (
            "kakuro",
            r"1x3:(4\..",
            r"found '(', expected a white cell (1-9 or a blank) or a black cell (x or (down\across))",
            4,
        ),
        ("kakuro", "1x2:xx", "found no white cell, expected at least one", None),
        ("kakuro", r"1x3:(\2)..", "the run across from r1c2 has sum 2, expected 3 to 17 for 2 cells", 8),
        ("kakuro", r"2x1:(10\).", "the run down from r2c1 has sum 10, expected 1 to 9 for 1 cell", 9),
        ("kakuro", "1x10:" + "." * 10, "the run across from r1c1 has 10 cells, expected at most 9", 5),
        ("kakuro", r"1x3:(\4)11", "1 appears twice in the run across from r1c2", 8),
        ("kakuro", r"1x3:(3\4)..", "clue 3 at r1c1 has no white cell below it", 4),
        ("kakuro", r"1x3:..(\4)", "clue 4 at r1c3 has no white cell to its right", 6),
    ],
)
def test_a_fault_is_reported_with_its_offset(kind, text, message, offset):
    with pytest.raises(PuzzleError) as caught:
        KINDS[kind].parse(text)

    assert str(caught.value).startswith(message), str(caught.value)
    assert caught.value.offset == offset


def test_queens_differ_in_column_and_in_both_diagonals():
    rules = queens.problem("8").rules

    assert Counter(c.role for c in rules.constraints) == {"column": 1, "diagonal": 2, "link": 16}
    assert all(len(domain) == 8 for domain in rules.domains)
    assert [queens.name("8", variable) for variable in (0, 4, 23)] == ["r1", "r2 rising", "r8 falling"]


@pytest.mark.parametrize(
    ("columns", "solves"),
    [("1.5.8.6.3.7.2.4", True), ("1.5.8.6.3.7.2.2", False), ("1.2.3.4.5.6.7.8", False), ("8.7.6.5.4.3.2.1", False)],
)
def test_attacking_queens_are_not_a_solution(columns, solves):
    assert queens.problem("8").is_solution(queens.assignment("8", columns)) == solves


def test_diagonals_are_linked_to_columns_by_value():
    rows = [row for row in direct(queens.problem("8").rules).rows if row.role == "link"]

    assert len(rows) == 16 * 8
    assert all(row.link and len(row.atoms) == 2 for row in rows)


def test_a_latin_square_has_no_boxes():
    problem = latin.problem("1..." + "." * 12)

    assert Counter(c.role for c in problem.constraints) == {"row": 4, "column": 4}
    assert problem.givens == ((0, 1),)


def test_signs_are_inequalities_between_neighbours():
    problem = futoshiki.problem(".<^.>v..2....")

    assert [c for c in problem.constraints if isinstance(c, Less)] == [
        Less((0, 1), "sign"),
        Less((0, 3), "sign"),
        Less((2, 1), "sign"),
        Less((4, 1), "sign"),
    ]
    assert problem.givens == ((4, 2),)


def test_runs_are_sums_of_different_values():
    """The runs are sums of different values, and the variables are the white cells."""
    problem = kakuro.problem(BOARD.replace("(\\7)..", "(\\7)4."))

    assert problem.constraints[:4] == (
        Sum((0, 1), 3, "across"),
        AllDifferent((0, 1), "across"),
        Sum((2, 3), 7, "across"),
        AllDifferent((2, 3), "across"),
    )
    assert problem.constraints[4:6] == (Sum((0, 2), 4, "down"), AllDifferent((0, 2), "down"))
    assert problem.givens == ((2, 4),)
    assert [kakuro.name(BOARD, variable) for variable in range(4)] == ["r2c2", "r2c3", "r3c2", "r3c3"]


def test_a_run_without_a_clue_has_different_values():
    assert kakuro.problem("1x3:x..").constraints == (AllDifferent((0, 1), "across"),)
