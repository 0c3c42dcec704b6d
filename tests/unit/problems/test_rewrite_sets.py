"""Sums over pairwise different variables as allowed sets: rewritten and unchanged rules, and equivalence."""

from __future__ import annotations

from itertools import product

import pytest

from cagematch.problems.clauses import clauses, reduced
from cagematch.problems.constraints import AllDifferent, AllowedSets, NotEqual, Sum
from cagematch.problems.problem import Rules
from cagematch.problems.rewrite import direct
from cagematch.problems.sets import allowed_sets, posted

NINE = tuple(range(1, 10))
SMALL = Rules(
    ((1, 2, 3, 4),) * 4,
    (AllDifferent((0, 1, 2), "cage"), Sum((0, 1, 2), 7, "cage"), Sum((3, 2), 5, "link"), AllDifferent((1, 3), "row")),
)
# Sums of variables that may be equal; the first sum pairs off all values.
LOOSE = Rules(((-1, 1), (-1, 1), (0, 1)), (Sum((0, 1), 0, "link"), Sum((0, 1, 2), 1, "sum")))


def test_a_cage_becomes_the_sets_with_its_sum():
    rules = Rules((NINE,) * 3, (Sum((0, 1), 15, "cage"), AllDifferent((1, 0), "cage"), NotEqual((1, 2), "line")))

    found = allowed_sets(rules)

    assert found.domains is rules.domains
    assert found.constraints == (AllowedSets((0, 1), ((6, 9), (7, 8)), "cage"), NotEqual((1, 2), "line"))


def test_a_larger_all_different_allows_sets():
    """A cage inside a larger AllDifferent is rewritten, and that constraint is kept."""
    row = AllDifferent(tuple(range(9)), "row")

    found = allowed_sets(Rules((NINE,) * 9, (row, Sum((0, 1, 2), 6, "cage"))))

    assert found.constraints == (row, AllowedSets((0, 1, 2), ((1, 2, 3),), "cage"))


@pytest.mark.parametrize(
    "constraints",
    [
        pytest.param((Sum((0, 1), 15, "cage"),), id="values may repeat"),
        pytest.param((AllDifferent((0, 1), "cage"),), id="unknown sum"),
        pytest.param((Sum((0, 1), 15, "cage"), AllDifferent((1, 2), "row")), id="other variables differ"),
        pytest.param((Sum((0, 1), 40, "cage"), AllDifferent((0, 1), "cage")), id="no set at all"),
    ],
)
def test_other_sums_are_unchanged(constraints):
    assert allowed_sets(Rules((NINE,) * 3, constraints)).constraints == constraints


def test_sums_with_too_many_sets_stay_equations():
    values, scope = tuple(range(1, 26)), tuple(range(12))
    constraints = (Sum(scope, 156, "cage"), AllDifferent(scope, "cage"))

    assert allowed_sets(Rules((values,) * 12, constraints)).constraints == constraints


def test_sums_are_rewritten_only_for_cages_sets():
    assert posted(SMALL, "sum") is SMALL
    assert posted(SMALL, "sets") is allowed_sets(SMALL)


@pytest.mark.parametrize("rules", [SMALL, LOOSE], ids=["cages", "link"])
def test_rewritten_rules_have_the_same_solutions(rules):
    rewritten = allowed_sets(rules)

    for assignment in product(*rules.domains):
        held = [all(c.holds(assignment) for c in which.constraints) for which in (rules, rewritten)]

        assert held[0] == held[1]


@pytest.mark.parametrize("rules", [SMALL, allowed_sets(SMALL), LOOSE], ids=["sums", "sets", "link"])
def test_rows_and_clauses_have_the_same_solutions(rules):
    """The solutions of sums, sets and links are the same as rows and as clauses."""
    encoding, found = direct(rules), clauses(rules)
    owned = [a for a, (variable, _) in enumerate(encoding.atoms) if variable >= len(rules.domains)]

    for assignment in product(*rules.domains):
        atoms = [int(v < len(assignment) and assignment[v] == value) for v, value in encoding.atoms]
        choices = [{**dict.fromkeys(owned, 0), a: 1} for a in owned] or [{}]
        satisfied = any(
            _rows_hold(encoding, [chosen.get(a, atom) for a, atom in enumerate(atoms)]) for chosen in choices
        )

        assert satisfied == all(constraint.holds(assignment) for constraint in rules.constraints)
        assert encoding.decode([bool(atom) for atom in atoms]) == assignment
        if found.literals == len(atoms):
            assert satisfied == any(
                _clauses_hold(found.clauses, [chosen.get(a, atom) for a, atom in enumerate(atoms)])
                for chosen in choices
            )


SQUARE = Rules(
    ((1, 2, 3),) * 9,
    tuple(AllDifferent(tuple(range(at, 9, 3)), "column") for at in range(3))
    + tuple(AllDifferent((at, at + 1, at + 2), "row") for at in (0, 3, 6)),
)


@pytest.mark.parametrize(
    ("rules", "givens", "solutions"),
    [
        pytest.param(SQUARE, ((0, 1), (4, 2)), 1, id="one is left"),
        pytest.param(SQUARE, ((0, 1), (4, 1)), 2, id="two are left"),
        pytest.param(SQUARE, ((0, 1), (1, 1)), 0, id="contradiction"),
        pytest.param(SQUARE, ((0, 1), (1, 2), (5, 3)), 0, id="contradiction further on"),
        pytest.param(SQUARE, (), 12, id="no givens"),
        pytest.param(allowed_sets(SMALL), ((3, 4),), 1, id="sets and a link"),
    ],
)
def test_reduced_clauses_keep_exactly_the_consistent_solutions(rules, givens, solutions):
    """Clauses reduced by givens have exactly the solutions that agree with the givens."""
    encoding, left = direct(rules), reduced(rules, givens)
    owned = [a for a, (variable, _) in enumerate(encoding.atoms) if variable >= len(rules.domains)]
    choices = [{**dict.fromkeys(owned, 0), a: 1} for a in owned] or [{}]
    found = []

    for assignment in product(*rules.domains):
        atoms = [int(v < len(assignment) and assignment[v] == value) for v, value in encoding.atoms]
        if any(
            _clauses_hold(left.clauses, [chosen.get(a, atom) for a, atom in enumerate(atoms)]) for chosen in choices
        ):
            found.append(assignment)

    assert found == [
        assignment
        for assignment in product(*rules.domains)
        if all(c.holds(assignment) for c in rules.constraints) and all(assignment[v] == value for v, value in givens)
    ]
    assert len(found) == solutions


def test_enough_givens_reduce_the_clauses_to_units():
    whole, left = clauses(SQUARE), reduced(SQUARE, ((0, 1), (4, 2)))

    assert [clause for clause in left.clauses if len(clause) > 1] == []
    assert {abs(literal) for (literal,) in left.clauses} == set(range(1, 28)), "every atom is settled"
    assert left.roles.keys() <= whole.roles.keys()


def _rows_hold(encoding, atoms):
    return all(
        row.low <= sum(atoms[a] * weight for a, weight in zip(row.atoms, row.weights, strict=True)) <= row.high
        for row in encoding.rows
    )


def _clauses_hold(found, atoms):
    return all(any(atoms[abs(literal) - 1] == (literal > 0) for literal in clause) for clause in found)
