"""Properties of the cases, texts and drawings of every kind."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest
from cases import Case, cases_of

from cagematch.problems.kinds import KINDS

CASES = [(kind, case) for kind in KINDS for case in cases_of(kind)]
SOLVED = [(kind, case) for kind, case in CASES if case.solution]


def named(value: object) -> str | None:
    return value.name if isinstance(value, Case) else None


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_proper_and_improper_cases(kind):
    """Every kind has cases with exactly one solution, and cases with none or several."""
    counts = {case.count for case in cases_of(kind)}

    assert 1 in counts
    assert counts - {1}


@pytest.mark.parametrize(("kind", "case"), CASES, ids=named)
def test_case_texts_are_canonical_and_one_line(kind, case):
    assert KINDS[kind].parse(case.puzzle) == case.puzzle
    assert len(case.puzzle.splitlines()) == 1


@pytest.mark.parametrize(("kind", "case"), SOLVED, ids=named)
def test_a_solution_survives_writing_and_reading(kind, case):
    values = KINDS[kind].assignment(case.puzzle, case.solution)

    assert KINDS[kind].digits(case.puzzle, values) == case.solution
    assert list(KINDS[kind].problem(case.puzzle).violations(values)) == []


@pytest.mark.parametrize(("kind", "case"), SOLVED, ids=named)
def test_drawings_are_rectangular_and_distinguish_puzzle_from_solution(kind, case):
    values = KINDS[kind].assignment(case.puzzle, case.solution)
    given = len(KINDS[kind].problem(case.puzzle).givens)
    puzzle, solution = KINDS[kind].render(case.puzzle), KINDS[kind].render(case.puzzle, values)

    lines = [line for line in solution.splitlines() if "every value" not in line]
    assert len({len(line) for line in lines}) == 1
    assert (puzzle == solution) == (given == len(values))
    assert len(puzzle) == len(solution)


@pytest.mark.parametrize(("kind", "case"), CASES, ids=named)
def test_equal_texts_share_rules_and_variables_have_names(kind, case):
    """Equal texts share their rules, and every variable has a distinct name."""
    first, second = KINDS[kind].problem(case.puzzle), KINDS[kind].problem(case.puzzle)
    names = [KINDS[kind].name(case.puzzle, variable) for variable in range(len(first.rules.domains))]

    assert first.rules is second.rules
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("kind", KINDS)
def test_docstring_examples_match_the_drawings(kind):
    found = doctest.testmod(import_module(f"cagematch.problems.kinds.{kind}"))

    assert found.attempted
    assert not found.failed
