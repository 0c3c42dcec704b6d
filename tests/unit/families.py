"""One process per family of backends: unrelated solver libraries conflict within a process."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import Any

from cagematch.problems.outcome import SOLVING, Asked
from cagematch.problems.problem import Problem
from cagematch.workers.backends import entry, load
from cagematch.workers.backends.contract import Order
from cagematch.workers.configurations import Configuration
from cagematch.workers.sandbox.solving import Measured, measure, problem_of

_running: dict[str, ProcessPoolExecutor] = {}


def alone(backend: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in the process of the backend's family. Only one such process exists at a time."""
    family = entry(backend).family
    if family not in _running:
        end()
        _running[family] = ProcessPoolExecutor(1, mp_context=get_context("spawn"))
    try:
        return _running[family].submit(function, *arguments).result()
    except BrokenProcessPool:
        end()
        raise


def end() -> None:
    """End the current process."""
    while _running:
        _running.popitem()[1].shutdown(cancel_futures=True)


Posed = Problem | tuple[str, str]  # a problem, or the kind and the text of a puzzle


def measured(chosen: Configuration, posed: Posed, limit_s: float, seed: int = 1, asked: Asked = SOLVING) -> Measured:
    """Measure a problem in the process of the backend's family."""
    return alone(chosen.backend, _measure, chosen, posed, seed, limit_s, asked)


def _measure(chosen: Configuration, posed: Posed, seed: int, limit_s: float, asked: Asked) -> Measured:
    problem = posed if isinstance(posed, Problem) else problem_of(*posed)
    return measure(chosen, problem, seed, limit_s, asked)


def counted(chosen: Configuration, problem: Problem) -> tuple[int, int] | None:
    """Return the variables and constraints that the library counts in the model.

    None if the library cannot count them, or if clauses are simplified before the library receives them.
    """
    if chosen.settings.get("presolve") == "on" and COUNTS.get(chosen.backend) is _sat:
        return None
    return alone(chosen.backend, _counted, chosen, problem)


def _counted(chosen: Configuration, problem: Problem) -> tuple[int, int] | None:
    count = COUNTS.get(chosen.backend)
    return count(load(chosen.backend).build(problem, Order(chosen.settings, 1))) if count else None


def _linear(model: Any) -> tuple[int, int]:
    return model[0].NumVariables(), model[0].NumConstraints()


def _sat(model: Any) -> tuple[int, int]:
    return model[0].nof_vars(), model[0].nof_clauses()


def statuses(backend: str) -> set[object]:
    """Return every status that a backend's library lists."""
    if backend == "highspy":
        import highspy

        return set(highspy.HighsModelStatus.__members__)
    if backend == "pyscipopt":
        from pyscipopt import SCIP_STATUS

        return {name.lower() for name in dir(SCIP_STATUS) if name.isupper()}
    import z3

    return {str(status) for status in (z3.sat, z3.unsat, z3.unknown)}


COUNTS: dict[str, Callable[[Any], tuple[int, int]]] = {
    "cp-sat": lambda m: (len(m.form.model.proto.variables), len(m.form.model.proto.constraints)),
    "legacy-cp": lambda m: (len(m.store.variables) + len(m.store.choices), m.store.solver.Constraints()),
    **dict.fromkeys(("scip", "cbc", "highs", "bop", "sat-mip", "clp", "glop", "pdlp"), _linear),
    **dict.fromkeys(("pulp-cbc", "pulp-highs", "pulp-scip"), lambda m: (len(m[1]), m[0].numConstraints())),
    "highspy": lambda m: (m[0].getNumCol(), m[0].getNumRow()),
    "pyscipopt": lambda m: (m[0].getNVars(transformed=False), m[0].getNConss(transformed=False)),
    **dict.fromkeys(("cadical", "glucose"), _sat),
    "exact-cover": lambda m: (len(m[1]), m[0].shape[1]),
    "backtracking": lambda m: (len(m[0]), len(m[1][-1])),
    "propagation": lambda m: (len(m[0]), len(m[1])),
}
