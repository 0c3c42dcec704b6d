"""Conformance: every installed backend against every kind's cases, and against problems that are no puzzle."""

from __future__ import annotations

import subprocess
import sys
import time
from itertools import combinations
from pathlib import Path

import pytest
from cases import Case, cases

from problems.constraints import AllDifferent, Less, NotEqual, Sum
from problems.errors import ConfigurationError
from problems.kinds import KINDS
from problems.outcome import Answer, Stop, Task
from problems.problem import Problem, Rules
from workers import backends
from workers.backends import BACKENDS, entry, load, version
from workers.backends.contract import FAILED, GAVE_UP, OUT_OF_TIME, REFUTED, SOLVED, Order, Parameter
from workers.configurations import Configuration, configuration, configurations
from workers.sandbox import WARM_UP
from workers.solving import measure, problem_of, size

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:pulp")  # PuLP speaks of its next version

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 20.0
INSTALLED = [name for name in BACKENDS if version(name)]
# One configuration a backend, and those whose models or searches differ most.
SPELLED = [
    *(name if name != "cp-sat" else "cp-sat:workers=1" for name in INSTALLED),
    *(["cp-sat:workers=1,encoding=bool", "cp-sat:workers=1,presolve=off", "cp-sat"] if "cp-sat" in INSTALLED else []),
    *(["cp-simple", "cp-min-size"] if "legacy-cp" in INSTALLED else []),
]
SLOW = ("backtracking",)  # no match for anything but small grids: it may time out, and must not err
FILES = {"sudoku": ("small", "nine", "search", "large")}
CASES = [(kind, case) for kind in KINDS for case in cases(*FILES[kind])]


def rules_of(constraints: list[object], *domains: tuple[int, ...]) -> Rules:
    return Rules(domains, tuple(constraints))


PUZZLES = {
    # Every constraint is needed: without any one of them there would be other solutions.
    "one solution": Problem(
        rules_of(
            [
                AllDifferent((0, 1, 2), "row"),
                Sum((0, 1, 3), 15, "cage"),
                NotEqual((2, 3), "line"),
                Sum((2, 3), 11, "cage"),
            ],
            (1, 2, 3),
            (2, 7),
            (1, 3),
            (5, 8, 10),
        )
    ),
    "sum out of reach": Problem(rules_of([Sum((0, 1), 9, "cage")], (1, 2, 3), (1, 2, 3))),
    "sum between": Problem(rules_of([Sum((0, 1), 4, "cage")], (1, 5), (1, 5))),
    "three in two": Problem(rules_of([AllDifferent((0, 1, 2), "row")], (1, 2), (1, 2), (1, 2))),
    "unlike itself": Problem(rules_of([NotEqual((0, 1), "line")], (4,), (4,))),
    "givens alike": Problem(rules_of([AllDifferent((0, 1), "row")], (1, 2, 3), (1, 2, 3)), ((0, 2), (1, 2))),
    "nothing to choose": Problem(rules_of([Sum((0, 1, 2), 3, "cage")], (1,), (1,), (1,))),
    "wrong with nothing to choose": Problem(rules_of([Sum((0, 1), 3, "cage")], (1,), (1,))),
    "zero and less": Problem(rules_of([Sum((0, 1), -3, "cage"), NotEqual((0, 1), "line")], (-3, 0), (-3, 0, 2))),
    "in order": Problem(rules_of([Less((0, 1), "sign"), Less((1, 2), "sign")], (2, 5, 9), (1, 4, 5), (3, 4, 5))),
    "in a circle": Problem(rules_of([Less((0, 1), "sign"), Less((1, 0), "sign")], (1, 2, 3), (1, 2, 3))),
    "never less": Problem(rules_of([Less((0, 1), "sign")], (4, 5), (1, 4))),
    "always less": Problem(rules_of([Less((0, 1), "sign")], (1, 2), (3,))),
    "large": Problem(rules_of([Sum((0, 1), 3_000, "cage")], (1_000, 2_500), (500, 1_500, 2_000))),
}
WITHOUT = (
    "sum out of reach",
    "sum between",
    "three in two",
    "unlike itself",
    "givens alike",
    "wrong with nothing to choose",
    "in a circle",
    "never less",
)
CHOSEN = {spelled: configuration(spelled) for spelled in SPELLED}


