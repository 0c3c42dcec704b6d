"""Conformance: every installed backend against every kind's cases, and against problems that are no puzzle."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib.metadata import EntryPoint
from itertools import combinations
from pathlib import Path

import pytest
from cases import Case, cases, cases_of
from families import alone, counted, end, measured, statuses

from problems.constraints import AllDifferent, Less, NotEqual, Sum
from problems.errors import ConfigurationError
from problems.kinds import KINDS
from problems.outcome import Answer, Stop, Task
from problems.problem import Problem, Rules
from workers import backends
from workers.backends import BACKENDS, entry, load, version
from workers.backends.contract import FAILED, GAVE_UP, OUT_OF_TIME, REFUTED, SOLVED, Parameter
from workers.configurations import Configuration, configuration, configurations
from workers.sandbox import WARM_UP
from workers.solving import Measured, measure, problem_of, size

pytestmark = pytest.mark.conformance

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 20.0
# Several configurations where models or searches differ most; else a backend alone.
MANY = {
    "cp-sat": (
        "cp-sat:workers=1",
        "cp-sat:workers=1,encoding=bool",
        "cp-sat:workers=1,presolve=off",
        "cp-sat:workers=1,cages=sets",
        "cp-sat:workers=1,cages=sets,encoding=bool",
        "cp-sat-fast",
        "cp-sat",
    ),
    "scip": ("scip", "scip:cages=sets"),
    "cadical": ("cadical", "cadical:cages=sets"),
    "legacy-cp": ("legacy-cp", "cp-simple", "cp-min-size", "legacy-cp:alldifferent=values"),
}
SPELLED = [spelled for name in BACKENDS for spelled in MANY.get(name, (name,))]
RELAXED = ("clp", "glop", "pdlp")  # a fractional optimum is no answer, and no proof
# What a backend is a match for: on other cases it may time out, and must not err.
EASY = {"backtracking": ("small",)}
HASTE_S = 0.05
LIMITLESS = ("exact-cover",)  # its library knows no limit, and leaves it to the keeper
CASES = [(kind, case) for kind in KINDS for case in cases_of(kind)]


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
    "plain": Problem(rules_of([AllDifferent((0, 1, 2), "row"), Less((0, 2), "sign")], *((1, 2, 3),) * 3), ((1, 2),)),
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
    "in other words": Problem(
        rules_of([Sum((0, 2), 4, "link"), Sum((1, 3), 4, "link"), Less((2, 3), "sign")], *((1, 2, 3),) * 4), ((0, 3),)
    ),
    "one in other words, and not": Problem(
        rules_of(
            [Sum((0, 1), 0, "link"), AllDifferent((0, 2), "row"), Sum((1, 2), 0, "link")], (-1, 1), (-1, 1), (-1, 1)
        )
    ),
    # 1 + 5 and 2 + 4, 1 + 2 + 3: one way only for both.
    "sets": Problem(
        rules_of(
            [
                Sum((0, 1), 6, "cage"),
                AllDifferent((0, 1, 2, 3), "row"),
                Sum((3, 4, 5), 6, "cage"),
                AllDifferent((3, 4, 5), "cage"),
                Less((0, 1), "sign"),
                Less((1, 2), "sign"),
            ],
            *((1, 2, 3, 4, 5),) * 6,
        )
    ),
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
    "one in other words, and not",
    "never less",
)
RAN: Counter[str] = Counter()


@pytest.fixture(params=SPELLED, scope="module")
def chosen(request: pytest.FixtureRequest) -> Configuration:
    found = configuration(request.param)
    require(found.backend)
    return found


@pytest.fixture(params=BACKENDS, scope="module")
def name(request: pytest.FixtureRequest) -> str:
    require(request.param)
    return request.param


@pytest.fixture(scope="module", autouse=True)
def combinations_told(request: pytest.FixtureRequest) -> Iterator[None]:
    """Say how many combinations of a configuration with a case, or with a problem that is no puzzle, were run."""
    yield
    end()
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        print(f"\n{RAN.total():,} combinations of {len(RAN)} configurations with cases and problems ran")


@cache
def installed(name: str) -> bool:
    return alone(name, version, name) is not None


def require(name: str) -> None:
    if not installed(name):
        pytest.skip(f"{name} is not installed: {entry(name).cure(name)}")


def gave_up(chosen: Configuration, found: Measured) -> bool:
    """Whether a relaxation ended with a fractional optimum, which any but a proof may."""
    return chosen.backend in RELAXED and (found.answer, found.stop) == (Answer.UNKNOWN, Stop.FINISHED)


def pigeons(count: int) -> Problem:
    """One pigeon more than there are holes, told pair by pair: hard to refute, whatever looks at pairs only."""
    pairs = [NotEqual(pair, "pair") for pair in combinations(range(count), 2)]
    return Problem(Rules((tuple(range(count - 1)),) * count, tuple(pairs)))


def lacks(chosen: Configuration, problem: Problem) -> bool:
    """Whether the backend says itself that it cannot handle one of the constraints."""
    return not all(isinstance(constraint, load(chosen.backend).HANDLES) for constraint in problem.constraints)


@pytest.mark.smoke
def test_every_backend_of_the_original_comparison_is_installed():
    required = [name for name, found in BACKENDS.items() if not found.optional]

    assert {"cp-sat", "legacy-cp", "scip", "cbc", "clp", "glop", "bop", "sat-mip", "backtracking"} <= set(required)
    assert all(map(installed, required))


@pytest.mark.parametrize(("kind", "case"), CASES, ids=[f"{kind}-{case.name}" for kind, case in CASES])
def test_every_case_is_answered_right(chosen: Configuration, kind: str, case: Case):
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
def test_sums_and_inequalities_are_handled_as_well(chosen: Configuration, which: str):
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
def test_the_warm_up_is_solved_at_once(chosen: Configuration):
    measured(chosen, WARM_UP, LIMIT_S)

    found = measured(chosen, WARM_UP, 1.0)

    assert found.answer is Answer.SOLUTION or gave_up(chosen, found)
    assert found.wall_s < 0.5


@pytest.mark.parametrize("limit_s", [0.001, 0.2])
def test_a_short_limit_is_kept(chosen: Configuration, limit_s: float):
    problem = pigeons(12 if chosen.backend not in LIMITLESS else 5)

    measured(chosen, WARM_UP, LIMIT_S)
    found = measured(chosen, problem, limit_s)

    # A mixed-integer solver looks at its clock between two of its steps only.
    assert found.wall_s < limit_s + 1.0
    assert gave_up(chosen, found) or (found.answer, found.stop) in (
        (Answer.UNKNOWN, Stop.TIMEOUT),
        (Answer.NONE, Stop.TIMEOUT),
        (Answer.NONE, Stop.FINISHED),
    )


def test_a_run_leaves_nothing_behind_for_the_next(chosen: Configuration):
    first, second = PUZZLES["three in two"], PUZZLES["plain"]

    found = [measured(chosen, problem, LIMIT_S) for problem in (first, second, first, second)]

    assert all(one.answer is Answer.NONE or gave_up(chosen, one) for one in found[::2])
    assert all(one.answer is Answer.SOLUTION or gave_up(chosen, one) for one in found[1::2])


def test_one_puzzle_leaves_no_clue_behind_for_the_next(chosen: Configuration):
    first, second, third = "1...............", "4...............", "1.4............."

    found = [measured(chosen, ("sudoku", text), LIMIT_S) for text in (first, second, third, first)]

    for text, one in zip((first, second, third, first), found, strict=True):
        assert gave_up(chosen, one) or problem_of("sudoku", text).is_solution(one.assignment)


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
    assert SOLVED in meanings
    assert OUT_OF_TIME in meanings or name in LIMITLESS
    assert REFUTED in meanings or name == "pdlp"  # its refutations are no proofs


def test_the_table_of_cp_sat_is_complete():
    cp_model = pytest.importorskip("ortools.sat.python.cp_model")

    assert set(load("cp-sat").STATUS) == set(type(cp_model.OPTIMAL).__members__)


def test_cp_sat_keeps_its_log_on_request():
    found = measured(configuration("cp-sat:workers=1,log=on"), WARM_UP, LIMIT_S)

    assert (found.answer, found.stop) == (Answer.SOLUTION, Stop.FINISHED)
    assert "CpSolverResponse" in found.detail


def test_cp_sat_takes_any_field_of_its_parameters():
    told = "cp-sat:workers=1,log=on,search_branching=FIXED_SEARCH,use_lns=false,restart_algorithms=NO_RESTART"

    found = measured(configuration(told + ",ignore_subsolvers=core+no_lp,random_branches_ratio=0.5"), WARM_UP, LIMIT_S)

    assert found.answer is Answer.SOLUTION
    assert all(word in found.detail for word in ("FIXED_SEARCH", "NO_RESTART", '"no_lp"', "0.5", "use_lns: false"))


def test_the_table_of_the_linear_solver_is_complete():
    solver = pytest.importorskip("ortools.linear_solver.pywraplp").Solver
    names = ("OPTIMAL", "FEASIBLE", "INFEASIBLE", "UNBOUNDED", "ABNORMAL", "MODEL_INVALID", "NOT_SOLVED")

    bulk = pytest.importorskip("ortools.linear_solver.linear_solver_pb2").MPSOLVER_UNKNOWN_STATUS

    assert {getattr(solver, name) for name in names} | {bulk} == set(load("scip").STATUS)


@pytest.mark.parametrize("name", ["highspy", "pyscipopt", "z3"])
def test_the_table_of_a_library_that_lists_its_statuses_is_complete(name: str):
    require(name)

    assert alone(name, statuses, name) <= set(load(name).STATUS)


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


def test_the_random_strategies_of_the_legacy_solver_follow_the_seed():
    random = configuration("legacy-cp:var=CHOOSE_RANDOM,val=ASSIGN_RANDOM_VALUE")

    counters = [measured(random, ("sudoku", "1..............."), LIMIT_S, seed).counters for seed in (1, 1, 2, 3, 4)]

    assert counters[0] == counters[1]
    assert any(one != counters[0] for one in counters)


@pytest.mark.parametrize("seed", [0, 2**31, 2**63, -1])
def test_any_seed_will_do(chosen: Configuration, seed: int):
    found = measured(chosen, PUZZLES["plain"], LIMIT_S, seed)

    assert found.answer is Answer.SOLUTION or gave_up(chosen, found)


SIZED = {
    case.name: problem_of("sudoku", case.puzzle) for case in (cases("small")[3], cases("nine")[0], cases("large")[-1])
}


@pytest.mark.parametrize("which", [*SIZED, "one solution", "in order", "plain"])
def test_the_size_is_what_the_library_counts_in_the_model(chosen: Configuration, which: str):
    problem = (SIZED | PUZZLES)[which]
    if lacks(chosen, problem):
        return
    told = size(chosen, problem.rules)

    found = counted(chosen, problem)

    # None: the library does not count.
    assert found in (None, (sum(told.variables.values()), sum(told.constraints.values())))


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
    assert any(symbol.isdigit() for symbol in alone(name, version, name))


@pytest.mark.parametrize("error", [ImportError, OSError])
def test_a_backend_that_cannot_run_here_has_no_version(monkeypatch, error):
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
from workers.backends import version
print(version({name!r}))
"""

    assert run(script) == "None"


def test_an_engine_that_the_library_was_built_without_counts_as_not_installed(monkeypatch):
    monkeypatch.setattr(load("scip"), "ENGINE", "GUROBI_OF_NOBODY")

    assert version("scip") is None


def test_an_unknown_backend_is_named_with_those_there_are():
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
def test_a_backend_loads_no_solver_before_it_is_used(name: str):
    script = f"""
import sys
from workers.backends import load
load({name!r})
print(sorted({{"ortools", "pulp", "numpy", "pysat", "z3", "clingo", "highspy", "pyscipopt"}} & set(sys.modules)))
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
