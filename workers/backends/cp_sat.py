"""CP-SAT, Google's lazy-clause-generation solver, through OR-Tools' CpModel.

The model of the rules is cached; ``CpModel.clone`` copies it for each puzzle.

Documentation: the OR-Tools reference, "CP-SAT Solver", and ``sat_parameters.proto`` for the parameters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache, singledispatch
from typing import Any, NamedTuple

from cagematch.problems.constraints import AllDifferent, AllowedSets, Constraint, Less, NotEqual, Sum
from cagematch.problems.outcome import Task
from cagematch.problems.problem import Problem, Rules
from cagematch.problems.rewrite import direct
from cagematch.problems.sets import posted
from cagematch.workers.backends import _sat_parameters
from cagematch.workers.backends._sat_parameters import parameter
from cagematch.workers.backends.contract import (
    CAGES,
    FAILED,
    OUT_OF_TIME,
    REFUTED,
    SEED_MOST,
    SOLVED,
    Found,
    Order,
    Parameter,
    Settings,
    Size,
    Take,
)

__all__ = [
    "HANDLES",
    "PARAMETERS",
    "STATUS",
    "TASKS",
    "build",
    "enumerate_all",
    "parameter",
    "search",
    "size",
    "version",
]

HANDLES = (AllDifferent, Sum, NotEqual, Less, AllowedSets)
TASKS = tuple(Task)
STATUS = {
    "OPTIMAL": SOLVED,
    "FEASIBLE": SOLVED,
    "INFEASIBLE": REFUTED,
    "UNKNOWN": OUT_OF_TIME,
    "MODEL_INVALID": FAILED,
}
FOUND = ("OPTIMAL", "FEASIBLE")
# The library accepts some thousands, and reports an invalid model for more. No machine has that many cores.
MOST_WORKERS = 1024
PARAMETERS = {
    "workers": Parameter(4, least=1, most=MOST_WORKERS, help="parallel searches (num_search_workers)"),
    "encoding": Parameter("int", ("int", "bool"), help="one integer per variable, or one Boolean per value"),
    "cages": CAGES,
    "presolve": Parameter("on", ("on", "off"), help="simplify the model first (cp_model_presolve)"),
    "seed": Parameter(-1, least=-1, help="random seed; -1 uses the seed of the batch"),
    "log": Parameter("off", ("off", "on"), help="store the solver's log with the run (log_search_progress)"),
}


class Model(NamedTuple):
    """A problem in one of its forms, the solver with its parameters, and the log, which the solver appends to."""

    form: Integers | Booleans
    solver: Any
    log: list[str]


def version() -> str:
    import ortools

    return str(ortools.__version__)


def size(rules: Rules, settings: Settings) -> Size:
    rules = posted(rules, settings["cages"])
    if settings["encoding"] == "int":
        counts = Counter(f"{type(c).__name__} {c.role}" for c in rules.constraints)
        choices = [c for c in rules.constraints if isinstance(c, AllowedSets)]
        for choice in choices:
            counts[f"domain {choice.role}"] += len(choice.sets) * len(choice.scope)
            counts[f"exactly one {choice.role}"] += 1
        sets = sum(len(choice.sets) for choice in choices)
        return Size({"integer": len(rules.domains)} | ({"Boolean": sets} if sets else {}), counts)
    encoding = direct(rules)
    counts = Counter(f"linear {row.role}" for row in encoding.rows)
    for row in encoding.rows:
        if row.link:
            counts[f"clause {row.role}"] += len(row.atoms)
    return Size({"Boolean": len(encoding.atoms)}, counts)


def build(problem: Problem, order: Order) -> Model:
    from ortools.sat.python import cp_model

    solver = cp_model.CpSolver()
    parameters = solver.parameters
    parameters.num_workers = int(order.settings["workers"])
    parameters.random_seed = order.seed & SEED_MOST
    parameters.cp_model_presolve = order.settings["presolve"] == "on"
    parameters.catch_sigint_signal = False
    parameters.merge_text_format(_sat_parameters.text(order.settings))
    log: list[str] = []
    if order.settings["log"] == "on":
        parameters.log_search_progress, parameters.log_to_stdout = True, False
        solver.log_callback = log.append
    form = (Integers if order.settings["encoding"] == "int" else Booleans)(
        posted(problem.rules, order.settings["cages"])
    )
    if order.task is Task.REPAIR:
        _maximize_kept(form, problem)
    else:
        for given in problem.givens:
            form.fix(*given)
    return Model(form, solver, log)


def search(model: Model, limit_s: float) -> Found:
    form, solver, log = model
    solver.parameters.max_time_in_seconds = limit_s
    native = solver.status_name(solver.solve(form.model))
    counters = {"branches": solver.num_branches, "conflicts": solver.num_conflicts}
    assignment = form.read(list(solver.response_proto.solution)) if native in FOUND else None
    return Found(native, assignment, counters, "\n".join(log), complete=native == "OPTIMAL")


def enumerate_all(model: Model, limit_s: float, take: Take) -> Found:
    """Use the solver's enumeration, which requires a single worker regardless of the parameter ``workers``."""
    from ortools.sat.python import cp_model

    form, solver, log = model

    class Taker(cp_model.CpSolverSolutionCallback):
        more = True

        def on_solution_callback(self) -> None:
            self.more = take(form.read(list(self.response_proto.solution)))
            if not self.more:
                self.stop_search()

    solver.parameters.max_time_in_seconds = limit_s
    solver.parameters.num_workers = 1
    solver.parameters.enumerate_all_solutions = True
    taker = Taker()
    native = solver.status_name(solver.solve(form.model, taker))
    if native == "FEASIBLE" and taker.more:
        native = "UNKNOWN"  # `take` did not end the search, so it reached its limit
    counters = {"branches": solver.num_branches, "conflicts": solver.num_conflicts}
    return Found(native, None, counters, "\n".join(log), complete=native in ("OPTIMAL", "INFEASIBLE"))