@pytest.fixture(params=SPELLED, scope="module")
def chosen(request: pytest.FixtureRequest) -> Configuration:
    return CHOSEN[request.param]


@pytest.fixture(params=INSTALLED, scope="module")
def name(request: pytest.FixtureRequest) -> str:
    return request.param


def pigeons(count: int) -> Problem:
    """One pigeon more than there are holes, told pair by pair: hard to refute, whatever looks at pairs only."""
    pairs = [NotEqual(pair, "pair") for pair in combinations(range(count), 2)]
    return Problem(Rules((tuple(range(count - 1)),) * count, tuple(pairs)))


def test_every_backend_of_the_original_comparison_is_installed():
    assert {"cp-sat", "legacy-cp", "scip", "cbc", "pulp-cbc", "backtracking"} <= set(INSTALLED)


@pytest.mark.parametrize(("kind", "case"), CASES, ids=[f"{kind}-{case.name}" for kind, case in CASES])
def test_every_case_is_answered_right(chosen: Configuration, kind: str, case: Case):
    problem = problem_of(kind, KINDS[kind].parse(case.puzzle))
    slow = chosen.backend in SLOW and not case.name.startswith("small")

    measured = measure(chosen, problem, 1, 0.05 if slow else LIMIT_S)

    if slow and measured.stop is Stop.TIMEOUT:
        return
    assert (measured.stop, measured.detail) == (Stop.FINISHED, "")
    assert measured.answer is (Answer.SOLUTION if case.count else Answer.NONE)
    if case.count:
        assert list(problem.violations(measured.assignment)) == []
    if case.solution:
        assert KINDS[kind].digits(case.puzzle, measured.assignment) == case.solution


@pytest.mark.parametrize("which", PUZZLES)
def test_sums_and_inequalities_are_handled_as_well(chosen: Configuration, which: str):
    problem = PUZZLES[which]

    measured = measure(chosen, problem, 1, LIMIT_S)

    assert (measured.stop, measured.detail) == (Stop.FINISHED, "")
    assert measured.answer is (Answer.NONE if which in WITHOUT else Answer.SOLUTION)
    assert which in WITHOUT or problem.is_solution(measured.assignment)


def test_the_warm_up_is_solved_at_once(chosen: Configuration):
    problem = problem_of(*WARM_UP)
    measure(chosen, problem, 0, LIMIT_S)

    measured = measure(chosen, problem, 0, 1.0)

    assert measured.answer is Answer.SOLUTION
    assert measured.wall_s < 0.5


@pytest.mark.parametrize("limit_s", [0.001, 0.2])
def test_a_short_limit_is_kept(chosen: Configuration, limit_s: float):
    problem = pigeons(12)

    started = time.monotonic()
    measured = measure(chosen, problem, 1, limit_s)
    took = time.monotonic() - started

    # A mixed-integer solver looks at its clock between two of its steps only.
    assert took < limit_s + 1.0
    assert (measured.answer, measured.stop) in (
        (Answer.UNKNOWN, Stop.TIMEOUT),
        (Answer.NONE, Stop.TIMEOUT),
        (Answer.NONE, Stop.FINISHED),
    )


def test_a_run_leaves_nothing_behind_for_the_next(chosen: Configuration):
    first, second = PUZZLES["sum out of reach"], PUZZLES["one solution"]

    answers = [measure(chosen, problem, 1, LIMIT_S).answer for problem in (first, second, first, second)]

    assert answers == [Answer.NONE, Answer.SOLUTION] * 2


