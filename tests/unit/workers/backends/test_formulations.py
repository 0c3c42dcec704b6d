"""The table of formulations: its figures, and its ratios for runs that were stopped."""

from __future__ import annotations

import pytest

from benchmarks.formulations import KINDS, Spent, lines, measured, words
from cagematch.problems.outcome import Answer, Stop
from cagematch.workers.configurations import configurations


def spent(cpu_s: float, stop: Stop = Stop.FINISHED) -> Spent:
    found = Spent()
    found.add(Answer.SOLUTION if stop is Stop.FINISHED else Answer.UNKNOWN, stop, cpu_s)
    return found


def test_every_backend_with_both_formulations_is_listed():
    formulations = {one.settings["cages"] for one in configurations(list(words())) if one.backend == "bop"}

    assert formulations == {"sum", "sets"}
    assert {"cp-sat", "legacy-cp", "scip", "pulp-cbc", "glop"} <= {one.backend for one in configurations(list(words()))}


@pytest.mark.parametrize(
    ("plain", "sets", "ratio"),
    [
        (spent(6.0), spent(2.0), "3"),
        (spent(6.0, Stop.TIMEOUT), spent(2.0), "≥ 3"),
        (spent(6.0), spent(2.0, Stop.TIMEOUT), "≤ 3"),
        (spent(6.0, Stop.TIMEOUT), spent(2.0, Stop.TIMEOUT), ""),
    ],
)
def test_the_ratio_of_stopped_runs_is_a_bound(plain: Spent, sets: Spent, ratio: str):
    found = {(text, kind): one for kind in KINDS for text, one in (("bop", plain), ("bop:cages=sets", sets))}

    *_, row = lines(["bop:cages=*"], found)

    assert row == f"| `bop` | {' | '.join([str(plain), str(sets), ratio] * 2)} |"


def test_the_table_is_measured_by_a_batch():
    found = measured(["bop:cages=*"], 1, 30)

    assert {(text, kind) for text, kind in found} == {(t, k) for t in ("bop", "bop:cages=sets") for k in KINDS}
    assert all((one.runs, one.solved, one.stopped) == (1, 1, False) and one.cpu_s > 0 for one in found.values())
