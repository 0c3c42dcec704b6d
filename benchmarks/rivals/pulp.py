"""PuLP: coin-or.github.io/pulp, ``LpProblem``, and "How to import and export models in PuLP"."""

from __future__ import annotations

import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any

from benchmarks.rivals import Build
from cagematch.problems.problem import Problem, Rules
from cagematch.problems.rewrite import direct
from cagematch.workers.backends.contract import Order


def interfaces(backend: Any) -> dict[str, Build]:  # noqa: ARG001
    """Return the documented interfaces, by name."""
    return {"LpProblem.copy": copy, "LpProblem.deepcopy": deep, "LpProblem.fromDict": record, "LpProblem.fromMPS": file}


def copy(problem: Problem, order: Order) -> Any:  # noqa: ARG001
    """``LpProblem.copy``: "expressions are copied by reference", so all copies share the bounds of the latest."""
    program, atoms = _program(problem.rules)
    for atom in atoms:
        atom.lowBound, atom.varValue, atom.dj = 0, None, None
    return _with_clues(program.copy(), atoms, problem)


def deep(problem: Problem, order: Order) -> Any:  # noqa: ARG001
    """``LpProblem.deepcopy``, which copies the expressions but not the variables."""
    program, atoms = _program(problem.rules)
    for atom in atoms:
        atom.lowBound, atom.varValue, atom.dj = 0, None, None
    return _with_clues(program.deepcopy(), atoms, problem)


def record(problem: Problem, order: Order) -> Any:  # noqa: ARG001
    """``LpProblem.fromDict`` of the result of ``toDict``."""
    import pulp

    named, program = pulp.LpProblem.fromDict(_record(problem.rules))
    return _with_clues(program, _in_order(named, problem), problem)


def file(problem: Problem, order: Order) -> Any:  # noqa: ARG001
    """``LpProblem.fromMPS`` of the output of ``writeMPS``."""
    import pulp

    named, program = pulp.LpProblem.fromMPS(str(Path(_folder(problem.rules).name, "rules.mps")))
    return _with_clues(program, _in_order(named, problem), problem)


def _with_clues(program: Any, atoms: list[Any], problem: Problem) -> Any:
    encoding = direct(problem.rules)
    for given in problem.givens:
        atoms[encoding.number[given]].lowBound = 1
    return program, atoms, encoding


def _in_order(named: dict[str, Any], problem: Problem) -> list[Any]:
    return [named[f"a_{a}"] for a in range(len(direct(problem.rules).atoms))]


@lru_cache
def _program(rules: Rules) -> tuple[Any, list[Any]]:
    return _new_program(rules)


def _new_program(rules: Rules) -> tuple[Any, list[Any]]:
    """A program without the clues of a puzzle."""
    import pulp

    encoding = direct(rules)
    atoms = pulp.LpVariable.matrix("a", range(len(encoding.atoms)), 0, 1, "Integer")
    program = pulp.LpProblem("p", pulp.LpMinimize)
    program.setObjective(pulp.LpAffineExpression(constant=0))
    for row in encoding.rows:
        program.addConstraint(pulp.lpSum(atoms[a] for a in row.atoms) == row.high)
    return program, atoms


@lru_cache
def _record(rules: Rules) -> Any:
    return _new_program(rules)[0].toDict()


@lru_cache
def _folder(rules: Rules) -> tempfile.TemporaryDirectory[str]:
    folder = tempfile.TemporaryDirectory()
    _new_program(rules)[0].writeMPS(str(Path(folder.name, "rules.mps")))
    return folder
