"""MiniZinc with any of its solvers: the rules as the text of a model, the clues as further constraints.

The program ``minizinc`` compiles the text and solves it in processes of its own. Both are part of the search time.

Documentation: the MiniZinc Handbook, "The MiniZinc Command Line Tool".
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
SEPARATOR, COMPLETE = "----------", "=========="  # after each solution; after the last or the optimal one
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
    """Return the versions of the solver and of MiniZinc.

    Raises
    ------
    ImportError
        The program ``minizinc`` or its solver is not installed.
    """
    program = which("minizinc")
    if program is None:
        raise ImportError("the program minizinc is not in PATH")
    for found in json.loads(_output([program, "--solvers-json"])):
        if found["id"].rpartition(".")[2] == solver:
            own = _output([program, "--version"]).partition("version ")[2].split(",")[0].split("\n")[0]
            return f"{found['version']} (MiniZinc {own})"
    raise ImportError(f"MiniZinc has no solver {solver}; `minizinc --solvers` lists the installed ones")


def size(rules: Rules, settings: Settings) -> Size:  # noqa: ARG001 - nothing to set
    """Count what the text states. The compiled model can differ for each solver."""
    posted = Counter(f"{type(c).__name__} {c.role}" for c in rules.constraints)
    return Size({"integer": len(rules.domains)}, posted)


def build(solver: str, problem: Problem, order: Order) -> Model:
    """Write the model. A repair maximizes the number of kept clues."""
    if order.task is Task.REPAIR:
        kept = ", ".join(f"x[{variable}] = {value}" for variable, value in problem.givens)
        goal = "solve :: bool_search(kept, input_order, indomain_max) maximize sum(kept);"
        return solver, "\n".join((_text(problem.rules), f"array[int] of var bool: kept = [{kept}];", goal))
    clues = (f"constraint x[{variable}] = {value};" for variable, value in problem.givens)
    return solver, "\n".join((_text(problem.rules), *clues, "solve satisfy;"))


def search(model: Model, limit_s: float) -> Found:
    """Run the program on the text and read its output: a solution, and a status line."""
    output = _output(_command(model[0], limit_s), model[1])
    native = next((line for line in output.splitlines() if line in STATUS), output or "nothing")
    if native != SEPARATOR:
        return Found(native)
    return Found(native, json.loads(output.partition(SEPARATOR)[0])["x"], complete=COMPLETE in output.splitlines())


def enumerate_all(model: Model, limit_s: float, take: Take) -> Found:
    """Read one solution after another from the output. Terminate the program, and its solver, when ``take`` ends it."""
    command = [*_command(model[0], limit_s), "--all-solutions"]
    native, complete, more = "nothing", False, True
    solution: list[str] = []
    with subprocess.Popen(command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, text=True) as program:
        text, output = cast("IO[str]", program.stdin), cast("IO[str]", program.stdout)
        text.write(model[1])
        text.close()
        for line in map(str.rstrip, output):  # read to the end, so that the solver does not outlive the program
            if line in STATUS and more:
                native = line
                if line == SEPARATOR and not (more := take(json.loads("".join(solution))["x"])):
                    program.terminate()
                solution.clear()
            else:
                complete |= more and line == COMPLETE
                solution.append(line)
    if more and native == SEPARATOR and not complete and program.returncode == 0:
        native = UNKNOWN  # MiniZinc does not report a limit after a solution
    return Found(native, complete=complete or STATUS.get(native) is REFUTED)


def _command(solver: str, limit_s: float) -> list[str]:
    limit_ms = str(max(1, int(limit_s * 1000)))
    return ["minizinc", "--solver", solver, "--time-limit", limit_ms, "--output-mode", "json", "-"]


def _output(command: list[str], text: str = "") -> str:
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False).stdout


@lru_cache(maxsize=64)
def _text(rules: Rules) -> str:
    domains = (f"constraint x[{v}] in {set(values)};" for v, values in enumerate(rules.domains))
    stated = (f"constraint {state(constraint)};" for constraint in rules.constraints)
    array = f"array[0..{len(rules.domains) - 1}] of var int: x;"
    return "\n".join(('include "alldifferent.mzn";', array, *domains, *stated))


@singledispatch
def state(constraint: Constraint) -> str:
    """Return the constraint in the MiniZinc language; raise NotImplementedError for an unsupported type."""
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
