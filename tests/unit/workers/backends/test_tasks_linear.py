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

# Ordered by family: the process of a family runs until the next family starts.
MIP = (
    *("scip", "cbc", "highs", "bop", "sat-mip"),
    "pulp-cbc",
    *("highspy", "pulp-highs"),
    *("pyscipopt", "pulp-scip"),
)
LIMIT_S = 60.0
COUNT, UNIQUE, REPAIR = Asked(Task.COUNT, 1_000), Asked(Task.UNIQUE), Asked(Task.REPAIR)

NINE = "..3.2.6..........1..18.64....81.29..7.......8..67.82....26.95..8..2.3..9..5.1.3.."  # nine solutions
ONE = "..3.2.6..9..3.5..1..18.64....81.29..7.......8..67.82....26.95..8..2.3..9..5.1.3.."
NONE = "12........3...4."  # no value is left for the third cell: 1 and 2 are in its row, 3 and 4 in its column
# Random clues with many conflicts, and their fewest changes, as found by three independent families of solvers.
CLASHES = {
    "111111111" + "." * 72: 8,
    "..2.54..7..............3139.................5...........6......9..........1.214..": 2,
    "98.1...8....3....11.7.......3.7.......6.....6....52...2.5..1....4.294.51.6.......": 4,
}
LARGE = "".join(Random(2).choices("123456789ABCDEFG" + "." * 16, k=16**2))
LEAST = 44  # as found by BOP and CP-SAT within some seconds
# Three different values from 1 to 5 with the sum 6 are 1, 2 and 3, in six orders.
CAGE = Rules(((1, 2, 3, 4, 5),) * 3, (Sum((0, 1, 2), 6, "cage"), AllDifferent((0, 1, 2), "cage")))


@pytest.fixture(params=MIP, scope="module")
def chosen(request: pytest.FixtureRequest) -> Configuration:
    name = request.param
    if not installed(name):
        pytest.skip(f"{name} is not installed: {entry(name).install_hint(name)}")
    return configuration(name)


@pytest.fixture(params=["sum", "sets"], scope="module")
def caged(request: pytest.FixtureRequest, chosen: Configuration) -> Configuration:
    """A configuration with each formulation of cages."""
    return configuration(f"{chosen.backend}:cages={request.param}")


@pytest.fixture(scope="module", autouse=True)
def processes() -> Iterator[None]:
    yield
    end()


@cache
def installed(name: str) -> bool:
    return alone(name, version, name) is not None


def different(problem: Problem, found: Measured) -> int:
    """Return the number of different solutions found; all must be solutions."""
    assignments = [found.assignment, *found.more] if found.assignment else []
    assert all(map(problem.is_solution, assignments))
    return len(set(map(tuple, assignments)))


def changes(problem: Problem, found: Measured) -> int:
    """Return the number of clues that a repair changed; it must be a solution of the rules."""
    assert Problem(problem.rules).is_solution(found.assignment)
    return changed(problem, found.assignment)


def changed(problem: Problem, assignment: list[int]) -> int:
    return sum(assignment[variable] != value for variable, value in problem.givens)


def test_queens_are_counted(chosen: Configuration):
    found = measured(chosen, ("queens", "6"), LIMIT_S, asked=COUNT)

    assert (found.stop, found.count, found.complete, found.detail) == (Stop.FINISHED, 4, True, "")
    assert different(problem_of("queens", "6"), found) == 4


@pytest.mark.parametrize("name", ["bop", "sat-mip"])
def test_fast_backends_count_eight_queens(name: str):
    found = measured(configuration(name), ("queens", "8"), LIMIT_S, asked=COUNT)

    assert (found.stop, found.count, found.complete) == (Stop.FINISHED, 92, True)
    assert different(problem_of("queens", "8"), found) == 92


def test_the_solutions_of_a_sudoku_are_counted(chosen: Configuration):
    found = measured(chosen, ("sudoku", NINE), LIMIT_S, asked=COUNT)

    assert (found.stop, found.count, found.complete) == (Stop.FINISHED, 9, True)
    assert different(problem_of("sudoku", NINE), found) == 9


@pytest.mark.parametrize(("text", "count", "complete"), [(ONE, 1, True), (NINE, 2, False), (NONE, 0, True)])
def test_one_several_and_no_solutions_are_distinguished(chosen: Configuration, text: str, count: int, complete: bool):
    found = measured(chosen, ("sudoku", text), LIMIT_S, asked=UNIQUE)

    assert (found.stop, found.count, found.complete) == (Stop.FINISHED, count, complete)
    assert found.answer is (Answer.SOLUTION if count else Answer.NONE)
    assert different(problem_of("sudoku", text), found) == count


def test_a_count_stops_at_its_bound(chosen: Configuration):
    found = measured(chosen, ("sudoku", "." * 16), LIMIT_S, asked=Asked(Task.COUNT, 5))

    assert (found.stop, found.count, found.complete) == (Stop.FINISHED, 5, False)


