"""One run: every result of a backend becomes an answer, and the clock covers build and search."""

from __future__ import annotations

import time

import pytest

from cagematch.problems.constraints import AllDifferent, NotEqual, Sum
from cagematch.problems.outcome import SOLVING, Answer, Asked, Stop, Task
from cagematch.problems.problem import Problem, Rules
from cagematch.workers.backends.contract import FAILED, GAVE_UP, OUT_OF_TIME, REFUTED, SOLVED, Found, Order, Size
from cagematch.workers.configurations import Configuration
from cagematch.workers.sandbox import solving
from cagematch.workers.sandbox.solving import Measured, measure

PROBLEM = Problem(Rules(((1, 2), (1, 2)), (AllDifferent((0, 1), "row"), Sum((0, 1), 3, "cage"))))
STATUS = {"yes": SOLVED, "no": REFUTED, "late": OUT_OF_TIME, "odd": FAILED, "enough": GAVE_UP}


class Stub:
    """A backend with given functions, which records its orders and limits."""

    HANDLES = (AllDifferent, Sum)
    TASKS = tuple(Task)
    STATUS = STATUS

    def __init__(self, build=lambda: None, search=lambda: Found("yes", (1, 2), {"nodes": 3}), hands=(), ends="no"):
        self._build, self._search = build, search
        self._hands, self._ends = hands, ends
        self.orders: list[Order] = []
        self.limits: list[float] = []
        self.sized = 0

    def build(self, _problem, order):
        self.orders.append(order)
        return self._build()

    def search(self, _model, limit_s):
        self.limits.append(limit_s)
        return self._search()

    def enumerate_all(self, _model, limit_s, take):
        """Pass on the given solutions and end with the given status; only "no" means that there are no more."""
        self.limits.append(limit_s)
        for handed, assignment in enumerate(self._hands, 1):
            if not take(assignment):
                return Found("yes", None, {"handed": handed})
        return Found(self._ends, complete=self._ends == "no")

    def size(self, rules, settings):
        self.sized += 1
        return Size({"integer": len(rules.domains)}, dict(settings))


@pytest.fixture
def run(monkeypatch):
    def _run(
        stub: Stub, problem: Problem = PROBLEM, limit_s: float = 5.0, asked: Asked = SOLVING, **settings: int
    ) -> Measured:
        monkeypatch.setattr(solving, "load", lambda _: stub)
        return measure(Configuration("stub", settings, "stub"), problem, 7, limit_s, asked)

    return _run


def raiser(error: BaseException):
    def _raise():
        raise error

    return _raise


def test_a_solution_has_times_and_counters(run):
    measured = run(Stub())

    assert (measured.answer, measured.stop, measured.detail) == (Answer.SOLUTION, Stop.FINISHED, "")
    assert measured.assignment == [1, 2]
    assert measured.counters == {"nodes": 3}
    assert measured.build_s + measured.solve_s <= measured.wall_s


@pytest.mark.parametrize(
    ("native", "answer", "stop"),
    [
        ("no", Answer.NONE, Stop.FINISHED),
        ("late", Answer.UNKNOWN, Stop.TIMEOUT),
        ("enough", Answer.UNKNOWN, Stop.FINISHED),
        ("odd", Answer.UNKNOWN, Stop.ERROR),
    ],
)
def test_statuses_are_mapped_by_the_table(run, native, answer, stop):
    measured = run(Stub(search=lambda: Found(native)))

    assert (measured.answer, measured.stop, measured.assignment) == (answer, stop, None)


def test_a_failure_names_its_status(run):
    assert run(Stub(search=lambda: Found("odd"))).detail == "stub ended with status 'odd'"


def test_an_unknown_status_is_an_error(run):
    measured = run(Stub(search=lambda: Found(99)))

    assert (measured.answer, measured.stop) == (Answer.UNKNOWN, Stop.ERROR)
    assert measured.detail == "stub returned status 99, which is not in its STATUS table"


def test_a_solution_without_values_is_no_answer(run):
    measured = run(Stub(search=lambda: Found("yes", None)))

    assert (measured.answer, measured.stop) == (Answer.UNKNOWN, Stop.FINISHED)
    assert "a single value" in measured.detail


def test_a_long_log_is_truncated_at_its_start(run):
    """The detail has the message first, then the end of the log."""
    found = Found("odd", log="x" * 100_000 + " end of the log")

    detail = run(Stub(search=lambda: found)).detail

    assert detail.startswith("stub ended with status 'odd'\n")
    assert detail.endswith(" end of the log")
    assert len(detail) < 70_000


