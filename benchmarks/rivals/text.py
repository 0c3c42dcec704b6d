"""MiniZinc: the MiniZinc Handbook, "The MiniZinc Command Line Tool": a model on the standard input."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from benchmarks.rivals import Build
from cagematch.problems.problem import Problem, Rules
from cagematch.workers.backends.contract import Order


def interfaces(backend: Any) -> dict[str, Build]:
    """Return the documented interfaces, by name."""

    def text(problem: Problem, order: Order) -> Any:  # noqa: ARG001
        """The rules as text, and a line for each clue."""
        clues = "".join([f"constraint x[{variable}] = {value};\n" for variable, value in problem.givens])
        return backend.SOLVER, _rules(problem.rules) + clues

    return {"text": text}


@lru_cache
def _rules(rules: Rules) -> str:
    scopes = [", ".join(f"x[{v}]" for v in constraint.scope) for constraint in rules.constraints]
    values = f"{rules.domains[0][0]}..{rules.domains[0][-1]}"
    lines = ['include "alldifferent.mzn";', f"array[0..{len(rules.domains) - 1}] of var {values}: x;"]
    lines += [f"constraint alldifferent([{scope}]);" for scope in scopes]
    return "\n".join((*lines, "solve satisfy;", ""))
