"""A backend that misbehaves on demand: ``hostile:do=spin``. Its distribution has an entry point.

It solves the warm-up puzzle normally, unless ``when=always``.
"""

from __future__ import annotations

import ctypes
import functools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from cagematch.problems.constraints import AllDifferent, NotEqual, Sum
from cagematch.problems.outcome import Answer, Stop, Task
from cagematch.problems.problem import Problem, Rules
from cagematch.workers.backends.contract import OUT_OF_TIME, SOLVED, Found, Order, Parameter, Settings, Size
from cagematch.workers.messages.frames import ANSWERS_FD
from cagematch.workers.messages.protocol import RunAnswer, encode

HANDLES = (AllDifferent, Sum, NotEqual)
TASKS = (Task.SOLVE,)
STATUS = {"solved": SOLVED, "limit": OUT_OF_TIME, 0: "no meaning at all"}
COMMAND = "HOSTILE_COMMAND"
WARM_UP_GIVENS = 40  # the warm-up puzzle has more, the puzzles of the tests have fewer
MIB = 1 << 20
_leaked: list[bytes] = []

DEEDS: dict[str, Callable[[Problem, float], Found]] = {}


def version() -> str:
    return "1.0"


def size(rules: Rules, settings: Settings) -> Size:
    return Size({"integer": len(rules.domains)}, {})


def build(problem: Problem, order: Order) -> tuple[Problem, Order]:
    if order.settings["do"] == "hang-build" and _is_meant(problem, order):
        _sleep()
    return problem, order


def search(model: tuple[Problem, Order], limit_s: float) -> Found:
    problem, order = model
    if not _is_meant(problem, order):
        return _solve(problem)
    return DEEDS[str(order.settings["do"])](problem, limit_s)


def _is_meant(problem: Problem, order: Order) -> bool:
    return order.settings["when"] == "always" or len(problem.givens) < WARM_UP_GIVENS


def _solve(problem: Problem) -> Found:
    """Solve by depth-first search, smallest domain first."""
    groups = [c.scope for c in problem.constraints if isinstance(c, AllDifferent)]
    peers = [{p for g in groups if v in g for p in g if p != v} for v in range(len(problem.values))]

    def place(domains: list[tuple[int, ...]]) -> list[tuple[int, ...]] | None:
        domains = list(domains)
        todo = [v for v, d in enumerate(domains) if len(d) == 1]
        for v in todo:
            for p in peers[v]:
                if domains[v][0] in domains[p]:
                    domains[p] = tuple(x for x in domains[p] if x != domains[v][0])
                    if not domains[p]:
                        return None
                    if len(domains[p]) == 1:
                        todo.append(p)
        open_ = [v for v, d in enumerate(domains) if len(d) > 1]
        if not open_:
            return domains
        v = min(open_, key=lambda v: len(domains[v]))
        tries = (place([*domains[:v], (x,), *domains[v + 1 :]]) for x in domains[v])
        return next(filter(None, tries), None)

    return Found("solved", [d[0] for d in place(list(problem.values)) or ()], {"nodes": 1})


def deed(word: str) -> Callable[[Callable[[Problem, float], Found | None]], Callable[[Problem, float], Found]]:
    """Register the behaviour of a word; if it returns None, the puzzle is solved afterwards."""

    def register(function: Callable[[Problem, float], Found | None]) -> Callable[[Problem, float], Found]:
        @functools.wraps(function)
        def act(problem: Problem, limit_s: float) -> Found:
            return function(problem, limit_s) or _solve(problem)

        DEEDS[word] = act
        return act

    return register


def _sleep(seconds: float = 1000) -> None:
    time.sleep(seconds)


# -- time


@deed("solve")
def behave(problem: Problem, limit_s: float) -> None:
    pass


@deed("spin")
def spin(problem: Problem, limit_s: float) -> None:
    while True:
        pass


@deed("spin-in-c")
def spin_in_c(problem: Problem, limit_s: float) -> None:
    pow(3, 10**9)  # holds the GIL for minutes


@deed("sleep")
def sleep(problem: Problem, limit_s: float) -> None:
    _sleep()


@deed("hang-build")
def hang_build(problem: Problem, limit_s: float) -> None:
    pass


@deed("late")
def late(problem: Problem, limit_s: float) -> None:
    _sleep(limit_s + 0.05)


@deed("work-and-hang")
def work_and_hang(problem: Problem, limit_s: float) -> None:
    until = time.process_time() + 0.2
    while time.process_time() < until:
        pass
    _sleep()


@deed("ignore-signals")
def ignore_signals(problem: Problem, limit_s: float) -> None:
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)
    _sleep()


# -- other processes


def _fork_and(act: Callable[[], None]) -> None:
    if os.fork() == 0:
        act()
        os._exit(0)


@deed("fork")
def fork(problem: Problem, limit_s: float) -> None:
    _fork_and(_sleep)


@deed("fork-and-hang")
def fork_and_hang(problem: Problem, limit_s: float) -> None:
    _fork_and(_sleep)
    _sleep()


def _daemon() -> None:
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    _fork_and(_sleep)


@deed("daemon")
def daemon(problem: Problem, limit_s: float) -> None:
    _fork_and(_daemon)


