"""Conformance: every installed backend against the cases of every kind, and against problems that are not puzzles."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from cases import Case, cases
from conforming import (
    CASES,
    EASY,
    HASTE_S,
    LIMIT_S,
    LIMITLESS,
    PUZZLES,
    RAN,
    WITHOUT,
    gave_up,
    installed,
    lacks,
    pigeons,
    require,
)
from families import alone, counted, measured, statuses

from cagematch.problems.errors import ConfigurationError
from cagematch.problems.kinds import KINDS
from cagematch.problems.outcome import Answer, Stop, Task
from cagematch.workers import backends
from cagematch.workers.backends import BACKENDS, entry, load, version
from cagematch.workers.backends._linear import engine
from cagematch.workers.backends.contract import FAILED, GAVE_UP, OUT_OF_TIME, REFUTED, SOLVED, Parameter
from cagematch.workers.configurations import Configuration, configuration, configurations
from cagematch.workers.sandbox.loop import WARM_UP
from cagematch.workers.sandbox.solving import measure, problem_of, size

pytestmark = pytest.mark.conformance

ROOT = Path(__file__).resolve().parents[4]


@pytest.mark.smoke
def test_every_backend_of_the_original_comparison_is_installed():
    required = [name for name, found in BACKENDS.items() if not found.optional]

    assert {"cp-sat", "legacy-cp", "scip", "cbc", "clp", "glop", "bop", "sat-mip", "backtracking"} <= set(required)
    assert all(map(installed, required))


@pytest.mark.parametrize(("kind", "case"), CASES, ids=[f"{kind}-{case.name}" for kind, case in CASES])
def test_every_case_is_answered_correctly(chosen: Configuration, kind: str, case: Case):
    text = KINDS[kind].parse(case.puzzle)
    slow = not case.name.startswith(EASY.get(chosen.backend, case.name))

    found = measured(chosen, (kind, text), HASTE_S if slow else LIMIT_S)

    RAN[chosen.text] += 1
    if (slow and found.stop is Stop.TIMEOUT) or gave_up(chosen, found):
        return
    if lacks(chosen, problem_of(kind, text)):
        assert found.stop is Stop.UNSUPPORTED
        return
    assert (found.stop, found.detail) == (Stop.FINISHED, "")
    assert found.answer is (Answer.SOLUTION if case.count else Answer.NONE)
    if case.count:
        assert list(problem_of(kind, text).violations(found.assignment)) == []
    if case.solution:
        assert KINDS[kind].digits(text, found.assignment) == case.solution


@pytest.mark.parametrize("which", PUZZLES)
def test_problems_that_are_not_puzzles_are_answered_correctly(chosen: Configuration, which: str):
    problem = PUZZLES[which]

    found = measured(chosen, problem, LIMIT_S)

    RAN[chosen.text] += 1
    if gave_up(chosen, found):
        return
    if lacks(chosen, problem):
        assert found.stop is Stop.UNSUPPORTED
        return
    assert (found.stop, found.detail) == (Stop.FINISHED, "")
    assert found.answer is (Answer.NONE if which in WITHOUT else Answer.SOLUTION)
    assert which in WITHOUT or problem.is_solution(found.assignment)


@pytest.mark.smoke
def test_the_warm_up_is_solved(chosen: Configuration):
    found = measured(chosen, WARM_UP, LIMIT_S)

    assert found.answer is Answer.SOLUTION or gave_up(chosen, found)


@pytest.mark.parametrize("limit_s", [0.001, 0.2])
def test_a_short_limit_is_respected(chosen: Configuration, limit_s: float):
    problem = pigeons(12 if chosen.backend not in LIMITLESS else 5)

    found = measured(chosen, problem, limit_s)

    # A mixed-integer solver checks its clock only between two steps.
    assert found.wall_s < limit_s + 5.0
    assert gave_up(chosen, found) or (found.answer, found.stop) in (
        (Answer.UNKNOWN, Stop.TIMEOUT),
        (Answer.NONE, Stop.TIMEOUT),
        (Answer.NONE, Stop.FINISHED),
    )


def test_a_run_does_not_affect_the_next(chosen: Configuration):
    first, second = PUZZLES["three in two"], PUZZLES["plain"]

    found = [measured(chosen, problem, LIMIT_S) for problem in (first, second, first, second)]

    assert all(one.answer is Answer.NONE or gave_up(chosen, one) for one in found[::2])
    assert all(one.answer is Answer.SOLUTION or gave_up(chosen, one) for one in found[1::2])


def test_clues_do_not_remain_for_the_next_puzzle(chosen: Configuration):
    first, second, third = "1...............", "4...............", "1.4............."

    found = [measured(chosen, ("sudoku", text), LIMIT_S) for text in (first, second, third, first)]

    for text, one in zip((first, second, third, first), found, strict=True):
        assert gave_up(chosen, one) or problem_of("sudoku", text).is_solution(one.assignment)


def test_a_backend_fulfils_the_contract(name: str):
    backend = load(name)

    assert all(isinstance(handled, type) for handled in backend.HANDLES)
    assert backend.TASKS
    assert all(isinstance(task, Task) for task in backend.TASKS)
    assert all(isinstance(parameter, Parameter) for parameter in backend.PARAMETERS.values())
    for parameter in backend.PARAMETERS.values():
        assert parameter.default in parameter.choices if parameter.choices else parameter.default >= parameter.least


def test_a_status_table_has_the_required_meanings(name: str):
    meanings = list(load(name).STATUS.values())

    assert all(meaning in (SOLVED, REFUTED, GAVE_UP, OUT_OF_TIME, FAILED) for meaning in meanings)
    assert SOLVED in meanings
    assert OUT_OF_TIME in meanings or name in LIMITLESS
    assert REFUTED in meanings or name == "pdlp"  # its refutations are no proofs


def test_the_status_table_of_cp_sat_is_complete():
    cp_model = pytest.importorskip("ortools.sat.python.cp_model")

    assert set(load("cp-sat").STATUS) == set(type(cp_model.OPTIMAL).__members__)


def test_cp_sat_returns_its_log_on_request():
    found = measured(configuration("cp-sat:workers=1,log=on"), WARM_UP, LIMIT_S)

    assert (found.answer, found.stop) == (Answer.SOLUTION, Stop.FINISHED)
    assert "CpSolverResponse" in found.detail


def test_cp_sat_accepts_any_field_of_its_parameters():
    text = "cp-sat:workers=1,log=on,search_branching=FIXED_SEARCH,use_lns=false,restart_algorithms=NO_RESTART"

    found = measured(configuration(text + ",ignore_subsolvers=core+no_lp,random_branches_ratio=0.5"), WARM_UP, LIMIT_S)

    assert found.answer is Answer.SOLUTION
    assert all(word in found.detail for word in ("FIXED_SEARCH", "NO_RESTART", '"no_lp"', "0.5", "use_lns: false"))


def test_status_table_of_the_linear_solver_is_complete():
    solver = pytest.importorskip("ortools.linear_solver.pywraplp").Solver
    names = ("OPTIMAL", "FEASIBLE", "INFEASIBLE", "UNBOUNDED", "ABNORMAL", "MODEL_INVALID", "NOT_SOLVED")

    bulk = pytest.importorskip("ortools.linear_solver.linear_solver_pb2").MPSOLVER_UNKNOWN_STATUS

    assert {getattr(solver, name) for name in names} | {bulk} == set(load("scip").STATUS)


@pytest.mark.parametrize("name", ["highspy", "pyscipopt", "z3"])
def test_every_listed_status_is_in_the_table(name: str):
    """These libraries list their statuses."""
    require(name)

    assert alone(name, statuses, name) <= set(load(name).STATUS)


def test_legacy_cp_has_every_strategy_of_the_library():
    solver = pytest.importorskip("ortools.constraint_solver.pywrapcp").Solver
    ranking = {"CHOOSE_MIN_SLACK_RANK_FORWARD", "CHOOSE_RANDOM_RANK_FORWARD"}  # these order intervals, not integers
    var, val = (load("legacy-cp").PARAMETERS[which].choices for which in ("var", "val"))

    found = set(dir(solver))

    assert set(var) == {n for n in found if n.startswith(("CHOOSE_", "INT_VAR_"))} - ranking
    assert set(val) == {n for n in found if n.startswith(("ASSIGN_", "SPLIT_", "INT_VALUE_"))}


def test_every_legacy_strategy_solves_and_refutes():
    solvable, without = (problem_of("sudoku", case.puzzle) for case in (cases("small")[3], cases("small")[-1]))

    for chosen in configurations(["legacy-cp:var=*,val=*"]):
        assert measure(chosen, solvable, 1, LIMIT_S).answer is Answer.SOLUTION, chosen.text
        assert measure(chosen, without, 1, LIMIT_S).answer is Answer.NONE, chosen.text


def test_random_legacy_strategies_follow_the_seed():
    random = configuration("legacy-cp:var=CHOOSE_RANDOM,val=ASSIGN_RANDOM_VALUE")

    counters = [measured(random, ("sudoku", "1..............."), LIMIT_S, seed).counters for seed in (1, 1, 2, 3, 4)]

    assert counters[0] == counters[1]
    assert any(one != counters[0] for one in counters)


@pytest.mark.parametrize("seed", [0, 2**31, 2**63, -1])
def test_any_seed_is_accepted(chosen: Configuration, seed: int):
    found = measured(chosen, PUZZLES["plain"], LIMIT_S, seed)

    assert found.answer is Answer.SOLUTION or gave_up(chosen, found)


SIZED = {
    case.name: problem_of("sudoku", case.puzzle) for case in (cases("small")[3], cases("nine")[0], cases("large")[-1])
}


@pytest.mark.parametrize("which", [*SIZED, "one solution", "in order", "plain"])
def test_the_size_matches_the_library(chosen: Configuration, which: str):
    problem = (SIZED | PUZZLES)[which]
    if lacks(chosen, problem):
        return
    sizes = size(chosen, problem.rules)

    found = counted(chosen, problem)

    # None: the library does not count.
    assert found in (None, (sum(sizes.variables.values()), sum(sizes.constraints.values())))


def test_a_sudoku_has_the_textbook_model_sizes():
    rules = problem_of("sudoku", cases("nine")[0].puzzle).rules
    totals = {name: size(configuration(name), rules) for name in ("legacy-cp", "scip", "backtracking")}

    assert {name: sum(sizes.variables.values()) for name, sizes in totals.items()} == {
        "legacy-cp": 81,
        "scip": 729,
        "backtracking": 81,
    }
    assert {name: sum(sizes.constraints.values()) for name, sizes in totals.items()} == {
        "legacy-cp": 27,
        "scip": 324,
        "backtracking": 810,
    }


def test_the_version_is_read_from_the_library(name: str):
    assert any(symbol.isdigit() for symbol in alone(name, version, name))


@pytest.mark.parametrize("error", [ImportError, OSError])
def test_an_unusable_backend_has_no_version(monkeypatch, error):
    def missing() -> str:
        raise error

    monkeypatch.setattr(load("scip"), "version", missing)

    assert version("scip") is None


@pytest.mark.parametrize("name", [name for name, found in BACKENDS.items() if found.optional])
def test_a_backend_without_its_library_is_not_installed(name: str):
    libraries = (
        "pysat",
        "exact_cover",
        "z3",
        "clingo",
        "pychoco",
        "pumpkin_solver",
        "highspy",
        "pyscipopt",
        "minizinc",
    )
    script = f"""