def test_a_backend_has_what_a_backend_provides(name: str):
    backend = load(name)

    assert all(isinstance(handled, type) for handled in backend.HANDLES)
    assert backend.TASKS
    assert all(isinstance(task, Task) for task in backend.TASKS)
    assert all(isinstance(parameter, Parameter) for parameter in backend.PARAMETERS.values())
    for parameter in backend.PARAMETERS.values():
        assert parameter.default in parameter.choices if parameter.choices else parameter.default >= parameter.least


def test_a_status_table_tells_a_solution_from_a_refutation_and_from_a_limit(name: str):
    meanings = list(load(name).STATUS.values())

    assert all(meaning in (SOLVED, REFUTED, GAVE_UP, OUT_OF_TIME, FAILED) for meaning in meanings)
    assert {SOLVED, REFUTED, OUT_OF_TIME} <= set(meanings)


def test_the_table_of_cp_sat_is_complete():
    cp_model = pytest.importorskip("ortools.sat.python.cp_model")

    assert set(load("cp-sat").STATUS) == set(type(cp_model.OPTIMAL).__members__)


def test_the_table_of_the_linear_solver_is_complete():
    solver = pytest.importorskip("ortools.linear_solver.pywraplp").Solver
    names = ("OPTIMAL", "FEASIBLE", "INFEASIBLE", "UNBOUNDED", "ABNORMAL", "MODEL_INVALID", "NOT_SOLVED")

    assert {getattr(solver, name) for name in names} <= set(load("scip").STATUS)


def test_the_strategies_of_the_legacy_solver_are_those_that_the_library_has():
    solver = pytest.importorskip("ortools.constraint_solver.pywrapcp").Solver
    ranking = {"CHOOSE_MIN_SLACK_RANK_FORWARD", "CHOOSE_RANDOM_RANK_FORWARD"}  # these order intervals, not integers
    var, val = (load("legacy-cp").PARAMETERS[which].choices for which in ("var", "val"))

    found = set(dir(solver))

    assert set(var) == {n for n in found if n.startswith(("CHOOSE_", "INT_VAR_"))} - ranking
    assert set(val) == {n for n in found if n.startswith(("ASSIGN_", "SPLIT_", "INT_VALUE_"))}


def test_every_strategy_of_the_legacy_solver_solves_and_refutes():
    solvable, without = (problem_of("sudoku", case.puzzle) for case in (cases("small")[3], cases("small")[-1]))

    for chosen in configurations(["legacy-cp:var=*,val=*"]):
        assert measure(chosen, solvable, 1, LIMIT_S).answer is Answer.SOLUTION, chosen.text
        assert measure(chosen, without, 1, LIMIT_S).answer is Answer.NONE, chosen.text


@pytest.mark.parametrize("seed", [0, 2**31, 2**63, -1])
def test_any_seed_will_do(chosen: Configuration, seed: int):
    measured = measure(chosen, PUZZLES["one solution"], seed, LIMIT_S)

    assert measured.answer is Answer.SOLUTION


def built_size(name: str, model: tuple) -> tuple[int, int]:
    """Variables and constraints, as the library counts them in the model."""
    counts = {
        "cp-sat": lambda m: (len(m[0].proto.variables), len(m[0].proto.constraints)),
        "legacy-cp": lambda m: (len(m[1]), m[0].Constraints()),
        "scip": lambda m: (m[0].NumVariables(), m[0].NumConstraints()),
        "cbc": lambda m: (m[0].NumVariables(), m[0].NumConstraints()),
        "pulp-cbc": lambda m: (m[0].numVariables(), m[0].numConstraints()),
        "backtracking": lambda m: (len(m[0]), len(m[1][-1])),
    }
    if name not in counts:
        pytest.skip(f"no way is known to count in a model of {name}")
    return counts[name](model)


