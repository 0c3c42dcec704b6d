"""The comparison of runs in a real database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from bench import ERROR, NONE, SOLVED, TIMEOUT, WRONG, Bench, drawn, open_bench, rows
from sqlalchemy import update

from cagematch.models import (
    BatchState,
    Run,
)
from cagematch.models.engine import reading, writing
from cagematch.problems.errors import InputError
from cagematch.scheduler.live.progress import failed_runs
from cagematch.scheduler.reports import comparison
from cagematch.scheduler.reports.formats import as_csv, as_json, as_markdown, safe
from cagematch.scheduler.reports.runs import refuted
from cagematch.scheduler.reports.scope import Scope
from cagematch.scheduler.reports.statistics import mean, median, percentile
from cagematch.scheduler.reports.table import Table, chosen

GOLDEN = Path(__file__).resolve().parents[3] / "data" / "comparison.txt"


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with open_bench(tmp_path / "scheduler.db") as one:
        yield one


def test_the_comparison_matches_its_docstring(bench):
    batch = bench.batch([bench.set("hard", [1, 2, 3, 4])])
    bench.runs(batch, "cp-sat", dict(zip((1, 2, 3, 4), [(SOLVED, t) for t in (4, 5, 6, 9)], strict=True)))
    bench.runs(batch, "cp-min-size", dict(zip((1, 2, 3, 4), [(SOLVED, t) for t in (1, 2, 3, 10)], strict=True)))
    bench.runs(batch, "backtracking", {1: (TIMEOUT, 3000), 2: (SOLVED, 1500), 3: (TIMEOUT, 3000), 4: (SOLVED, 12)})

    text = drawn(bench.tables())

    assert "".join(f"    {line}".rstrip() + "\n" for line in text.rstrip().splitlines()) in comparison.__doc__


def test_comparison_of_every_kind_of_outcome(bench):
    """Ties, disqualified, wrong answers first, no solution, an error, and only a part of the puzzles."""
    batch = bench.batch([bench.set("odd", [1, 2, 3]), bench.set("even", [4])])
    good = {1: (SOLVED, 10), 2: (SOLVED, 20), 3: (NONE, 30), 4: (SOLVED, 1.5)}
    bench.runs(batch, "tied-a", good)
    bench.runs(batch, "tied-b", good)
    bench.runs(batch, "slow", {1: (SOLVED, 100), 2: (TIMEOUT, 3000), 3: (NONE, 3), 4: (SOLVED, 3)})
    bench.runs(batch, "liar", {1: (WRONG, 1), 2: (SOLVED, 1), 3: (NONE, 1), 4: (SOLVED, 6)})
    bench.runs(batch, "broken", {1: (SOLVED, 1), 2: (ERROR, 0), 3: (NONE, 1), 4: (SOLVED, 12)})
    bench.runs(batch, "doubter", {1: (NONE, 5), 2: (SOLVED, 5), 3: (NONE, 5)})
    bench.runs(batch, "begun", {1: (SOLVED, 1)})

    found = bench.tables()

    assert drawn(found) == GOLDEN.read_text(encoding="utf-8")
    assert comparison.failures(found) == 3
    assert [table.name for table in found] == ["even", "odd"]


def test_none_is_wrong_for_a_solved_puzzle(bench):
    first = bench.batch([bench.set("one", [1])])
    bench.runs(first, "knows", {1: (SOLVED, 1)})
    second = bench.batch([bench.set("one", [1])])
    bench.runs(second, "denies", {1: (NONE, 1)})

    assert rows(bench.tables(second)[0])["denies"]["wrong"] == 1


def test_the_latest_run_counts(bench):
    """The latest run of each puzzle and configuration counts."""
    hard = bench.set("hard", [1, 2])
    old, new = bench.batch([hard]), bench.batch([hard])
    bench.runs(new, "cp-sat", {1: (SOLVED, 5)})
    bench.runs(old, "cp-sat", {1: (SOLVED, 100), 2: (SOLVED, 100)})
    bench.runs(old, "scip", {1: (SOLVED, 7), 2: (SOLVED, 7)})

    (table,) = bench.tables()

    # The older batch was continued after the newer one, so its runs are the latest.
    assert rows(table)["cp-sat"]["total_s"] == 0.2
    assert rows(table)["scip"]["runs"] == 2
    assert rows(bench.tables(new)[0])["cp-sat"]["total_s"] == 0.005


def test_batches_with_other_limits_are_excluded(bench):
    hard = bench.set("hard", [1])
    long, short = bench.batch([hard], timeout_s=60.0), bench.batch([hard])
    bench.runs(long, "cp-sat", {1: (SOLVED, 5)})
    bench.runs(short, "scip", {1: (SOLVED, 7)})

    assert list(rows(bench.tables()[0])) == ["scip"]
    note = f"note: batch {long} excluded: different limits (60 s, 2 GiB); report it with `scheduler report {long}`"
    assert note in bench.covered()
    assert note not in bench.covered(short)
    assert "LIMITS DIFFER" in bench.covered(long, short)[0]
    assert "LIMITS" not in bench.covered()[0]


def test_a_puzzle_of_several_sets_counts_in_each(bench):
    hard, mine = bench.set("hard", [1, 2]), bench.set("mine", [2])
    first, second = bench.batch([hard]), bench.batch([mine])
    bench.runs(first, "cp-sat", {1: (SOLVED, 1), 2: (SOLVED, 1)})
    bench.runs(second, "cp-sat", {2: (SOLVED, 9)})

    found = bench.tables()

    assert [(t.name, rows(t)["cp-sat"]["runs"], rows(t)["cp-sat"]["max_ms"]) for t in found] == [
        ("hard", 2, 9),
        ("mine", 1, 9),
    ]
    assert [table.name for table in bench.tables(second)] == ["mine"]
    assert {row["set"] for row in bench.exported()} == {"hard", "hard+mine"}
    assert {row["set"] for row in bench.exported(first)} == {"hard"}


def test_a_failure_in_several_sets_counts_once(bench):
    batch = bench.batch([bench.set("hard", [1, 2]), bench.set("mine", [2])])
    bench.runs(batch, "cp-sat", {1: (SOLVED, 1), 2: (ERROR, 1)})

    assert [rows(table)["cp-sat"]["error"] for table in bench.tables()] == [1, 1]
    assert comparison.failures(bench.tables()) == 1


def test_failed_runs_are_listed_with_their_reason(bench):
    batch = bench.batch([bench.set("hard", [1, 2, 3])])
    bench.runs(batch, "cp-sat", {1: (SOLVED, 1), 2: (ERROR, 1), 3: (WRONG, 1)})
    with writing(bench.engine) as connection:
        connection.execute(update(Run).where(Run.stop == "error").values(detail="MODEL_INVALID\nat length"))

    named = [f"run {row['run']}: cp-sat: " for row in bench.exported()]
    assert failed_runs(bench.engine, batch, 5) == [named[1] + "MODEL_INVALID", named[2] + "wrong solution"]
    assert failed_runs(bench.engine, batch, 1) == [named[1] + "MODEL_INVALID"]


def test_a_changed_set_is_reported_as_stored_last(bench):
    before, after = bench.set("hard", [1, 2]), bench.set("hard", [2, 3])
    first, second = bench.batch([before]), bench.batch([after])
    bench.runs(first, "cp-sat", {1: (SOLVED, 1), 2: (SOLVED, 1)})
    bench.runs(second, "cp-sat", {2: (SOLVED, 1), 3: (SOLVED, 1)})

    (table,) = bench.tables()

    assert rows(table)["cp-sat"]["runs"] == 2


def test_repeats_are_compared_by_their_mean(bench):
    batch = bench.batch([bench.set("hard", [1])], repeats=2)
    bench.runs(batch, "cp-sat", {1: (SOLVED, 10)})
    bench.runs(batch, "cp-sat", {1: (SOLVED, 20)}, repeat=1)
    bench.runs(batch, "scip", {1: (SOLVED, 30)})

    (table,) = bench.tables()

    assert rows(table)["cp-sat"]["runs"] == 2
    assert rows(table)["scip"]["ratio"] == 2
    assert table.title == "hard  1 puzzle"


def test_equal_counts_are_not_equal_puzzles(bench):
    for name, puzzles in (("cp-sat", [1, 2]), ("scip", [2, 3])):
        batch = bench.batch([bench.set("hard", [1, 2, 3])])
        bench.runs(batch, name, dict.fromkeys(puzzles, (SOLVED, 5)))

    (table,) = bench.tables()

    assert table.about == "3 puzzles"
    assert [(row["note"], row["ratio"]) for row in table.rows] == [("2 of 3", None)] * 2


def undisturbed(bench: Bench, runs: dict[str, dict[int, float]], slow: dict[str, list[int]]) -> Table:
    """Return the comparison of runs (milliseconds by puzzle) without those whose core speed probe was slow."""
    batch = bench.batch([bench.set("hard", sorted(set().union(*runs.values())))])
    for name, times in runs.items():
        outcomes = {
            p: (SOLVED | {"reference_s": 9.0 if p in slow.get(name, ()) else 1.0}, ms) for p, ms in times.items()
        }
        bench.runs(batch, name, outcomes)
    with reading(bench.engine) as connection:
        (table,) = comparison.tables(connection, Scope((batch,), newest=False, bounds=((1, 2.0),)))
    return table


def ranked(table: Table) -> dict[str, tuple]:
    return {row["configuration"]: (row["runs"], row["ratio"], row["note"]) for row in table.rows}


FIVE, TEN = {1: 1, 2: 5, 3: 5, 4: 5}, {1: 1, 2: 10, 3: 10, 4: 10}


def test_undisturbed_runs_are_ranked_on_shared_puzzles(bench):
    table = undisturbed(bench, {"cp-sat": FIVE, "scip": TEN, "cbc": FIVE}, {"cp-sat": [1], "scip": [2]})

    assert table.about == "4 puzzles, ranked on 2 shared puzzles"
    assert ranked(table) == {"cbc": (4, 1.0, None), "cp-sat": (3, 1.0, None), "scip": (3, 2.0, None)}


def test_a_mostly_disturbed_configuration_is_not_ranked(bench):
    """It does not reduce the puzzles on which the other configurations are ranked."""
    table = undisturbed(bench, {"cp-sat": FIVE, "scip": TEN, "cbc": FIVE}, {"cbc": [1, 2, 3], "scip": [1]})

    assert table.about == "4 puzzles, ranked on 3 shared puzzles"
    assert ranked(table) == {"cp-sat": (4, 1.0, None), "scip": (3, 2.0, None), "cbc": (1, None, "1 of 4")}


def test_without_shared_puzzles_nothing_is_ranked(bench):
    table = undisturbed(bench, {"cp-sat": FIVE, "scip": FIVE}, {"cp-sat": [1, 2], "scip": [3, 4]})

    assert table.about == "4 puzzles"
    assert ranked(table) == dict.fromkeys(("cp-sat", "scip"), (2, None, "2 of 4"))


def test_disjoint_halves_do_not_prevent_other_rankings(bench):
    """Two configurations that kept disjoint halves are not ranked; the other configurations are."""
    table = undisturbed(bench, {"cp-sat": FIVE, "scip": TEN, "cbc": FIVE, "clp": FIVE}, {"cbc": [1, 2], "clp": [3, 4]})

    assert table.about == "4 puzzles"
    assert ranked(table) == {
        "cp-sat": (4, 1.0, None),
        "scip": (4, 1.9375, None),
        "cbc": (2, None, "2 of 4"),
        "clp": (2, None, "2 of 4"),
    }


def test_missing_runs_are_not_disturbed_runs(bench):
    """A configuration that did not run on every puzzle is not ranked."""
    table = undisturbed(bench, {"cp-sat": FIVE, "scip": {1: 1, 2: 10, 3: 10}}, {"cp-sat": [1]})

    assert table.about == "4 puzzles, ranked on 3 shared puzzles"
    assert ranked(table) == {"cp-sat": (3, 1.0, None), "scip": (3, None, "3 of 4")}


def test_a_failure_counts_on_a_disturbed_puzzle(bench):
    """A failure disqualifies, even if other configurations were disturbed on that puzzle."""
    batch = bench.batch([bench.set("hard", [1, 2])])
    bench.runs(batch, "cp-sat", {1: (TIMEOUT | {"reference_s": 1.0}, 3000), 2: (SOLVED | {"reference_s": 1.0}, 5)})
    bench.runs(batch, "scip", {1: (SOLVED | {"reference_s": 9.0}, 5), 2: (SOLVED | {"reference_s": 1.0}, 5)})
    with reading(bench.engine) as connection:
        (table,) = comparison.tables(connection, Scope((batch,), newest=False, bounds=((1, 2.0),)))

    assert ranked(table) == {"scip": (1, 1.0, None), "cp-sat": (2, None, "disqualified")}


def test_each_puzzle_has_the_same_weight(bench):
    """A puzzle counts once, whatever the number of its runs."""
    batch = bench.batch([bench.set("hard", [1, 2])])
    for repeat in range(3):
        bench.runs(batch, "scip", {1: (SOLVED, 10), 2: (SOLVED, 10)}, repeat)
        hard = {} if repeat else {1: (SOLVED, 16)}
        bench.runs(batch, "cp-sat", {**hard, 2: (SOLVED, 4)}, repeat)

    (table,) = bench.tables(batch)

    assert ranked(table) == {"scip": (6, 1.0, None), "cp-sat": (4, 1.0, None)}


def test_coverage_lists_batches_hosts_and_missing_runs(bench):
    batch = bench.batch([bench.set("hard", [1])], state=BatchState.ACTIVE, name="try")
    bench.runs(batch, "cp-sat", {1: (SOLVED, 10)})

    lines = bench.covered()

    assert lines[0] == f"batch {batch} (try): all runs; 3 s and 2 GiB per run; seed 0"
    assert lines[1] == "host bench: Abacus, 2 cores, 1,024 MiB"
    assert lines[2].startswith("note: these batches have unfinished runs")


@pytest.mark.parametrize("width", [200, 80, 60, 30])
def test_a_table_fits_its_terminal(bench, width):
    batch = bench.batch([bench.set("hard", [1])])
    bench.runs(batch, "cp-min-size", {1: (SOLVED, 10)})
    bench.runs(batch, "backtracking", {1: (TIMEOUT, 3000)})

    text = drawn(bench.tables(), width)

    assert max(map(len, text.splitlines())) <= width
    assert "disqualified" in text
    assert "10.00" in text


def test_exports_escape_markup_and_formulas(bench):
    batch = bench.batch([bench.set("=a|b[c]", [1])])
    bench.runs(batch, "cp-sat", {1: (SOLVED, 10)})
    found = bench.tables()

    assert r"### =a\|b\[c\]  1 puzzle" in as_markdown(found)
    assert as_csv(found).splitlines()[1].startswith("'=a|b[c],cp-sat,1,1,")
    assert '"set": "=a|b[c]"' in as_json(found)
    assert [safe(cell) for cell in ("+1", "@x", "-", "a=b", -1, None)] == ["'+1", "'@x", "'-", "a=b", -1, None]


def test_a_table_can_be_sorted_and_filtered(bench):
    """Numbers are sorted as numbers, and missing values last."""
    batch = bench.batch([bench.set("hard", [1])])
    for name, outcome, milliseconds in (("a", SOLVED, 9), ("b", SOLVED, 100), ("c", TIMEOUT, 20)):
        bench.runs(batch, name, {1: (outcome, milliseconds)})
    (table,) = bench.tables()

    assert [row["configuration"] for row in chosen(table, None, "-mean_ms", None).rows] == ["b", "c", "a"]
    assert [row["configuration"] for row in chosen(table, None, "-ratio", None).rows] == ["b", "a", "c"]
    assert [row["configuration"] for row in chosen(table, None, None, "timeout=0").rows] == ["a", "b"]
    assert [column.key for column in chosen(table, "solved, runs", None, None).visible] == ["solved", "runs"]
    assert len(chosen(table, "set,solved", "set", "set=hard").rows) == 3
    assert not chosen(table, None, None, "set=easy").rows
    for words in ((None, None, "timeout"), (None, None, "timeout="), ("", None, None), (None, "", None)):
        with pytest.raises(InputError, match=r"expected KEY=WORD|found the column '', expected one of set"):
            chosen(table, *words)


def test_statistics_on_known_values():
    values = [float(value) for value in range(20, 0, -1)]

    assert mean(values) == 10.5
    assert median(values) == 10.5
    assert median([3.0, 1.0, 2.0]) == 2.0
    # Nearest rank: the 19th of 20 values, the only one of one, the last of four.
    assert percentile(values, 0.95) == 19
    assert percentile([7.0], 0.95) == 7
    assert percentile([1.0, 2.0, 3.0, 4.0], 0.95) == 4
    assert percentile(values, 0.5) == 10
    assert percentile(values, 0.0) == 1


def test_runs_refuted_by_other_runs(bench: Bench):
    """A claim that there is no solution is refuted by a verified solution of another run, and by nothing else."""
    one = bench.set("one", [1, 2, 3])
    batch = bench.batch([one])
    bench.runs(batch, "claims", {1: (NONE, 1), 2: (NONE, 1), 3: (TIMEOUT, 1)})
    bench.runs(batch, "solves", {1: (SOLVED, 1), 2: (WRONG, 1), 3: (SOLVED, 1)})

    assert refuted(bench.engine, batch) == 1
