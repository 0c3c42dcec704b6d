"""Unique, count and repair by the MIP backends, which find one solution at a time, or the best one."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from random import Random

import pytest
from families import alone, counted, end, measured

from cagematch.problems.constraints import AllDifferent, Sum
from cagematch.problems.outcome import Answer, Asked, Stop, Task
from cagematch.problems.problem import Problem, Rules
from cagematch.workers.backends import entry, version
from cagematch.workers.backends._cbc import in_time
from cagematch.workers.backends._cuts import Cutting
from cagematch.workers.backends.contract import OUT_OF_TIME, REFUTED, SOLVED, Found
from cagematch.workers.configurations import Configuration, configuration
from cagematch.workers.sandbox.solving import Measured, measure, problem_of, size

pytestmark = pytest.mark.conformance

# Those of a family after one another: its process lives on until the next family's turn.
MIP = (
    *("scip", "cbc", "highs", "bop", "sat-mip"),
    "pulp-cbc",
    *("highspy", "pulp-highs"),
    *("pyscipopt", "pulp-scip"),
)
LIMIT_S = 60.0
COUNT, UNIQUE, REPAIR = Asked(Task.COUNT, 1_000), Asked(Task.UNIQUE), Asked(Task.REPAIR)

NINE = "..3.2.6..........1..18.64....81.29..7.......8..67.82....26.95..8..2.3..9..5.1.3.."  # solutions, so many
ONE = "..3.2.6..9..3.5..1..18.64....81.29..7.......8..67.82....26.95..8..2.3..9..5.1.3.."
NONE = "12........3...4."  # no value is left for the third cell: 1 and 2 are in its row, 3 and 4 in its column
# Random clues, many of which clash, and how many must change: 3 independent families of solvers say so.
CLASHES = {
    "111111111" + "." * 72: 8,
    "..2.54..7..............3139.................5...........6......9..........1.214..": 2,
    "98.1...8....3....11.7.......3.7.......6.....6....52...2.5..1....4.294.51.6.......": 4,
}
LARGE = "".join(Random(2).choices("123456789ABCDEFG" + "." * 16, k=16**2))
LEAST = 44  # say BOP and CP-SAT, which take some seconds
# Three different ones of 1 to 5 that add up to 6 are 1, 2 and 3: six ways.
CAGE = Rules(((1, 2, 3, 4, 5),) * 3, (Sum((0, 1, 2), 6, "cage"), AllDifferent((0, 1, 2), "cage")))


@pytest.fixture(params=MIP, scope="module")
def chosen(request: pytest.FixtureRequest) -> Configuration:
    name = request.param
    if not installed(name):
        pytest.skip(f"{name} is not installed: {entry(name).install_hint(name)}")
    return configuration(name)


@pytest.fixture(params=["sum", "sets"], scope="module")
def caged(request: pytest.FixtureRequest, chosen: Configuration) -> Configuration:
    """A configuration with its cages told either way."""
    return configuration(f"{chosen.backend}:cages={request.param}")


@pytest.fixture(scope="module", autouse=True)
def processes() -> Iterator[None]:
    yield
    end()


@cache
def installed(name: str) -> bool:
    return alone(name, version, name) is not None


def different(problem: Problem, found: Measured) -> int:
    """How many different solutions are among those that were found, all of which must be solutions."""
    told = [found.assignment, *found.more] if found.assignment else []
    assert all(map(problem.is_solution, told))
    return len(set(map(tuple, told)))


def changes(problem: Problem, found: Measured) -> int:
    """How many clues a repair changed, which must be a solution of the rules."""
    assert Problem(problem.rules).is_solution(found.assignment)
    return changed(problem, found.assignment)


def changed(problem: Problem, assignment: list[int]) -> int:
    return sum(assignment[variable] != value for variable, value in problem.givens)


def test_queens_are_counted(chosen: Configuration):
    found = measured(chosen, ("queens", "6"), LIMIT_S, asked=COUNT)

    assert (found.stop, found.count, found.complete, found.detail) == (Stop.FINISHED, 4, True, "")
    assert different(problem_of("queens", "6"), found) == 4


@pytest.mark.parametrize("name", ["bop", "sat-mip"])
def test_the_quick_ones_count_queens_on_a_chessboard(name: str):
    found = measured(configuration(name), ("queens", "8"), LIMIT_S, asked=COUNT)

    assert (found.stop, found.count, found.complete) == (Stop.FINISHED, 92, True)
    assert different(problem_of("queens", "8"), found) == 92


def test_the_solutions_of_a_sudoku_are_counted(chosen: Configuration):
    found = measured(chosen, ("sudoku", NINE), LIMIT_S, asked=COUNT)

    assert (found.stop, found.count, found.complete) == (Stop.FINISHED, 9, True)
    assert different(problem_of("sudoku", NINE), found) == 9


@pytest.mark.parametrize(("text", "count", "complete"), [(ONE, 1, True), (NINE, 2, False), (NONE, 0, True)])
def test_one_solution_several_and_none_are_told_apart(chosen: Configuration, text: str, count: int, complete: bool):
    found = measured(chosen, ("sudoku", text), LIMIT_S, asked=UNIQUE)

    assert (found.stop, found.count, found.complete) == (Stop.FINISHED, count, complete)
    assert found.answer is (Answer.SOLUTION if count else Answer.NONE)
    assert different(problem_of("sudoku", text), found) == count


def test_a_count_stops_at_its_bound(chosen: Configuration):
    found = measured(chosen, ("sudoku", "." * 16), LIMIT_S, asked=Asked(Task.COUNT, 5))

    assert (found.stop, found.count, found.complete) == (Stop.FINISHED, 5, False)


def test_what_was_cut_off_is_there_again_for_the_next(caged: Configuration):
    found = [measured(caged, Problem(CAGE), LIMIT_S, asked=COUNT) for _ in range(2)]

    assert [(one.count, one.complete) for one in found] == [(6, True)] * 2
    assert [different(Problem(CAGE), one) for one in found] == [6, 6]


@pytest.mark.parametrize("text", CLASHES)
def test_no_fewer_changes_than_a_repair_makes_would_do(chosen: Configuration, text: str):
    found = measured(chosen, ("sudoku", text), LIMIT_S, asked=REPAIR)

    assert (found.answer, found.stop, found.complete) == (Answer.SOLUTION, Stop.FINISHED, True)
    assert changes(problem_of("sudoku", text), found) == CLASHES[text]


@pytest.mark.parametrize("seed", range(3))
def test_a_repair_is_the_nearest_of_all_grids(chosen: Configuration, seed: int):
    symbols = Random(seed).choices("1234..", k=16)
    problem = problem_of("sudoku", "".join(symbols))

    found = measured(chosen, problem, LIMIT_S, asked=REPAIR)

    assert found.complete
    assert changes(problem, found) == min(changed(problem, grid) for grid in small_grids())


@cache
def small_grids() -> list[list[int]]:
    """All 288 grids of 4 × 4, by a backend that tries them out."""
    found = measure(configuration("propagation"), problem_of("sudoku", "." * 16), 1, LIMIT_S, COUNT)
    assert found.count == 288
    return [found.assignment, *found.more]


def test_a_repair_keeps_to_the_cages(caged: Configuration):
    problem = Problem(CAGE, ((0, 5), (1, 1)))

    found = measured(caged, problem, LIMIT_S, asked=REPAIR)

    assert found.complete
    assert changes(problem, found) == 1


def test_what_needs_no_repair_is_left_as_it_is(chosen: Configuration):
    found = measured(chosen, ("sudoku", ONE), LIMIT_S, asked=REPAIR)

    assert found.complete
    assert changes(problem_of("sudoku", ONE), found) == 0


def test_rules_that_nothing_obeys_cannot_be_mended(chosen: Configuration):
    found = measured(chosen, ("queens", "3"), LIMIT_S, asked=REPAIR)

    assert (found.answer, found.stop) == (Answer.NONE, Stop.FINISHED)


def test_a_repair_leaves_nothing_behind_for_the_next(chosen: Configuration):
    text = next(iter(CLASHES))
    measured(chosen, ("sudoku", text), LIMIT_S, asked=REPAIR)

    assert measured(chosen, ("sudoku", text), LIMIT_S).answer is Answer.NONE
    assert measured(chosen, ("sudoku", ONE), LIMIT_S).answer is Answer.SOLUTION


@pytest.mark.parametrize("limit_s", [0.02, 0.3, 1.0])
def test_out_of_time_a_count_never_says_that_those_were_all(chosen: Configuration, limit_s: float):
    found = measured(chosen, ("sudoku", "." * 81), limit_s, asked=Asked(Task.COUNT, 10**9))

    assert (found.stop, found.complete or False) == (Stop.TIMEOUT, False)
    assert different(problem_of("sudoku", "." * 81), found) == (found.count or 0)


@pytest.mark.parametrize("limit_s", [0.3, pytest.param(2.0, marks=pytest.mark.slow)])
def test_out_of_time_a_repair_never_says_that_it_is_the_least(chosen: Configuration, limit_s: float):
    found = measured(chosen, ("sudoku", LARGE), limit_s, asked=REPAIR)

    assert found.stop is Stop.TIMEOUT or found.complete
    if found.answer is not Answer.UNKNOWN:
        made = changes(problem_of("sudoku", LARGE), found)
        assert made == LEAST if found.complete else made >= LEAST


def test_the_size_of_cages_is_what_the_library_counts(caged: Configuration):
    told = size(caged, CAGE)

    assert (sum(told.variables.values()), sum(told.constraints.values())) == counted(caged, Problem(CAGE))


@pytest.mark.parametrize("name", ["clp", "glop", "pdlp"])
@pytest.mark.parametrize("asked", [UNIQUE, COUNT, REPAIR], ids=lambda asked: asked.task)
def test_a_relaxation_does_no_more_than_solve(name: str, asked: Asked):
    found = measured(configuration(name), ("sudoku", ONE), LIMIT_S, asked=asked)

    assert found.stop is Stop.UNSUPPORTED


STATUSES = {"yes": SOLVED, "no": REFUTED, "late": OUT_OF_TIME}


def enumerated(ends: list[str], limit_s: float = LIMIT_S, bound: int = 9) -> tuple[Found, list[object]]:
    """Enumerate with searches that end one after another with these statuses, each with ten nodes."""
    left, taken = iter(ends), []

    def take(assignment: object) -> bool:
        taken.append(assignment)
        return len(taken) < bound

    found = (Found(end, (len(taken),), {"nodes": 10}) for end in left)
    cutting = Cutting(lambda *_: next(found), lambda *_: None, STATUSES, "late")
    return cutting.enumerate_all(None, limit_s, take), taken


def test_an_enumeration_is_complete_when_nothing_is_left():
    found, taken = enumerated(["yes", "yes", "no"])

    assert (found.native, found.complete, len(taken)) == ("no", True, 2)
    assert found.counters == {"nodes": 30}


@pytest.mark.parametrize("end", ["late", "never heard of"])
def test_an_enumeration_that_ends_otherwise_says_how(end: str):
    found, taken = enumerated(["yes", end])

    assert (found.native, found.complete, len(taken)) == (end, False, 1)


def test_an_enumeration_goes_on_as_long_as_more_are_wanted():
    found, taken = enumerated(["yes"] * 5, bound=2)

    assert (found.native, found.complete, len(taken)) == ("yes", False, 2)


@pytest.mark.parametrize("name", ["cbc", "pulp-cbc"])
def test_a_limit_is_no_proof_that_nothing_is_left(name: str):
    """CBC that was stopped early called an empty grid infeasible, at 8 ms, and at 15 to 40 ms by way of PuLP."""
    for limit_ms in range(4, 44, 2):
        found = measured(configuration(name), ("sudoku", "." * 81), limit_ms / 1000)

        assert found.answer is not Answer.NONE, limit_ms


@pytest.mark.parametrize(("limit_s", "native"), [(LIMIT_S, "no"), (0.0, "late")])
def test_a_refutation_that_comes_late_is_none(limit_s: float, native: str):
    search = in_time(lambda *_: Found("no", None, {"nodes": 10}), STATUSES, "late")

    assert search(None, limit_s) == Found(native, None, {"nodes": 10})


def test_an_enumeration_with_no_time_left_solves_no_more():
    found, taken = enumerated(["yes"], limit_s=0.0)

    assert (found.native, found.complete, taken) == ("late", False, [])
