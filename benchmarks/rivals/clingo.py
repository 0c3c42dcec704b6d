"""Clingo: potassco.org/clingo/python-api/5.8, ``clingo.backend``, ``Control.load_aspif`` and ``Control.ground``."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.rivals import Build
from cagematch.problems.problem import Problem, Rules
from cagematch.problems.rewrite import direct
from cagematch.workers.backends.contract import Order

PROGRAM = """
{ holds(A) : atom(A) }.
:- row(R), not 1 { holds(A) : term(R, A) } 1.
#show holds/1.
"""


class Ground(NamedTuple):
    """A ground program in a file, and the literal of each atom in it."""

    folder: tempfile.TemporaryDirectory[str]
    path: str
    literals: list[int]


def interfaces(backend: Any) -> dict[str, Build]:  # noqa: ARG001
    """Return the documented interfaces, by name."""
    return {"Backend.add_weight_rule": rules_at_once, "load_aspif": file, "add and ground": text}


def rules_at_once(problem: Problem, order: Order) -> Any:
    """``Backend.add_rule`` and ``Backend.add_weight_rule``."""
    control, encoding = _control(order), direct(problem.rules)
    with control.backend() as backend:
        backend.add_rule([backend.add_atom() for _ in encoding.atoms], choice=True)
        for some, two in _bodies(problem.rules):
            backend.add_rule([], some)
            backend.add_weight_rule([], 2, two)
        for given in problem.givens:
            backend.add_rule([], [-encoding.number[given] - 1])
    return control, encoding


def file(problem: Problem, order: Order) -> Any:
    """``Control.load_aspif`` of the output of ``clingo --mode=gringo``, which numbers the atoms differently."""
    control, encoding, ground = _control(order), direct(problem.rules), _ground(problem.rules)
    control.load_aspif([ground.path])
    with control.backend() as backend:
        for given in problem.givens:
            backend.add_rule([], [-ground.literals[encoding.number[given]]])
    return control, encoding


def text(problem: Problem, order: Order) -> Any:
    """``Control.add`` and ``Control.ground``."""
    control, encoding = _control(order), direct(problem.rules)
    clues = "".join(f":- not holds({encoding.number[given]})." for given in problem.givens)
    control.add("base", [], _text(problem.rules) + clues)
    control.ground([("base", [])])
    return control, encoding


def _control(order: Order) -> Any:
    import clingo

    return clingo.Control(["--warn=none", f"--seed={order.seed}"], logger=lambda *_: None)


@lru_cache
def _bodies(rules: Rules) -> list[tuple[list[int], list[tuple[int, int]]]]:
    """The forbidden bodies of each row: no atom holds; two atoms hold."""
    return [([-a - 1 for a in row.atoms], [(a + 1, 1) for a in row.atoms]) for row in direct(rules).rows]


@lru_cache
def _text(rules: Rules) -> str:
    encoding = direct(rules)
    rows = enumerate(encoding.rows)
    facts = "".join(f"row({at})." + "".join(f"term({at},{a})." for a in row.atoms) for at, row in rows)
    return f"atom(0..{len(encoding.atoms) - 1}).{facts}{PROGRAM}"


@lru_cache
def _ground(rules: Rules) -> Ground:
    folder = tempfile.TemporaryDirectory()
    source, path = Path(folder.name, "rules.lp"), Path(folder.name, "rules.aspif")
    source.write_text(_text(rules), encoding="utf-8")
    command = [sys.executable, "-m", "clingo", "--mode=gringo", "--warn=none", str(source)]
    aspif = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    path.write_text(aspif, encoding="utf-8")
    shown = re.findall(r"^4 \d+ holds\((\d+)\) 1 (\d+)$", aspif, re.MULTILINE)
    return Ground(folder, str(path), [literal for _, literal in sorted((int(a), int(b)) for a, b in shown)])
