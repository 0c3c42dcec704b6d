"""The inputs of the conformance tests: configurations, their limits, cases, and problems that are not puzzles."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import combinations

import pytest
from cases import cases_of
from families import alone

from cagematch.problems.constraints import AllDifferent, Less, NotEqual, Sum
from cagematch.problems.kinds import KINDS
from cagematch.problems.outcome import Answer, Stop
from cagematch.problems.problem import Problem, Rules
from cagematch.workers.backends import BACKENDS, entry, load, version
from cagematch.workers.configurations import Configuration
from cagematch.workers.sandbox.solving import Measured

LIMIT_S = 20.0
# Backends that are tested with several configurations, whose models or searches differ most.
MANY = {
    "cp-sat": (
        "cp-sat:workers=1",
        "cp-sat:workers=1,encoding=bool",
        "cp-sat:workers=1,presolve=off",
        "cp-sat:workers=1,cages=sets",
        "cp-sat:workers=1,cages=sets,encoding=bool",
        "cp-sat-fast",
        "cp-sat-large",
        "cp-sat",
    ),
    "scip": ("scip", "scip:cages=sets"),
    "cadical": ("cadical", "cadical:cages=sets", "cadical:presolve=on"),
    "glucose": ("glucose", "glucose:cages=sets,presolve=on"),
    "legacy-cp": ("legacy-cp", "cp-simple", "cp-min-size", "legacy-cp:alldifferent=values", "legacy-cp:cages=sets"),
    **{name: (name, f"{name}:cages=sets") for name in ("propagation", "z3", "clingo", "choco")},
}
SPELLED = [spelled for name in BACKENDS for spelled in MANY.get(name, (name,))]
RELAXED = ("clp", "glop", "pdlp")  # a fractional optimum is neither an answer nor a proof
# The files that a backend must solve. On other cases it may time out, but must not return a wrong answer.
EASY = {"backtracking": ("small",)}
HASTE_S = 0.05
# Backends that solve again for each solution: they may time out, but must not return a wrong count.
RESTARTING = (
    *("scip", "cbc", "highs", "bop", "sat-mip"),
    *("pulp-cbc", "pulp-highs", "pulp-scip", "highspy", "pyscipopt"),
)
LIMITLESS = ("exact-cover",)  # its library has no time limit; the keeper enforces it
CASES = [(kind, case) for kind in KINDS for case in cases_of(kind)]


def rules_of(constraints: list[object], *domains: tuple[int, ...]) -> Rules:
    return Rules(domains, tuple(constraints))


PUZZLES = {
    # Every constraint is required: without any of them there are further solutions.
    "one solution": Problem(
        rules_of(
            [
                AllDifferent((0, 1, 2), "row"),
                Sum((0, 1, 3), 15, "cage"),
                NotEqual((2, 3), "line"),
                Sum((2, 3), 11, "cage"),
            ],
            (1, 2, 3),
            (2, 7),
            (1, 3),
            (5, 8, 10),
        )
    ),
    "plain": Problem(rules_of([AllDifferent((0, 1, 2), "row"), Less((0, 2), "sign")], *((1, 2, 3),) * 3), ((1, 2),)),
    "sum out of reach": Problem(rules_of([Sum((0, 1), 9, "cage")], (1, 2, 3), (1, 2, 3))),
    "sum between": Problem(rules_of([Sum((0, 1), 4, "cage")], (1, 5), (1, 5))),
    "three in two": Problem(rules_of([AllDifferent((0, 1, 2), "row")], (1, 2), (1, 2), (1, 2))),
    "unlike itself": Problem(rules_of([NotEqual((0, 1), "line")], (4,), (4,))),
    "givens alike": Problem(rules_of([AllDifferent((0, 1), "row")], (1, 2, 3), (1, 2, 3)), ((0, 2), (1, 2))),
    "nothing to choose": Problem(rules_of([Sum((0, 1, 2), 3, "cage")], (1,), (1,), (1,))),
    "wrong with nothing to choose": Problem(rules_of([Sum((0, 1), 3, "cage")], (1,), (1,))),
    "zero and less": Problem(rules_of([Sum((0, 1), -3, "cage"), NotEqual((0, 1), "line")], (-3, 0), (-3, 0, 2))),
    "in order": Problem(rules_of([Less((0, 1), "sign"), Less((1, 2), "sign")], (2, 5, 9), (1, 4, 5), (3, 4, 5))),
    "in a circle": Problem(rules_of([Less((0, 1), "sign"), Less((1, 0), "sign")], (1, 2, 3), (1, 2, 3))),
    "never less": Problem(rules_of([Less((0, 1), "sign")], (4, 5), (1, 4))),
    "always less": Problem(rules_of([Less((0, 1), "sign")], (1, 2), (3,))),
    "in other words": Problem(
        rules_of([Sum((0, 2), 4, "link"), Sum((1, 3), 4, "link"), Less((2, 3), "sign")], *((1, 2, 3),) * 4), ((0, 3),)
    ),
    "one in other words, and not": Problem(
        rules_of(
            [Sum((0, 1), 0, "link"), AllDifferent((0, 2), "row"), Sum((1, 2), 0, "link")], (-1, 1), (-1, 1), (-1, 1)
        )
    ),
    # 1 + 5 or 2 + 4, and 1 + 2 + 3: exactly one solution.
    "sets": Problem(
        rules_of(
            [
                Sum((0, 1), 6, "cage"),
                AllDifferent((0, 1, 2, 3), "row"),
                Sum((3, 4, 5), 6, "cage"),
                AllDifferent((3, 4, 5), "cage"),
                Less((0, 1), "sign"),
                Less((1, 2), "sign"),
            ],
            *((1, 2, 3, 4, 5),) * 6,
        )
    ),
    "large": Problem(rules_of([Sum((0, 1), 3_000, "cage")], (1_000, 2_500), (500, 1_500, 2_000))),
}
WITHOUT = (
    "sum out of reach",
    "sum between",
    "three in two",
    "unlike itself",
    "givens alike",
    "wrong with nothing to choose",
    "in a circle",
    "one in other words, and not",
    "never less",
)
RAN: Counter[str] = Counter()  # executed combinations of a case or problem with a task, by configuration


@cache
def installed(name: str) -> bool:
    return alone(name, version, name) is not None


def require(name: str) -> None:
    if not installed(name):
        pytest.skip(f"{name} is not installed: {entry(name).install_hint(name)}")


def gave_up(chosen: Configuration, found: Measured) -> bool:
    """Return whether a relaxation ended with a fractional optimum, which is an allowed result."""
    return chosen.backend in RELAXED and (found.answer, found.stop) == (Answer.UNKNOWN, Stop.FINISHED)


def pigeons(count: int) -> Problem:
    """Return the pigeonhole problem, stated pairwise: hard to refute for a method that considers pairs only."""
    pairs = [NotEqual(pair, "pair") for pair in combinations(range(count), 2)]
    return Problem(Rules((tuple(range(count - 1)),) * count, tuple(pairs)))


def lacks(chosen: Configuration, problem: Problem) -> bool:
    """Return whether a constraint is missing from the backend's HANDLES."""
    return not all(isinstance(constraint, load(chosen.backend).HANDLES) for constraint in problem.constraints)