def test_excluded_solutions_return_in_the_next_run(caged: Configuration):
    found = [measured(caged, Problem(CAGE), LIMIT_S, asked=COUNT) for _ in range(2)]

    assert [(one.count, one.complete) for one in found] == [(6, True)] * 2
    assert [different(Problem(CAGE), one) for one in found] == [6, 6]


@pytest.mark.parametrize("text", CLASHES)
def test_a_repair_makes_the_fewest_changes(chosen: Configuration, text: str):
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
    """Return all 288 grids of 4 × 4, as enumerated by propagation."""
    found = measure(configuration("propagation"), problem_of("sudoku", "." * 16), 1, LIMIT_S, COUNT)
    assert found.count == 288
    return [found.assignment, *found.more]


def test_a_repair_obeys_the_cages(caged: Configuration):
    problem = Problem(CAGE, ((0, 5), (1, 1)))

    found = measured(caged, problem, LIMIT_S, asked=REPAIR)

    assert found.complete
    assert changes(problem, found) == 1


def test_a_solvable_puzzle_is_not_changed(chosen: Configuration):
    found = measured(chosen, ("sudoku", ONE), LIMIT_S, asked=REPAIR)

    assert found.complete
    assert changes(problem_of("sudoku", ONE), found) == 0


def test_unsatisfiable_rules_cannot_be_repaired(chosen: Configuration):
    found = measured(chosen, ("queens", "3"), LIMIT_S, asked=REPAIR)

    assert (found.answer, found.stop) == (Answer.NONE, Stop.FINISHED)


def test_a_repair_does_not_affect_the_next_run(chosen: Configuration):
    text = next(iter(CLASHES))
    measured(chosen, ("sudoku", text), LIMIT_S, asked=REPAIR)

    assert measured(chosen, ("sudoku", text), LIMIT_S).answer is Answer.NONE
    assert measured(chosen, ("sudoku", ONE), LIMIT_S).answer is Answer.SOLUTION


@pytest.mark.parametrize("limit_s", [0.02, 0.3, 1.0])
def test_a_timed_out_count_is_incomplete(chosen: Configuration, limit_s: float):
    found = measured(chosen, ("sudoku", "." * 81), limit_s, asked=Asked(Task.COUNT, 10**9))

    assert (found.stop, found.complete or False) == (Stop.TIMEOUT, False)
    assert different(problem_of("sudoku", "." * 81), found) == (found.count or 0)


@pytest.mark.parametrize("limit_s", [0.3, pytest.param(2.0, marks=pytest.mark.slow)])
def test_only_a_minimal_repair_is_complete(chosen: Configuration, limit_s: float):
    """A repair that timed out may have more changes than necessary."""
    found = measured(chosen, ("sudoku", LARGE), limit_s, asked=REPAIR)

    assert found.stop is Stop.TIMEOUT or found.complete
    if found.answer is not Answer.UNKNOWN:
        number = changes(problem_of("sudoku", LARGE), found)
        assert number == LEAST if found.complete else number >= LEAST


def test_cage_sizes_match_the_library(caged: Configuration):
    expected = size(caged, CAGE)

    assert (sum(expected.variables.values()), sum(expected.constraints.values())) == counted(caged, Problem(CAGE))


@pytest.mark.parametrize("name", ["clp", "glop", "pdlp"])
@pytest.mark.parametrize("asked", [UNIQUE, COUNT, REPAIR], ids=lambda asked: asked.task)
def test_a_relaxation_supports_only_solving(name: str, asked: Asked):
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
def test_an_incomplete_enumeration_returns_its_status(end: str):
    found, taken = enumerated(["yes", end])

    assert (found.native, found.complete, len(taken)) == (end, False, 1)


def test_an_enumeration_stops_at_its_bound():
    found, taken = enumerated(["yes"] * 5, bound=2)

    assert (found.native, found.complete, len(taken)) == ("yes", False, 2)


@pytest.mark.parametrize("name", ["cbc", "pulp-cbc"])
def test_a_limit_is_not_a_refutation(name: str):
    """When stopped, CBC reported an empty grid as infeasible: after 8 ms, and after 15 to 40 ms through PuLP."""
    for limit_ms in range(4, 44, 2):
        found = measured(configuration(name), ("sudoku", "." * 81), limit_ms / 1000)

        assert found.answer is not Answer.NONE, limit_ms


@pytest.mark.parametrize(("limit_s", "native"), [(LIMIT_S, "no"), (0.0, "late")])
def test_a_late_refutation_is_a_timeout(limit_s: float, native: str):
    search = in_time(lambda *_: Found("no", None, {"nodes": 10}), STATUSES, "late")

    assert search(None, limit_s) == Found(native, None, {"nodes": 10})


def test_an_expired_enumeration_starts_no_search():
    found, taken = enumerated(["yes"], limit_s=0.0)

    assert (found.native, found.complete, taken) == ("late", False, [])