def test_an_exception_is_an_error_with_its_message(run):
    measured = run(Stub(search=raiser(RuntimeError("the solver is on fire"))))

    assert measured.stop is Stop.ERROR
    assert measured.detail.rstrip().endswith("RuntimeError: the solver is on fire")
    assert measured.build_s is not None
    assert measured.solve_s is None


def test_a_long_traceback_is_truncated_at_its_start(run):
    measured = run(Stub(build=raiser(RuntimeError("x" * 10_000 + " end"))))

    assert len(measured.detail) == solving.DETAIL
    assert measured.detail.rstrip().endswith("end")


def test_a_memory_error_is_a_memout(run):
    measured = run(Stub(build=raiser(MemoryError())))

    assert (measured.answer, measured.stop) == (Answer.UNKNOWN, Stop.MEMOUT)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_exit_exceptions_propagate(run, error):
    with pytest.raises(error):
        run(Stub(search=raiser(error())))


def test_the_search_has_the_rest_of_the_limit(run):
    stub = Stub(build=lambda: time.sleep(0.05))

    run(stub, limit_s=1.0)

    assert 0.5 < stub.limits[0] <= 0.95


def test_a_slow_build_is_a_timeout_without_search(run):
    stub = Stub(build=lambda: time.sleep(0.02))

    measured = run(stub, limit_s=0.01)

    assert (measured.answer, measured.stop) == (Answer.UNKNOWN, Stop.TIMEOUT)
    assert stub.limits == []


def test_a_late_answer_is_a_timeout(run):
    """The answer is kept."""

    def late() -> Found:
        time.sleep(0.03)
        return Found("yes", (2, 1))

    measured = run(Stub(search=late), limit_s=0.02)

    assert (measured.answer, measured.stop, measured.assignment) == (Answer.SOLUTION, Stop.TIMEOUT, [2, 1])
    assert measured.wall_s > 0.02


def test_an_error_after_the_limit_stays_an_error(run):
    def late() -> Found:
        time.sleep(0.03)
        return Found("odd")

    assert run(Stub(search=late), limit_s=0.02).stop is Stop.ERROR


def test_unsupported_constraints_are_named(run):
    rules = Rules(((1, 2),) * 2, (NotEqual((0, 1), "line"), Sum((0, 1), 3, "cage")))
    stub = Stub()

    measured = run(stub, Problem(rules))

    assert (measured.answer, measured.stop) == (Answer.UNKNOWN, Stop.UNSUPPORTED)
    assert measured.detail == "stub does not support NotEqual"
    assert stub.orders == []


@pytest.mark.parametrize(("settings", "expected"), [({}, 7), ({"seed": -1}, 7), ({"seed": 0}, 0), ({"seed": 3}, 3)])
def test_the_configuration_overrides_the_seed_of_the_batch(run, settings, expected):
    stub = Stub()

    run(stub, **settings)

    assert stub.orders[0].seed == expected


BOTH = ((1, 2), (2, 1))
UNIQUE, COUNT, REPAIR = Asked(Task.UNIQUE), Asked(Task.COUNT, bound=2), Asked(Task.REPAIR)


def test_an_enumeration_counts_and_keeps_its_solutions(run):
    """The solutions are kept for verification."""
    measured = run(Stub(hands=BOTH), asked=Asked(Task.COUNT, bound=10))

    assert (measured.answer, measured.stop, measured.count, measured.complete) == (
        Answer.SOLUTION,
        Stop.FINISHED,
        2,
        True,
    )
    assert (measured.assignment, measured.more) == ([1, 2], [[2, 1]])


def test_solutions_are_copied(run):
    def one_list():
        values = [1, 2]
        yield values
        values.reverse()
        yield values

    measured = run(Stub(hands=one_list()), asked=Asked(Task.COUNT, bound=10))

    assert (measured.assignment, measured.more) == ([1, 2], [[2, 1]])


def test_an_enumeration_at_its_bound_is_incomplete(run):
    """The enumeration stops at its bound and does not claim completeness."""
    measured = run(Stub(hands=BOTH * 5), asked=COUNT)

    assert (measured.stop, measured.count, measured.complete) == (Stop.FINISHED, 2, False)
    assert measured.counters == {"handed": 2}


def test_an_enumeration_may_be_complete_at_its_bound(run):
    """The last solution may be the one that meets the bound."""

    class Ends(Stub):
        def enumerate_all(self, model, limit_s, take):
            super().enumerate_all(model, limit_s, take)
            return Found("no", complete=True)

    measured = run(Ends(hands=BOTH), asked=COUNT)

    assert (measured.stop, measured.count, measured.complete) == (Stop.FINISHED, 2, True)


