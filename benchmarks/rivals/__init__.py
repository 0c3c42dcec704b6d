"""Rivals of our builds: the same formulation, passed directly to an interface that the library documents.

Each module has ``interfaces(backend)``, which maps the documented name of an interface to a build function. The
function takes a puzzle and builds the same as the backend's ``build``: the library's model or solver, and the data
needed to read its answer. Only what does not depend on the puzzle may be cached.
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
# By configuration: the module here that builds the same.
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
    """Return the documented interfaces for what a configuration builds.

    Raises
    ------
    ConfigurationError
        The configuration is unknown.
    """
    backend = configuration(word).backend
    found: dict[str, Build] = import_module(f"benchmarks.rivals.{RIVALS[word]}").interfaces(load(backend))
    return found
