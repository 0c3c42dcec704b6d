"""One run: what a backend does, whatever it is, becomes an answer; and what the clock covers."""

from __future__ import annotations

import time

import pytest

from problems.constraints import AllDifferent, NotEqual, Sum
from problems.outcome import Answer, Stop
from problems.problem import Problem, Rules
from workers import solving
from workers.backends.contract import FAILED, GAVE_UP, OUT_OF_TIME, REFUTED, SOLVED, Found, Order, Size
from workers.configurations import Configuration
from workers.solving import Measured, measure

PROBLEM = Problem(Rules(((1, 2), (1, 2)), (AllDifferent((0, 1), "row"), Sum((0, 1), 3, "cage"))))
STATUS = {"yes": SOLVED, "no": REFUTED, "late": OUT_OF_TIME, "odd": FAILED, "enough": GAVE_UP}


class Stub:
    """A backend that does as it is told, and keeps what it was told itself."""

    HANDLES = (AllDifferent, Sum)
    STATUS = STATUS

    def __init__(self, build=lambda: None, search=lambda: Found("yes", (1, 2), {"nodes": 3})):
        self._build, self._search = build, search
        self.orders: list[Order] = []
        self.limits: list[float] = []
        self.sized = 0

    def build(self, _problem, order):
        self.orders.append(order)
        return self._build()

    def search(self, _model, limit_s):
        self.limits.append(limit_s)
        return self._search()

    def size(self, rules, settings):
        self.sized += 1
        return Size({"integer": len(rules.domains)}, dict(settings))


@pytest.fixture
def run(monkeypatch):
    def _run(stub: Stub, problem: Problem = PROBLEM, limit_s: float = 5.0, **settings: int) -> Measured:
        monkeypatch.setattr(solving, "load", lambda _: stub)
        return measure(Configuration("stub", settings, "stub"), problem, 7, limit_s)

    return _run


def raiser(error: BaseException):
    def _raise():
        raise error

    return _raise


def test_a_solution_comes_with_its_times_and_counters(run):
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
def test_a_status_means_what_the_table_says(run, native, answer, stop):
    measured = run(Stub(search=lambda: Found(native)))

    assert (measured.answer, measured.stop, measured.assignment) == (answer, stop, None)


def test_a_failure_names_its_status(run):
    assert run(Stub(search=lambda: Found("odd"))).detail == "stub ended with status 'odd'"


def test_a_status_that_is_not_in_the_table_is_an_error_that_names_it(run):
    measured = run(Stub(search=lambda: Found(99)))

    assert (measured.answer, measured.stop) == (Answer.UNKNOWN, Stop.ERROR)
    assert measured.detail == "stub returned a status that is not in its table: 99"


def test_a_solution_without_values_is_no_answer(run):
    measured = run(Stub(search=lambda: Found("yes", None)))

    assert (measured.answer, measured.stop) == (Answer.UNKNOWN, Stop.FINISHED)
    assert "no single value" in measured.detail


def test_a_log_is_kept_from_its_end_and_after_other_words(run):
    found = Found("odd", log="x" * 100_000 + " end of the log")

    told = run(Stub(search=lambda: found)).detail

    assert told.startswith("stub ended with status 'odd'\n")
    assert told.endswith(" end of the log")
    assert len(told) < 70_000


def test_whatever_a_backend_raises_is_an_error_that_ends_in_its_words(run):
    measured = run(Stub(search=raiser(RuntimeError("the solver is on fire"))))

    assert measured.stop is Stop.ERROR
    assert measured.detail.rstrip().endswith("RuntimeError: the solver is on fire")
    assert measured.build_s is not None
    assert measured.solve_s is None


def test_a_long_traceback_is_cut_at_its_beginning(run):
    measured = run(Stub(build=raiser(RuntimeError("x" * 10_000 + " end"))))

    assert len(measured.detail) == solving.DETAIL
    assert measured.detail.rstrip().endswith("end")


def test_memory_that_cannot_be_had_is_a_memout(run):
    measured = run(Stub(build=raiser(MemoryError())))

    assert (measured.answer, measured.stop) == (Answer.UNKNOWN, Stop.MEMOUT)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_an_order_to_stop_is_obeyed(run, error):
    with pytest.raises(error):
        run(Stub(search=raiser(error())))


def test_the_search_gets_what_the_build_left_of_the_limit(run):
    stub = Stub(build=lambda: time.sleep(0.05))

    run(stub, limit_s=1.0)

    assert 0.5 < stub.limits[0] <= 0.95


def test_a_build_that_takes_the_whole_limit_is_a_timeout_without_a_search(run):
    stub = Stub(build=lambda: time.sleep(0.02))

    measured = run(stub, limit_s=0.01)

    assert (measured.answer, measured.stop) == (Answer.UNKNOWN, Stop.TIMEOUT)
    assert stub.limits == []


def test_an_answer_after_the_limit_is_a_timeout_and_stays_an_answer(run):
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


def test_constraints_that_a_backend_cannot_handle_are_named(run):
    rules = Rules(((1, 2),) * 2, (NotEqual((0, 1), "line"), Sum((0, 1), 3, "cage")))
    stub = Stub()

    measured = run(stub, Problem(rules))

    assert (measured.answer, measured.stop) == (Answer.UNKNOWN, Stop.UNSUPPORTED)
    assert measured.detail == "stub cannot handle NotEqual"
    assert stub.orders == []


@pytest.mark.parametrize(("settings", "expected"), [({}, 7), ({"seed": -1}, 7), ({"seed": 0}, 0), ({"seed": 3}, 3)])
def test_the_seed_is_the_batch_s_unless_the_configuration_has_one(run, settings, expected):
    stub = Stub()

    run(stub, **settings)

    assert stub.orders[0].seed == expected


def test_sizes_are_worked_out_once_for_rules_and_settings(monkeypatch):
    stub = Stub()
    monkeypatch.setattr(solving, "load", lambda _: stub)
    first = Configuration("sized", {"workers": 1}, "sized")
    second = Configuration("sized", {"workers": 2}, "sized:workers=2")

    told = [solving.size(one, PROBLEM.rules) for one in (first, first, second)]

    assert [dict(size.constraints) for size in told] == [{"workers": 1}, {"workers": 1}, {"workers": 2}]
    assert stub.sized == 2
