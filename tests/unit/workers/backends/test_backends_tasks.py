"""Conformance beyond solving: all backends agree on the results of unique, count and repair.

The expected results are computed independently: a case contains its number of solutions, all assignments of a problem
that is not a puzzle are tried, and the fewest changes are found by removing one, two, … givens.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import combinations, product
from pathlib import Path

import pytest
from cases import cases
from conforming import CASES, EASY, HASTE_S, LIMIT_S, PUZZLES, RAN, RESTARTING, gave_up, installed, lacks, pigeons
from families import measured

from cagematch.problems.kinds import KINDS
from cagematch.problems.outcome import Answer, Asked, Known, Outcome, Status, Stop, Task, status_of, verdict
from cagematch.problems.problem import Problem
from cagematch.workers.backends import load
from cagematch.workers.configurations import Configuration, configuration
from cagematch.workers.sandbox.solving import Measured, measure, problem_of

pytestmark = pytest.mark.conformance

TASK_S = 3.0
BOUND = 20
SMALL = 36  # variables: every backend must finish at this size; on larger problems it may time out
FURTHER = (Task.UNIQUE, Task.COUNT, Task.REPAIR)
# Backends of each paradigm that enumerate solutions without restarting.
COUNTING = ("cp-sat", "legacy-cp", "propagation", "cadical", "glucose", "z3", "clingo", "choco", "pumpkin")
# Grids with several conflicts between clues; their fewest changes are computed as for the cases.
CLASHING = (
    ("sudoku", "X:J:.4....4.5.......2.12................AABBBBCAAABBCADDDDCEEDDFCEEFFFCCEEFF"),
    ("futoshiki", "2..^1....^.......>.<.3.1...>..6.v.^.5...>..."),
    ("latin", "2..3...2..1..1.."),
    ("sudoku", "53..7....6..195....98....6.8...6...44..8.3..77...2...6.6....28....419..5....8..79"),
)


def _chosen_cases() -> Iterator[tuple[str, str, int, str]]:
    """Yield a case of each kind, size and number of solutions; then the grids with conflicting clues."""
    seen = set()
    for kind, case in CASES:
        variables = len(problem_of(kind, case.puzzle).rules.domains)
        features = (kind, variables, min(case.count, BOUND + 1))
        easy = variables <= SMALL or (case.name.startswith("nine") and case.count < 3)
        if easy and features not in seen:
            seen.add(features)
            yield kind, case.puzzle, case.count, case.name
    for at, (kind, text) in enumerate(CLASHING):
        yield kind, text, 0, f"clashing:{at}"


TASKED = list(_chosen_cases())


@cache
def fewest(kind: str, text: str) -> int | None:
    """Return the fewest givens to change: the number to remove until propagation finds a solution."""
    return _fewest(KINDS[kind].problem(text))


def _fewest(problem: Problem) -> int | None:
    givens = problem.givens
    for changes in range(len(givens) + 1):
        for kept in combinations(givens, len(givens) - changes):
            if (
                measure(configuration("propagation"), Problem(problem.rules, kept), 1, LIMIT_S).answer
                is Answer.SOLUTION
            ):
                return changes
    return None


def every(problem: Problem) -> list[tuple[int, ...]]:
    """Return all solutions, by trying all assignments."""
    return [assignment for assignment in product(*problem.values) if problem.is_solution(assignment)]


def outcome(problem: Problem, asked: Asked, found: Measured) -> Outcome:
    """Return the outcome to store: solutions verified, and different from each other."""
    against = Problem(problem.rules) if asked.task is Task.REPAIR else problem
    solutions = [tuple(one) for one in (found.assignment, *found.more) if one is not None]
    holds = all(map(against.is_solution, solutions)) and len(set(solutions)) == len(solutions) if solutions else None
    repaired = asked.task is Task.REPAIR and solutions
    changes = sum(solutions[0][variable] != value for variable, value in problem.givens) if repaired else None
    return Outcome(asked.task, found.answer, found.stop, holds, found.count, found.complete, changes)


def expected(task: Task, count: int, least: int | None) -> Status:
    if (least is None) if task is Task.REPAIR else (count == 0):
        return Status.NO_SOLUTION
    if task is Task.UNIQUE:
        return Status.SEVERAL if count > 1 else Status.UNIQUE
    if task is Task.COUNT:
        return Status.OVER_BOUND if count > BOUND else Status.COUNTED
    return Status.REPAIRED


def check(problem: Problem, asked: Asked, found: Measured, count: int, least: int | None) -> None:
    result, known = outcome(problem, asked, found), Known(count, least)
    assert found.detail == ""
    assert status_of(result, verdict(result, known)) is expected(asked.task, count, least)
    if asked.task is Task.REPAIR:
        assert result.changes == least
    else:
        assert result.count == min(count, 2 if asked.task is Task.UNIQUE else asked.bound)


def further(chosen: Configuration, problem: Problem) -> list[Task]:
    """Return the backend's tasks besides solving; none if it does not handle the problem."""
    return [] if lacks(chosen, problem) else [task for task in FURTHER if task in load(chosen.backend).TASKS]


