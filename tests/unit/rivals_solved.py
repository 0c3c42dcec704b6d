"""Solve the models that the alternative build interfaces create, through the libraries themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.rivals import RIVALS, interfaces
from cagematch.problems.problem import Problem
from cagematch.problems.rewrite import direct
from cagematch.workers.backends import load
from cagematch.workers.backends.contract import Order
from cagematch.workers.configurations import configuration
from cagematch.workers.sandbox.solving import problem_of

HALF = 0.5


def solved(word: str, texts: Sequence[str]) -> dict[str, bool]:
    """Return for each documented interface whether its model yields the solution of every puzzle."""
    problems = [problem_of("sudoku", text) for text in texts]
    order = Order(configuration(word).settings, 1)
    answer = ANSWERS[word if word in ANSWERS else RIVALS[word]]
    return {
        name: all(problem.is_solution(answer(build(problem, order), problem) or ()) for problem in problems)
        for name, build in interfaces(word).items()
    }


def _atoms(chosen: Sequence[bool], problem: Problem) -> Sequence[int] | None:
    return direct(problem.rules).decode(list(chosen))


def _cp_sat(built: Any, problem: Problem) -> Sequence[int] | None:
    model, solver = built
    solver.solve(model)
    found = list(solver.response_proto.solution)
    return found if len(found) == len(problem.values) else _atoms([value == 1 for value in found], problem)


def _linear(built: Any, problem: Problem) -> Sequence[int] | None:
    built[0].Solve()
    return _atoms([variable.solution_value() > HALF for variable in built[0].variables()], problem)


def _legacy_cp(built: Any, problem: Problem) -> Sequence[int] | None:
    solver, variables, phase = built
    solver.NewSearch(phase)
    found = [variable.Value() for variable in variables] if solver.NextSolution() else None
    solver.EndSearch()
    return found


def _choco(built: Any, problem: Problem) -> Sequence[int] | None:
    model, variables = built
    return [variable.get_value() for variable in variables] if model.get_solver().solve() else None


def _pumpkin(built: Any, problem: Problem) -> Sequence[int] | None:
    model, variables = built
    found = model.satisfy()._0
    return [found.int_value(variable) for variable in variables]


def _pulp(solver: str) -> Callable[[Any, Problem], Sequence[int] | None]:
    def answer(built: Any, problem: Problem) -> Sequence[int] | None:
        import pulp

        built[0].solve(getattr(pulp, solver)(msg=False))
        return _atoms([(atom.varValue or 0) > HALF for atom in built[1]], problem)

    return answer


def _sat(built: Any, problem: Problem) -> Sequence[int] | None:
    with built[0] as solver:
        return _atoms([literal > 0 for literal in solver.get_model()], problem) if solver.solve() else None


def _z3(built: Any, problem: Problem) -> Sequence[int] | None:
    import z3

    solver, atoms, _ = built
    solver.check()
    return _atoms([z3.is_true(solver.model()[atom]) for atom in atoms], problem)


def _clingo(built: Any, problem: Problem) -> Sequence[int] | None:
    """Read atoms by their names in a ground text, or by number."""
    count = len(direct(problem.rules).atoms)
    with built[0].solve(yield_=True) as handle:
        model = handle.model()
        named = {symbol.arguments[0].number for symbol in model.symbols(shown=True)}
        return _atoms([a in named if named else model.is_true(a + 1) for a in range(count)], problem)


def _highspy(built: Any, problem: Problem) -> Sequence[int] | None:
    built[0].run()
    return _atoms([value > HALF for value in built[0].getSolution().col_value], problem)


def _pyscipopt(built: Any, problem: Problem) -> Sequence[int] | None:
    model, atoms, _ = built
    model.optimize()
    return _atoms([model.getVal(atom) > HALF for atom in atoms], problem)


def _exact_cover(built: Any, problem: Problem) -> Sequence[int] | None:
    from exact_cover import get_exact_cover

    matrix, kept, _ = built
    chosen = {int(kept.nonzero()[0][row]) for row in get_exact_cover(matrix)}
    return _atoms([atom in chosen for atom in range(len(kept))], problem)


def _own(word: str) -> Callable[[Any, Problem], Sequence[int] | None]:
    """A backend without a library has only its own search."""
    return lambda built, _: load(word).search(built, 60.0).assignment


ANSWERS: dict[str, Callable[[Any, Problem], Sequence[int] | None]] = {
    "cp_sat": _cp_sat,
    "linear": _linear,
    "legacy-cp": _legacy_cp,
    "choco": _choco,
    "pumpkin": _pumpkin,
    "pulp-cbc": _pulp("PULP_CBC_CMD"),
    "pulp-highs": _pulp("HiGHS"),
    "pulp-scip": _pulp("SCIP_PY"),
    "sat": _sat,
    "z3": _z3,
    "clingo": _clingo,
    "highspy": _highspy,
    "pyscipopt": _pyscipopt,
    "exact_cover": _exact_cover,
    **{word: _own(word) for word in ("backtracking", "propagation", "minizinc-gecode", "minizinc-chuffed")},
}
