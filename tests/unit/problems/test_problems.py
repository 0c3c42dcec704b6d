"""Problems: the meaning of constraints, verification, and rewritings."""

from __future__ import annotations

import hashlib
from itertools import product

import pytest

from cagematch.problems.constraints import AllDifferent, AllowedSets, Less, NotEqual, Sum
from cagematch.problems.errors import CagematchError, Fault, FileError, InputError, PuzzleError, UnknownStatus
from cagematch.problems.problem import Problem, Puzzle, Rules
from cagematch.problems.rewrite import direct, pairwise

RULES = Rules(
    ((1, 2, 3), (1, 2, 3), (2, 4)),
    (AllDifferent((0, 1, 2), "row"), Sum((0, 2), 5, "cage"), NotEqual((1, 2), "line")),
)
UNLIKE = Rules(((1, 3, 4), (2, 3), (0, 3, 5)), (Less((0, 1), "sign"), Less((2, 0), "sign"), NotEqual((1, 2), "line")))
PROBLEM = Problem(RULES, ((1, 2),))


@pytest.mark.parametrize(
    ("constraint", "kept", "broken"),
    [
        (AllDifferent((0, 2), "row"), [1, 1, 2], [1, 2, 1]),
        (AllDifferent((), "row"), [1], None),
        (Sum((0, 1), 3, "cage"), [1, 2, 9], [2, 2, 3]),
        (Sum((0,), -1, "cage"), [-1], [1]),
        (Sum((), 0, "cage"), [5], None),
        (NotEqual((0, 2), "line"), [1, 1, 2], [1, 2, 1]),
        (AllowedSets((2, 0), ((1, 4), (2, 3)), "cage"), [1, 9, 4], [1, 9, 3]),
        (Less((2, 0), "sign"), [2, 9, 1], [1, 9, 1]),
        (Less((0, 1), "sign"), [-2, -1], [2, 1]),
    ],
)
def test_constraints_hold_for_valid_scopes_only(constraint, kept, broken):
    assert constraint.holds(kept)
    assert broken is None or not constraint.holds(broken)


def test_a_solution_has_no_violations():
    solution = [1, 2, 4]

    assert list(PROBLEM.violations(solution)) == []
    assert PROBLEM.is_solution(solution)


@pytest.mark.parametrize(
    ("assignment", "expected"),
    [
        pytest.param([1, 2], ["found 2 values, expected 3"], id="too short"),
        pytest.param([1, 2, 4, 1], ["found 4 values, expected 3"], id="too long"),
        pytest.param(
            [0, 2, 4], ["variable 0 is 0, not one of 1, 2, 3", "cage variable 0 variable 2: "], id="outside its domain"
        ),
        pytest.param([1, 3, 4], ["variable 1 is 3, but the puzzle gives 2"], id="against a given"),
        pytest.param(
            [1, 2, 3], ["variable 2 is 3, not one of 2, 4", "cage variable 0 variable 2: "], id="between domain values"
        ),
        pytest.param([3, 2, 2], ["row: variable 1 and variable 2 are both 2", "line: "], id="alike"),
        pytest.param([3, 2, 4], ["cage variable 0 variable 2: the sum is 7, expected 5"], id="wrong sum"),
    ],
)
def test_verification_reports_each_kind_of_violation(assignment, expected):
    found = list(PROBLEM.violations(assignment))

    assert len(found) == len(expected)
    assert all(text.startswith(start) for text, start in zip(found, expected, strict=True))
    assert not PROBLEM.is_solution(assignment)


def test_a_violation_names_at_most_nine_allowed_values():
    problem = Problem(Rules((tuple(range(20)),), ()))

    (found,) = problem.violations([99])

    assert found == "variable 0 is 99, not one of 0, 1, 2, 3, 4, 5, 6, 7, 8, …"


def test_givens_leave_one_value():
    assert PROBLEM.values == ((1, 2, 3), (2,), (2, 4))
    assert RULES.domains == ((1, 2, 3), (1, 2, 3), (2, 4))


def test_the_fingerprint_hashes_kind_and_text():
    puzzle = Puzzle("sudoku", "1...", "a label")

    assert puzzle.fingerprint == hashlib.sha256(b"sudoku\n1...").digest()
    assert puzzle.fingerprint == Puzzle("sudoku", "1...").fingerprint
    assert puzzle.fingerprint != Puzzle("killer", "1...").fingerprint


def test_pairwise_keeps_each_pair_once():
    """Constraints other than AllDifferent are unchanged."""
    rules = Rules(((1, 2),) * 3, (AllDifferent((0, 1, 2), "row"), AllDifferent((2, 1), "box"), Sum((0,), 1, "cage")))

    rewritten = pairwise(rules)

    assert rewritten == (
        NotEqual((0, 1), "row"),
        NotEqual((0, 2), "row"),
        NotEqual((1, 2), "row"),
        Sum((0,), 1, "cage"),
    )


@pytest.mark.parametrize("rules", [RULES, UNLIKE], ids=["sum", "inequalities"])
def test_the_direct_encoding_preserves_the_solutions(rules):
    encoding = direct(rules)

    for assignment in product(*rules.domains):
        atoms = [int(assignment[variable] == value) for variable, value in encoding.atoms]
        kept = all(
            row.low <= sum(atoms[a] * w for a, w in zip(row.atoms, row.weights, strict=True)) <= row.high
            for row in encoding.rows
        )

        assert kept == all(constraint.holds(assignment) for constraint in rules.constraints)
        assert encoding.decode([bool(atom) for atom in atoms]) == assignment


def test_a_tight_all_different_becomes_equalities():
    """AllDifferent over as many variables as values becomes equalities, any other becomes inequalities."""
    tight = direct(Rules(((1, 2), (1, 2)), (AllDifferent((0, 1), "row"),)))
    loose = direct(Rules(((1, 2, 3), (1, 2)), (AllDifferent((0, 1), "row"),)))

    assert {row.low for row in tight.rows if row.role == "row"} == {1}
    assert {row.low for row in loose.rows if row.role == "row"} == {0}


@pytest.mark.parametrize("chosen", [[0] * 8, [1, 1, 0, 1, 0, 0, 1, 0], [1, 0, 0, 1, 0, 0, 1, 1]])
def test_decoding_requires_one_value_per_variable(chosen):
    assert direct(RULES).decode([bool(atom) for atom in chosen]) is None


def test_file_errors_show_ten_faults_and_the_total():
    faults = [Fault("f.txt", line, 3 if line % 2 else None, "odd") for line in range(1, 13)]

    error = FileError(faults)

    assert str(error).splitlines() == [
        *(f"f.txt:{line}:3: odd" if line % 2 else f"f.txt:{line}: odd" for line in range(1, 11)),
        "… and 2 more",
    ]
    assert (len(error.faults), error.total) == (10, 12)


def test_input_errors_are_distinct_from_internal_errors():
    assert issubclass(PuzzleError, InputError)
    assert issubclass(FileError, InputError)
    assert issubclass(UnknownStatus, CagematchError)
    assert not issubclass(UnknownStatus, InputError)
    assert "cbc" in str(UnknownStatus("cbc", 99))
    assert "99" in str(UnknownStatus("cbc", 99))