@pytest.mark.parametrize("case", [cases("small")[3], cases("nine")[0], cases("large")[-1]], ids=lambda case: case.name)
def test_the_size_is_what_the_library_counts_in_the_model(chosen: Configuration, case: Case):
    problem = problem_of("sudoku", case.puzzle)

    model = load(chosen.backend).build(problem, Order(chosen.settings, 1))
    told = size(chosen, problem.rules)

    assert (sum(told.variables.values()), sum(told.constraints.values())) == built_size(chosen.backend, model)


def test_the_size_of_sums_and_inequalities_is_counted_too(chosen: Configuration):
    problem = PUZZLES["one solution"]

    model = load(chosen.backend).build(problem, Order(chosen.settings, 1))
    told = size(chosen, problem.rules)

    assert (sum(told.variables.values()), sum(told.constraints.values())) == built_size(chosen.backend, model)


def test_a_sudoku_has_the_sizes_that_textbooks_give():
    rules = problem_of("sudoku", cases("nine")[0].puzzle).rules
    totals = {name: size(configuration(name), rules) for name in ("legacy-cp", "scip", "backtracking")}

    assert {name: sum(told.variables.values()) for name, told in totals.items()} == {
        "legacy-cp": 81,
        "scip": 729,
        "backtracking": 81,
    }
    assert {name: sum(told.constraints.values()) for name, told in totals.items()} == {
        "legacy-cp": 27,
        "scip": 324,
        "backtracking": 810,
    }


def test_a_version_is_asked_of_the_library(name: str):
    assert any(symbol.isdigit() for symbol in version(name))


@pytest.mark.parametrize("error", [ImportError, OSError])
def test_a_backend_that_cannot_run_here_has_no_version(monkeypatch, error):
    def missing() -> str:
        raise error

    monkeypatch.setattr(load("scip"), "version", missing)

    assert version("scip") is None


def test_an_engine_that_the_library_was_built_without_counts_as_not_installed(monkeypatch):
    monkeypatch.setattr(load("scip"), "ENGINE", "GUROBI_OF_NOBODY")

    assert version("scip") is None


def test_an_unknown_backend_is_named_with_those_there_are():
    with pytest.raises(ConfigurationError, match=r"'chuffed'.*cp-sat.*backtracking"):
        entry("chuffed")


def test_another_distribution_adds_a_backend_but_replaces_none(monkeypatch):
    class Point:
        def __init__(self, name: str, value: str) -> None:
            self.name, self.value = name, value

    points = [Point("theirs", "their.module"), Point("scip", "their.scip")]
    monkeypatch.setattr(backends, "entry_points", lambda group: points if group == "cagematch.backends" else [])
    backends.all_backends.cache_clear()

    try:
        found = backends.all_backends()
    finally:
        monkeypatch.undo()
        backends.all_backends.cache_clear()

    assert (found["theirs"].module, found["theirs"].family) == ("their.module", "theirs")
    assert found["scip"] == BACKENDS["scip"]


@pytest.mark.parametrize("name", BACKENDS)
def test_a_backend_loads_no_solver_before_it_is_used(name: str):
    script = f"""
import sys
from workers.backends import load
load({name!r})
print(sorted({{"ortools", "pulp", "numpy"}} & set(sys.modules)))
"""

    assert run(script) == "[]"


@pytest.mark.parametrize(
    "order", [("pulp-cbc", "scip", "cp-sat"), ("scip", "cp-sat", "pulp-cbc")], ids=["PuLP first", "OR-Tools first"]
)
def test_solvers_work_in_whichever_order_their_libraries_are_imported(order: tuple[str, ...]):
    script = f"""
from workers.configurations import configuration
from workers.solving import measure, problem_of
for name in {order!r}:
    print(measure(configuration(name), problem_of("sudoku", "12...4....3...2."), 1, 20.0).answer.value, end=" ")
"""

    assert run(script) == "solution solution solution"


def run(script: str) -> str:
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
