"""Rivals of our builds: the same formulation, told to the library directly through an interface that it documents.

A module here has ``interfaces(backend)``: what documentation calls an interface, and a function that builds through it
what the backend's ``build`` builds, with all that one new puzzle needs, out of what does not depend on the puzzle: the
library's model or solver, and what else is needed to read its answer.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from cagematch.problems.problem import Problem
from cagematch.workers.backends import load
from cagematch.workers.backends.contract import Order
from cagematch.workers.configurations import configuration

Build = Callable[[Problem, Order], Any]
LINEAR = ("scip", "cbc", "highs", "bop", "sat-mip", "clp", "glop", "pdlp")
RIVALS: dict[str, str] = {
    **dict.fromkeys(("cp-sat", "cp-sat:encoding=bool"), "cp_sat"),
    **dict.fromkeys(LINEAR, "linear"),
    **dict.fromkeys(("legacy-cp", "choco", "pumpkin", "backtracking", "propagation"), "integers"),
    **dict.fromkeys(("pulp-cbc", "pulp-highs", "pulp-scip"), "pulp"),
    **dict.fromkeys(("cadical", "glucose"), "sat"),
    **dict.fromkeys(("minizinc-gecode", "minizinc-chuffed"), "text"),
    **{name: name.replace("-", "_") for name in ("exact-cover", "z3", "clingo", "highspy", "pyscipopt")},
}


def interfaces(word: str) -> dict[str, Build]:
    """The documented ways to build what a configuration builds."""
    backend = configuration(word).backend
    found: dict[str, Build] = import_module(f"benchmarks.rivals.{RIVALS[word]}").interfaces(load(backend))
    return found