import os, sys
sys.modules |= dict.fromkeys({libraries!r})
os.environ["PATH"] = ""
from cagematch.workers.backends import version
print(version({name!r}))
"""

    assert run(script) == "None"


def test_a_missing_engine_is_not_installed(monkeypatch):
    monkeypatch.setattr(load("scip"), "version", engine("GUROBI_OF_NOBODY")[0])

    assert version("scip") is None


def test_an_unknown_backend_is_reported_with_known_backends():
    with pytest.raises(ConfigurationError, match=r"'gecko'.*cp-sat.*backtracking"):
        entry("gecko")


def test_another_distribution_adds_a_backend_but_replaces_none(monkeypatch):
    ours = "cagematch.backends"
    points = [EntryPoint("theirs", "their.module", ours), EntryPoint("scip", "their.scip", ours)]
    monkeypatch.setattr(backends, "entry_points", lambda group: points if group == ours else [])
    backends.all_backends.cache_clear()

    try:
        found = backends.all_backends()
    finally:
        monkeypatch.undo()
        backends.all_backends.cache_clear()

    assert (found["theirs"].module, found["theirs"].family) == ("their.module", "theirs")
    assert found["scip"] == BACKENDS["scip"]


@pytest.mark.parametrize("name", BACKENDS)
def test_backends_load_no_solver_before_use(name: str):
    script = f"""
import sys
from cagematch.workers.backends import load
load({name!r})
print(sorted({{"ortools", "pulp", "numpy", "pysat", "z3", "clingo", "highspy", "pyscipopt"}} & set(sys.modules)))
"""

    assert run(script) == "[]"


@pytest.mark.parametrize(
    "order", [("pulp-cbc", "scip", "cp-sat"), ("scip", "cp-sat", "pulp-cbc")], ids=["PuLP first", "OR-Tools first"]
)
def test_libraries_can_be_imported_in_any_order(order: tuple[str, ...]):
    script = f"""
from cagematch.workers.configurations import configuration
from cagematch.workers.sandbox.solving import measure, problem_of
for name in {order!r}:
    print(measure(configuration(name), problem_of("sudoku", "12...4....3...2."), 1, 20.0).answer.value, end=" ")
"""

    assert run(script) == "solution solution solution"


def run(script: str) -> str:
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