@pytest.mark.parametrize(("kind", "text", "count", "name"), TASKED, ids=[f"{kind}-{name}" for kind, *_, name in TASKED])
def test_every_task_agrees_with_the_case(chosen: Configuration, kind: str, text: str, count: int, name: str):
    problem = problem_of(kind, text)
    slow = not name.startswith(EASY.get(chosen.backend, name))
    sure = len(problem.rules.domains) <= SMALL and chosen.backend not in RESTARTING
    limit_s = HASTE_S if slow else LIMIT_S if sure else TASK_S

    for asked in (Asked(task, BOUND) for task in further(chosen, problem)):
        found = measured(chosen, (kind, text), limit_s, asked=asked)

        RAN[chosen.text] += 1
        late = found.stop is Stop.TIMEOUT and limit_s < LIMIT_S
        if not late and not gave_up(chosen, found):
            check(problem, asked, found, count, fewest(kind, text) if asked.task is Task.REPAIR else None)


@pytest.mark.parametrize("which", PUZZLES)
def test_every_task_agrees_with_exhaustive_search(chosen: Configuration, which: str):
    problem = PUZZLES[which]
    changed = [
        sum(one[variable] != value for variable, value in problem.givens) for one in every(Problem(problem.rules))
    ]

    for asked in (Asked(task, BOUND) for task in further(chosen, problem)):
        found = measured(chosen, problem, LIMIT_S, asked=asked)

        RAN[chosen.text] += 1
        if not gave_up(chosen, found):
            check(problem, asked, found, len(every(problem)), min(changed, default=None))


def test_a_count_may_equal_its_bound(chosen: Configuration):
    problem = problem_of("latin", "." * 9)
    if Task.COUNT in further(chosen, problem):
        found = measured(chosen, problem, LIMIT_S, asked=Asked(Task.COUNT, 12))

        assert gave_up(chosen, found) or (found.count, found.stop, found.answer) == (
            12,
            Stop.FINISHED,
            Answer.SOLUTION,
        )


def test_a_timed_out_enumeration_is_incomplete(chosen: Configuration):
    """An enumeration respects a short limit and does not claim completeness."""
    problem = problem_of("sudoku", "." * 81)
    if Task.COUNT in further(chosen, problem):
        found = measured(chosen, problem, 0.3, asked=Asked(Task.COUNT, 10**9))

        result = outcome(problem, Asked(Task.COUNT, 10**9), found)
        assert found.wall_s < 0.3 + 5.0
        assert found.stop is Stop.TIMEOUT
        assert not found.complete  # None where building the model took all the time
        assert result.holds is not False


def test_a_repair_respects_a_short_limit(chosen: Configuration):
    crowd = pigeons(12)
    problem = Problem(crowd.rules, tuple((pigeon, 0) for pigeon in range(12)))
    if Task.REPAIR in further(chosen, problem):
        found = measured(chosen, problem, 0.2, asked=Asked(Task.REPAIR))

        assert found.wall_s < 0.2 + 5.0
        assert gave_up(chosen, found) or (found.answer, found.stop) in (
            (Answer.UNKNOWN, Stop.TIMEOUT),
            (Answer.NONE, Stop.TIMEOUT),
            (Answer.NONE, Stop.FINISHED),
        )


def test_a_task_does_not_affect_the_next(chosen: Configuration):
    problem = problem_of("sudoku", cases("small")[0].puzzle)
    if Task.COUNT in further(chosen, problem):
        asked = [Asked(Task.COUNT), Asked(Task.SOLVE), Asked(Task.COUNT), Asked(Task.UNIQUE)]

        found = [measured(chosen, problem, LIMIT_S, asked=one) for one in asked]

        assert any(gave_up(chosen, one) for one in found) or [one.count for one in found] == [1, None, 1, 1]


def test_every_backend_counts_92_solutions_of_eight_queens():
    """At least five backends that count are installed."""
    text = KINDS["queens"].parse("8")
    counting = [configuration(name) for name in COUNTING if installed(name)]

    found = [measured(one, ("queens", text), LIMIT_S, asked=Asked(Task.COUNT, 1_000)) for one in counting]

    assert len(found) >= 5
    assert [(one.count, one.complete) for one in found] == [(92, True)] * len(found)


def test_removing_the_diagonals_adds_solutions():
    """A Sudoku X with one solution has several without its diagonals."""
    lines = (Path(__file__).resolve().parents[4] / "puzzles" / "sudoku-x.txt").read_text().splitlines()
    text = next(line for line in lines if line.startswith("X:"))
    chosen = configuration("cp-sat:workers=1")

    crossed = measured(chosen, ("sudoku", text), LIMIT_S, asked=Asked(Task.UNIQUE))
    plain = measured(chosen, ("sudoku", text.removeprefix("X:")), LIMIT_S, asked=Asked(Task.COUNT, 50))

    assert (crossed.count, crossed.complete) == (1, True)
    assert (plain.count, plain.complete) == (50, False)