@pytest.mark.parametrize("bound", [1, 2, 100])
def test_a_uniqueness_check_stops_after_two_solutions(run, bound):
    """The bound is irrelevant."""
    measured = run(Stub(hands=BOTH * 5), asked=Asked(Task.UNIQUE, bound))

    assert measured.count == 2


@pytest.mark.parametrize(
    ("hands", "ends", "answer", "stop"),
    [
        ((), "no", Answer.NONE, Stop.FINISHED),
        ((), "late", Answer.UNKNOWN, Stop.TIMEOUT),
        ((), "yes", Answer.UNKNOWN, Stop.ERROR),
        ((), "odd", Answer.UNKNOWN, Stop.ERROR),
        (BOTH[:1], "no", Answer.SOLUTION, Stop.FINISHED),
        (BOTH[:1], "late", Answer.SOLUTION, Stop.TIMEOUT),
        (BOTH[:1], "yes", Answer.SOLUTION, Stop.ERROR),
        (BOTH[:1], "odd", Answer.SOLUTION, Stop.ERROR),
    ],
)
def test_the_status_determines_the_stop_of_an_enumeration(run, hands, ends, answer, stop):
    """The status `yes` at the end is an error, because an enumeration ends with a refutation or early."""
    measured = run(Stub(hands=hands, ends=ends), asked=UNIQUE)

    assert (measured.answer, measured.stop, measured.complete) == (answer, stop, ends == "no")


def test_an_early_end_is_reported_with_its_status(run):
    assert "ended early, with status 'yes'" in run(Stub(hands=BOTH[:1], ends="yes"), asked=UNIQUE).detail


def test_an_enumerated_solution_without_values_is_an_error(run):
    measured = run(Stub(hands=(None,)), asked=UNIQUE)

    assert measured.stop is Stop.ERROR
    assert "a single value" in measured.detail


def test_all_solutions_are_counted_and_some_are_kept(run):
    """At most `KEPT` solutions are kept."""
    many = solving.KEPT + 10

    measured = run(Stub(hands=BOTH[:1] * many), asked=Asked(Task.COUNT, bound=10 * many))

    assert measured.count == many
    assert len(measured.more) == solving.KEPT - 1


@pytest.mark.parametrize(("proved", "stop"), [(True, Stop.FINISHED), (False, Stop.TIMEOUT)])
def test_an_unproved_repair_is_a_timeout(run, proved, stop):
    """A repair is complete with a proof that fewer changes do not suffice."""
    measured = run(Stub(search=lambda: Found("yes", (1, 2), complete=proved)), asked=REPAIR)

    assert (measured.answer, measured.stop, measured.complete) == (Answer.SOLUTION, stop, proved)
    assert measured.assignment == [1, 2]


def test_a_refuted_repair_has_no_solution(run):
    measured = run(Stub(search=lambda: Found("no")), asked=REPAIR)

    assert (measured.answer, measured.stop, measured.complete) == (Answer.NONE, Stop.FINISHED, None)


def test_a_search_returns_no_count(run):
    """A search does not claim completeness either."""
    measured = run(Stub(search=lambda: Found("yes", (1, 2), complete=True)))

    assert (measured.count, measured.complete, measured.more) == (None, None, [])


@pytest.mark.parametrize("task", Task)
def test_the_model_is_built_for_the_task(run, task):
    stub = Stub()

    run(stub, asked=Asked(task))

    assert [order.task for order in stub.orders] == [task]


@pytest.mark.parametrize("task", [Task.UNIQUE, Task.COUNT, Task.REPAIR])
def test_an_unsupported_task_is_named(run, task):
    stub = Stub()
    stub.TASKS = (Task.SOLVE,)

    measured = run(stub, asked=Asked(task))

    assert (measured.answer, measured.stop) == (Answer.UNKNOWN, Stop.UNSUPPORTED)
    assert measured.detail == f"stub does not support the task {task}"
    assert stub.orders == []


def test_sizes_are_cached_by_rules_and_settings(monkeypatch):
    stub = Stub()
    monkeypatch.setattr(solving, "load", lambda _: stub)
    first = Configuration("sized", {"workers": 1}, "sized")
    second = Configuration("sized", {"workers": 2}, "sized:workers=2")

    sizes = [solving.size(one, PROBLEM.rules) for one in (first, first, second)]

    assert [dict(size.constraints) for size in sizes] == [{"workers": 1}, {"workers": 1}, {"workers": 2}]
    assert stub.sized == 2
