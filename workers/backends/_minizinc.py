"""MiniZinc, whichever solver is behind it: the rules as a model's text, the clues as constraints more.

Documentation: the MiniZinc Handbook, "The MiniZinc Command Line Tool". The program does the rest in processes
of its own, which translate the text and solve it; that time is the search's.
"""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from functools import lru_cache, singledispatch
from shutil import which
from subprocess import DEVNULL, PIPE
from typing import IO, cast

from cagematch.problems.constraints import AllDifferent, Constraint, Less, NotEqual, Sum
from cagematch.problems.outcome import Task
from cagematch.problems.problem import Problem, Rules
from cagematch.workers.backends.contract import FAILED, OUT_OF_TIME, REFUTED, SOLVED, Found, Order, Settings, Size, Take

HANDLES = (AllDifferent, Sum, NotEqual, Less)
TASKS = tuple(Task)
SEPARATOR, COMPLETE = "----------", "=========="  # after each solution; after the last, or the best
UNKNOWN = "=====UNKNOWN====="
STATUS = {
    SEPARATOR: SOLVED,
    "=====UNSATISFIABLE=====": REFUTED,
    UNKNOWN: OUT_OF_TIME,
    "=====UNBOUNDED=====": FAILED,
    "=====UNSATorUNBOUNDED=====": FAILED,
    "=====ERROR=====": FAILED,
}
Model = tuple[str, str]


def version(solver: str) -> str:
    """The solver's version and MiniZinc's own."""
    program = which("minizinc")
    if program is None:
        raise ImportError("there is no program minizinc")
    for found in json.loads(_said([program, "--solvers-json"])):
        if found["id"].rpartition(".")[2] == solver:
            told = _said([program, "--version"]).partition("version ")[2].split(",")[0].split("\n")[0]
            return f"{found['version']} (MiniZinc {told})"
    raise ImportError(f"this MiniZinc has no solver {solver}")


def size(rules: Rules, settings: Settings) -> Size:  # noqa: ARG001 - nothing to set
    """Count what the text states; what MiniZinc makes of it for a solver is its own affair."""
    posted = Counter(f"{type(c).__name__} {c.role}" for c in rules.constraints)
    return Size({"integer": len(rules.domains)}, posted)


def build(solver: str, problem: Problem, order: Order) -> Model:
    """Write the model. Of a repair, the clues are what is kept as much of as can be."""
    if order.task is Task.REPAIR:
        kept = ", ".join(f"x[{variable}] = {value}" for variable, value in problem.givens)
        goal = "solve :: bool_search(kept, input_order, indomain_max) maximize sum(kept);"
        return solver, "\n".join((_text(problem.rules), f"array[int] of var bool: kept = [{kept}];", goal))
    clues = (f"constraint x[{variable}] = {value};" for variable, value in problem.givens)
    return solver, "\n".join((_text(problem.rules), *clues, "solve satisfy;"))


def search(model: Model, limit_s: float) -> Found:
    """Start the program, give it the text, and read what it prints: a solution, a line that says how it ended."""
    told = _said(_command(model[0], limit_s), model[1])
    native = next((line for line in told.splitlines() if line in STATUS), told or "nothing")
    if native != SEPARATOR:
        return Found(native)
    return Found(native, json.loads(told.partition(SEPARATOR)[0])["x"], complete=COMPLETE in told.splitlines())


def enumerate_all(model: Model, limit_s: float, take: Take) -> Found:
    """Read what the program prints, solution after solution; at enough, end it, and with it its solver."""
    command = [*_command(model[0], limit_s), "--all-solutions"]
    native, complete, more = "nothing", False, True
    solution: list[str] = []
    with subprocess.Popen(command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, text=True) as program:
        asked, told = cast("IO[str]", program.stdin), cast("IO[str]", program.stdout)
        asked.write(model[1])
        asked.close()
        for line in map(str.rstrip, told):  # to its end, lest the solver outlive the program
            if line in STATUS and more:
                native = line
                if line == SEPARATOR and not (more := take(json.loads("".join(solution))["x"])):
                    program.terminate()
                solution.clear()
            else:
                complete |= more and line == COMPLETE
                solution.append(line)
    if more and native == SEPARATOR and not complete and program.returncode == 0:
        native = UNKNOWN  # it says nothing of its limit where it has found any
    return Found(native, complete=complete or STATUS.get(native) is REFUTED)


def _command(solver: str, limit_s: float) -> list[str]:
    limit_ms = str(max(1, int(limit_s * 1000)))
    return ["minizinc", "--solver", solver, "--time-limit", limit_ms, "--output-mode", "json", "-"]


def _said(command: list[str], text: str = "") -> str:
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False).stdout


@lru_cache(maxsize=64)
def _text(rules: Rules) -> str:
    domains = (f"constraint x[{v}] in {set(values)};" for v, values in enumerate(rules.domains))
    stated = (f"constraint {state(constraint)};" for constraint in rules.constraints)
    array = f"array[0..{len(rules.domains) - 1}] of var int: x;"
    return "\n".join(('include "alldifferent.mzn";', array, *domains, *stated))


@singledispatch
def state(constraint: Constraint) -> str:
    """The constraint in MiniZinc's language."""
    raise NotImplementedError(type(constraint).__name__)


@state.register
def _(constraint: AllDifferent) -> str:
    return f"alldifferent([{_scope(constraint)}])"


@state.register
def _(constraint: Sum) -> str:
    return f"sum([{_scope(constraint)}]) = {constraint.total}"


@state.register
def _(constraint: NotEqual) -> str:
    return "x[{}] != x[{}]".format(*constraint.scope)


@state.register
def _(constraint: Less) -> str:
    return "x[{}] < x[{}]".format(*constraint.scope)


def _scope(constraint: Constraint) -> str:
    return ", ".join(f"x[{v}]" for v in constraint.scope)