def _maximize_kept(form: Integers | Booleans, problem: Problem) -> None:
    """Leave the givens open and maximize the number of kept ones; all of them are the hint."""
    kept = [form.takes(*given) for given in problem.givens]
    for literal in kept:
        form.model.add_hint(literal, 1)
    form.model.maximize(sum(kept))


class Integers:
    """A copy of the rules' model with one integer per variable; the model's own Booleans follow them."""

    def __init__(self, rules: Rules) -> None:
        self.model = _integer_model(rules).clone()
        self._count = len(rules.domains)

    def fix(self, variable: int, value: int) -> None:
        """Restrict the domain of a variable to its given value."""
        domain = self.model.proto.variables[variable].domain
        domain.clear()
        domain.extend((value, value))

    def takes(self, variable: int, value: int) -> Any:
        """Return a literal that implies that the variable has the value."""
        literal = self.model.new_bool_var("")
        self.model.add(self.model.get_int_var_from_proto_index(variable) == value).only_enforce_if(literal)
        return literal

    def read(self, solution: Sequence[int]) -> Sequence[int]:
        """Return the values of the variables."""
        return solution[: self._count]


class Booleans:
    """A copy of the rules' model with one Boolean per atom of the direct encoding."""

    def __init__(self, rules: Rules) -> None:
        self.model, self._encoding = _boolean_model(rules).clone(), direct(rules)

    def fix(self, variable: int, value: int) -> None:
        """Set the literal of a given value to true."""
        self.model.proto.variables[self._encoding.number[variable, value]].domain[0] = 1

    def takes(self, variable: int, value: int) -> Any:
        """Return the literal that holds if and only if the variable has the value."""
        return self.model.get_bool_var_from_proto_index(self._encoding.number[variable, value])

    def read(self, solution: Sequence[int]) -> Sequence[int] | None:
        """Return the values of the variables; None if a variable has no single value."""
        return self._encoding.decode([value == 1 for value in solution])


@lru_cache(maxsize=64)
def _integer_model(rules: Rules) -> Any:
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    domains = (cp_model.Domain.from_values(values) for values in rules.domains)
    variables = [model.new_int_var_from_domain(domain, "") for domain in domains]
    for constraint in rules.constraints:
        post(constraint, model, variables)
    return model


@lru_cache(maxsize=64)
def _boolean_model(rules: Rules) -> Any:
    from ortools.sat.python import cp_model

    model, encoding = cp_model.CpModel(), direct(rules)
    atoms = [model.new_bool_var("") for _ in encoding.atoms]
    for row in encoding.rows:
        members = [atoms[a] for a in row.atoms]
        if row.link:
            _link(model, members, row.weights)
        elif row.high != 1 or set(row.weights) != {1}:
            total = cp_model.LinearExpr.weighted_sum(members, row.weights)
            model.add_linear_constraint(total, row.low, row.high)
        elif row.low:
            model.add_exactly_one(members)
        else:
            model.add_at_most_one(members)
    return model


def _link(model: Any, members: list[Any], weights: Sequence[int]) -> None:
    """Post a link as clauses: a literal of either side implies one of the other; at most one of the first holds."""
    ones, others = ([m for m, weight in zip(members, weights, strict=True) if weight == side] for side in (1, -1))
    for side, opposite in ((ones, others), (others, ones)):
        for member in side:
            model.add_bool_or([member.negated(), *opposite])
    model.add_at_most_one(ones)


@singledispatch
def post(constraint: Constraint, model: Any, variables: list[Any]) -> None:
    """Post a constraint over integer variables; raise NotImplementedError for an unsupported type."""
    raise NotImplementedError(type(constraint).__name__)


@post.register
def _(constraint: AllDifferent, model: Any, variables: list[Any]) -> None:
    model.add_all_different([variables[v] for v in constraint.scope])


@post.register
def _(constraint: Sum, model: Any, variables: list[Any]) -> None:
    model.add(sum(variables[v] for v in constraint.scope) == constraint.total)


@post.register
def _(constraint: NotEqual, model: Any, variables: list[Any]) -> None:
    a, b = constraint.scope
    model.add(variables[a] != variables[b])


@post.register
def _(constraint: Less, model: Any, variables: list[Any]) -> None:
    a, b = constraint.scope
    model.add(variables[a] < variables[b])


@post.register
def _(constraint: AllowedSets, model: Any, variables: list[Any]) -> None:
    from ortools.sat.python import cp_model

    scope = [variables[v] for v in constraint.scope]
    chosen = [model.new_bool_var("") for _ in constraint.sets]
    model.add_exactly_one(chosen)
    model.add_all_different(scope)
    for choice, allowed in zip(chosen, constraint.sets, strict=True):
        domain = cp_model.Domain.from_values(allowed)
        for variable in scope:
            model.add_linear_expression_in_domain(variable, domain).only_enforce_if(choice)