@deed("daemon-and-hang")
def daemon_and_hang(problem: Problem, limit_s: float) -> None:
    _fork_and(_daemon)
    _sleep()


@deed("bomb")
def bomb(problem: Problem, limit_s: float) -> None:
    for _ in range(50):
        _fork_and(lambda: _fork_and(_sleep))
    _sleep()


@deed("return-twice")
def return_twice(problem: Problem, limit_s: float) -> None:
    os.fork()


@deed("helper")
def helper(problem: Problem, limit_s: float) -> None:
    """Run another program, which needs 150 MiB and 0.3 s of CPU time."""
    program = (
        "import time; x = bytearray(150 << 20); t = time.process_time() + 0.3\nwhile time.process_time() < t: pass"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@deed("command")
def command(problem: Problem, limit_s: float) -> None:
    """Run the program that the test names."""
    subprocess.run(json.loads(os.environ[COMMAND]), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


# -- death


@deed("segfault")
def segfault(problem: Problem, limit_s: float) -> None:
    sys.stderr.write("about to read address 0\n")
    sys.stderr.flush()
    ctypes.string_at(0)


@deed("abort")
def abort(problem: Problem, limit_s: float) -> None:
    os.abort()


@deed("exit")
def leave(problem: Problem, limit_s: float) -> None:
    os._exit(3)


@deed("sys-exit")
def sys_exit(problem: Problem, limit_s: float) -> None:
    sys.exit(75)


@deed("kill-itself")
def kill_itself(problem: Problem, limit_s: float) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@deed("stop-itself")
def stop_itself(problem: Problem, limit_s: float) -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


# -- memory


@deed("eat")
def eat(problem: Problem, limit_s: float) -> None:
    kept = [b"x" * (64 * MIB) for _ in range(160)]
    _sleep(len(kept))


@deed("eat-below")
def eat_below(problem: Problem, limit_s: float) -> None:
    """Use too much memory in a child process."""
    _fork_and(lambda: eat(problem, limit_s))
    _sleep()


@deed("peak")
def peak(problem: Problem, limit_s: float) -> None:
    b"x" * (200 * MIB)
    time.sleep(0.03)


@deed("leak")
def leak(problem: Problem, limit_s: float) -> None:
    _leaked.append(b"x" * (8 * MIB))


# -- output and answers


@deed("chatter")
def chatter(problem: Problem, limit_s: float) -> None:
    for descriptor in (1, 2):
        for _ in range(320):
            os.write(descriptor, b"noise " * 10_000 + b"\n")


@deed("flood")
def flood(problem: Problem, limit_s: float) -> None:
    """Write 5 GiB to standard output."""
    noise = b"noise\n" * (MIB // 6)
    for _ in range(5 << 10):
        os.write(1, noise)


@deed("flood-errors")
def flood_errors(problem: Problem, limit_s: float) -> None:
    """Write to standard error endlessly."""
    while True:
        os.write(2, b"noise\n" * 10_000)


@deed("write-answers")
def write_answers(problem: Problem, limit_s: float) -> None:
    os.write(ANSWERS_FD, b"rubbish\n")


@deed("forge-answer")
def forge_answer(problem: Problem, limit_s: float) -> None:
    """Write a complete frame for a run that is not due."""
    os.write(ANSWERS_FD, encode(RunAnswer(2**40, Answer.SOLUTION, Stop.FINISHED, 0.0)))


@deed("close-all")
def close_all(problem: Problem, limit_s: float) -> None:
    os.closerange(3, 100)


@deed("status")
def status(problem: Problem, limit_s: float) -> Found:
    return Found("a status that is in no table")


@deed("unhashable")
def unhashable(problem: Problem, limit_s: float) -> Found:
    return Found(["unhashable"])


@deed("meaningless")
def meaningless(problem: Problem, limit_s: float) -> Found:
    return Found(0)


@deed("short")
def short(problem: Problem, limit_s: float) -> Found:
    return Found("solved", [1] * 80)


@deed("words")
def words(problem: Problem, limit_s: float) -> Found:
    return Found("solved", ["one"] * 81)  # type: ignore[arg-type]


@deed("fractions")
def fractions(problem: Problem, limit_s: float) -> Found:
    return Found("solved", [0.5] * 81)  # type: ignore[list-item]


@deed("huge")
def huge(problem: Problem, limit_s: float) -> Found:
    return Found("solved", [10**5000] * 81)


@deed("objects")
def objects(problem: Problem, limit_s: float) -> Found:
    return Found("solved", [1] * 81, {"branches": object()})  # type: ignore[dict-item]


@deed("nothing")
def nothing(problem: Problem, limit_s: float) -> Found:
    return 17  # type: ignore[return-value]


@deed("raise")
def throw(problem: Problem, limit_s: float) -> Found:
    raise RuntimeError("\udc80 is no text, and this is no solver")


@deed("wrong")
def wrong(problem: Problem, limit_s: float) -> Found:
    return Found("solved", [1] * 81)


@deed("show-environment")
def show_environment(problem: Problem, limit_s: float) -> Found:
    raise RuntimeError(f"{Path.cwd()}\n{dict(os.environ)}")


PARAMETERS = {
    "do": Parameter("solve", tuple(DEEDS), help="behaviour of a run"),
    "when": Parameter("run", ("run", "always"), help="always: also in the warm-up"),
}
