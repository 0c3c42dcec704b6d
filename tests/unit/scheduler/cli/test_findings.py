"""Findings of the tasks unique, count and repair about configurations and puzzles, from runs that the tests store."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from bench import ERROR, NONE, SOLVED, TIMEOUT, Bench, Columns, drawn, open_bench, rows
from rich.console import Console
from sqlalchemy import insert, update

from cagematch.models import Run, StoredPuzzle, StoredSize
from cagematch.models.engine import reading, writing
from cagematch.problems.errors import InputError
from cagematch.scheduler.cli.findings import findings
from cagematch.scheduler.reports import REPORTS, comparison
from cagematch.scheduler.reports.puzzles.drawing import differing, side_by_side, summarised
from cagematch.scheduler.reports.scope import scope
from cagematch.scheduler.reports.sizes import as_text, parse
from cagematch.scheduler.reports.table import Table, chosen

FULL, SWAPPED, OTHER = "1234341221434321", "2134341212434321", "4321214334121234"
UNIQUE: Columns = SOLVED | {"solution": FULL, "count": 1, "complete": True}
SEVERAL: Columns = SOLVED | {"solution": FULL, "second": SWAPPED, "count": 2, "complete": False, "verified": 2}
ANOTHER: Columns = UNIQUE | {"solution": OTHER}
FAKE: Columns = SEVERAL | {"second": FULL, "holds": False, "verified": 1}  # the same solution twice
NOTHING: Columns = NONE | {"count": 0, "complete": True}
UNSUPPORTED: Columns = {"answer": "unknown", "stop": "unsupported"}


def counted(number: int, *, complete: bool = True) -> Columns:
    return SOLVED | {"solution": FULL, "count": number, "complete": complete, "verified": min(number, 2)}


def repaired(changes: int, solution: str = FULL, **more: object) -> Columns:
    return SOLVED | {"solution": solution, "changes": changes, "complete": True, "verified": 0} | more


@pytest.fixture
def bench(tmp_path: Path):
    with open_bench(tmp_path / "scheduler.db") as one:
        yield one


def table(bench: Bench, name: str, *batches: int) -> list[Table]:
    with reading(bench.engine) as connection:
        return REPORTS[name](connection, scope(connection, list(batches)))


def findings_by_place(bench: Bench, name: str, *batches: int) -> dict[str, str]:
    return {row["place"]: row["found"] for one in table(bench, name, *batches) for row in one.rows}


def summary(bench: Bench, *batches: int) -> list[tuple[str, bool]]:
    with reading(bench.engine) as connection:
        return [(one.summary, one.wrong) for one in findings(connection, scope(connection, list(batches)))]


def test_disputed_puzzles_are_listed_first(bench):
    """Improper puzzles are listed with their configurations."""
    batch = bench.batch([bench.set("book", [1, 2, 3, 4, 5])], task="unique")
    bench.runs(batch, "cp-sat", {1: (UNIQUE, 1), 2: (SEVERAL, 1), 3: (TIMEOUT, 1), 4: (NOTHING, 1), 5: (NOTHING, 1)})
    bench.runs(batch, "scip", {1: (UNIQUE, 1), 2: (SEVERAL, 1), 3: (TIMEOUT, 1), 4: (UNIQUE, 1), 5: (ERROR, 1)})

    (found,) = table(bench, "improper")

    assert drawn([found]) == (
        "book  4 puzzles are not proper\n"
        "place   found        by\n"
        "book:4  disputed     no solution: cp-sat; unique: scip\n"
        "book:2  several      cp-sat, scip\n"
        "book:5  no solution  cp-sat\n"
        "book:3  undecided    cp-sat, scip\n\n"
    )
    assert found.loud == {0}
    assert (found.rows[1]["solution"], found.rows[1]["second"]) == (FULL, SWAPPED)
    assert summary(bench) == [("5 puzzles, NOT PROPER: 1 disputed, 1 several, 1 no solution, 1 undecided", True)]


def test_a_set_of_proper_puzzles_is_summarised(bench):
    batch = bench.batch([bench.set("book", [1, 2])], task="unique")
    bench.runs(batch, "cp-sat", {1: (UNIQUE, 1), 2: (TIMEOUT, 1)})
    bench.runs(batch, "scip", {1: (UNIQUE, 1), 2: (UNIQUE, 1)})

    assert table(bench, "improper") == []
    assert summary(bench) == [("2 puzzles, each with exactly one solution", False)]


def test_two_different_unique_solutions_are_disputed(bench):
    """No single run found two solutions, but the two runs together did."""
    batch = bench.batch([bench.set("book", [1])], task="unique")
    bench.runs(batch, "cp-sat", {1: (UNIQUE, 1)})
    bench.runs(batch, "scip", {1: (ANOTHER, 1)})

    ((row,),) = [one.rows for one in table(bench, "improper")]

    assert (row["found"], {row["solution"], row["second"]}) == ("disputed", {FULL, OTHER})
    assert [r["wrong"] for r in rows(bench.tables()[0]).values()] == [1, 1]


def test_solutions_of_another_batch_refute_uniqueness(bench):
    book = bench.set("book", [1, 2])
    before, batch = bench.batch([book], task="count", bound=5), bench.batch([book], task="unique")
    bench.runs(before, "cp-sat", {1: (SEVERAL, 1)})
    bench.runs(batch, "scip", {1: (UNIQUE, 1), 2: (UNIQUE, 1)})

    assert findings_by_place(bench, "improper", batch) == {"book:1": "disputed"}
    assert rows(bench.tables(batch)[0])["scip"]["wrong"] == 1


def test_an_invalid_second_solution_proves_nothing(bench):
    batch = bench.batch([bench.set("book", [1, 2])], task="unique")
    bench.runs(batch, "liar", {1: (FAKE, 1), 2: (FAKE, 1)})
    bench.runs(batch, "scip", {1: (UNIQUE, 1), 2: (TIMEOUT, 1)})

    assert findings_by_place(bench, "improper") == {"book:2": "undecided"}
    assert rows(bench.tables()[0])["liar"]["wrong"] == 2


def test_the_most_similar_pair_of_solutions_is_listed(bench):
    batch = bench.batch([bench.set("book", [1])], task="unique")
    bench.runs(batch, "cp-sat", {1: (SEVERAL | {"second": OTHER}, 1)})
    bench.runs(batch, "scip", {1: (SEVERAL, 1)})

    ((row,),) = [one.rows for one in table(bench, "improper")]

    assert (row["solution"], row["second"]) == (FULL, SWAPPED)


def test_disputed_counts_are_listed_first_with_their_configurations(bench):
    batch = bench.batch([bench.set("small", [1, 2, 3, 4])], task="count", bound=1000)
    more = counted(1000, complete=False)
    bench.runs(batch, "cp-sat", {1: (counted(2), 1), 2: (more, 1), 3: (counted(12), 1), 4: (TIMEOUT, 1)})
    bench.runs(batch, "scip", {1: (counted(2), 1), 2: (more, 1), 3: (counted(11), 1), 4: (NOTHING, 1)})

    (found,) = table(bench, "counts")

    assert drawn([found]) == (
        "small  4 puzzles counted\n"
        "place    solutions  found       by\n"
        "small:3         12  disputed    12: cp-sat; 11: scip\n"
        "small:1          2  counted     cp-sat, scip\n"
        "small:2     1,000+  over bound  cp-sat, scip\n"
        "small:4          0  counted     scip\n\n"
    )
    assert summary(bench) == [("configurations report DIFFERENT counts for 1 puzzle", True)]


def test_repairs_list_the_fewest_changes_and_their_cells(bench):
    batch = bench.batch([bench.set("broken", [1, 2, 3])], task="repair")
    with writing(bench.engine) as connection:
        connection.execute(update(StoredPuzzle).values(text="2" + FULL[1:8] + "........"))
    slow = repaired(2, OTHER, complete=False, stop="timeout")
    bench.runs(batch, "cp-sat", {1: (repaired(1), 1), 2: (slow, 1), 3: (NONE, 1)})
    bench.runs(batch, "scip", {1: (slow, 1), 2: (TIMEOUT, 1), 3: (TIMEOUT, 1)})

    (found,) = table(bench, "repairs")

    first, second, third = found.rows
    assert (first["changes"], first["found"], first["cells"], first["by"]) == (1, "repaired", "r1c1: 2 → 1", "cp-sat")
    assert (second["changes"], second["found"]) == (2, "undecided")
    assert (third["changes"], third["found"]) == (None, "no solution")
    assert rows(bench.tables()[0])["cp-sat"]["changes"] == 1
    assert summary(bench) == [("", False)]


@pytest.mark.parametrize(
    ("task", "outcome", "headings"),
    [
        ("solve", SOLVED, ["solved", "wrong", "timeout"]),
        ("unique", UNIQUE, ["unique", "several", "no solution", "wrong", "timeout"]),
        ("count", counted(3), ["counted", "solutions", "wrong", "timeout"]),
        ("repair", repaired(2), ["repaired", "changes", "wrong", "timeout"]),
    ],
)
def test_the_task_selects_the_visible_columns(bench, task, outcome, headings):
    """The comparison has the same keys for every task."""
    batch = bench.batch([bench.set("hard", [1])], task=task)
    bench.runs(batch, "cp-sat", {1: (outcome, 1)})

    (found,) = bench.tables()

    assert [column.heading for column in found.visible][1:-6] == headings
    assert found.cells()[0][1] == "1/1"
    assert [column.key for column in found.columns] == [column.key for column in comparison.columns_of("solve")]


def test_unsupported_runs_have_no_times(bench):
    """Every decided puzzle counts, also one without a solution or with several."""
    batch = bench.batch([bench.set("hard", [1, 2])], task="unique")
    bench.runs(batch, "cp-sat", {1: (SEVERAL, 1), 2: (NOTHING, 3)})
    bench.runs(batch, "clp", {1: (UNSUPPORTED, 0), 2: (UNSUPPORTED, 0)})

    found = rows(bench.tables()[0])

    assert (found["cp-sat"]["ratio"], found["cp-sat"]["note"]) == (1, None)
    assert (found["clp"]["note"], found["clp"]["mean_ms"], found["clp"]["ratio"]) == ("unsupported", None, None)
    assert list(found) == ["cp-sat", "clp"]
    assert not bench.tables()[0].loud


def test_batches_of_different_tasks_have_separate_tables(bench):
    hard = bench.set("hard", [1])
    one, other = bench.batch([hard]), bench.batch([hard], task="unique")
    bench.runs(one, "cp-sat", {1: (SOLVED, 1)})
    bench.runs(other, "cp-sat", {1: (UNIQUE, 1)})

    assert [t.title for t in bench.tables(one, other)] == ["hard  1 puzzle", "hard  1 puzzle, task unique"]
    assert "TASKS DIFFER: solve or unique" in bench.covered(one, other)[0]
    assert "task unique;" in bench.covered()[0]
    assert any(f"batch {one} excluded: different task (solve)" in line for line in bench.covered())


def test_a_table_of_another_task_is_refused(bench):
    batch = bench.batch([bench.set("hard", [1])])
    bench.runs(batch, "cp-sat", {1: (SOLVED, 1)})

    with reading(bench.engine) as connection, pytest.raises(InputError, match="needs a batch of the task unique"):
        findings(connection, scope(connection, [batch]), "improper")


def test_different_model_sizes_are_shown_as_range(bench):
    batch = bench.batch([bench.set("killer", [1, 2])])
    bench.runs(batch, "cp-sat", {1: (SOLVED, 1), 2: (SOLVED, 1)})
    texts = [
        f'{{"variables": {{"integer": 81}}, "constraints": {{"AllDifferent row": 9, "Sum cage": {n}}}}}'
        for n in (27, 31)
    ]
    with writing(bench.engine) as connection:
        for number, text in enumerate(texts, start=1):
            connection.execute(insert(StoredSize).values(id=number, text=text, variables=81, constraints=number))
            connection.execute(update(Run).where(Run.puzzle_id == number).values(size_id=number))

    (row,) = bench.tables()[0].rows

    assert row["size"] == "81 integer; 9 AllDifferent (row), 27–31 Sum (cage)"
    assert (row["variables"], row["constraints"]) == (81, 40)


def test_model_size_texts_group_roles_by_type():
    counts = '{"A row": 9, "A box": 9, "exactly one cage": 1234}'

    text = as_text([parse(f'{{"variables": {{"integer": 81, "Boolean": 4}}, "constraints": {counts}}}')])

    assert text == "81 integer, 4 Boolean; 18 A (9 row, 9 box), 1,234 exactly one (cage)"


@pytest.mark.parametrize("width", [80, 20])
def test_solutions_are_drawn_side_by_side_if_possible(width):
    lines = side_by_side("sudoku", FULL, (FULL, SWAPPED), width)

    assert max(len(line.plain) for line in lines) <= width
    assert len(lines) == (7 if width == 80 else 14)
    marked = [line.plain[span.start] for line in lines for span in line.spans if "reverse" in str(span.style)]
    assert sorted(marked) == sorted("12212112")
    cells = differing("sudoku", FULL, FULL, SWAPPED)
    assert summarised(cells) == "4 cells differ: r1c1 1/2, r1c2 2/1, r3c1 2/1, r3c2 1/2"
    Console(file=io.StringIO(), width=width).print(*lines)


def test_queens_differ_by_rows_only():
    cells = differing("queens", "4", "2.4.1.3", "3.1.4.2")

    assert cells == ["r1 2/3", "r2 4/1", "r3 1/4", "r4 3/2"]


def test_a_table_with_all_outcomes_fits_80_columns(bench):
    batch = bench.batch([bench.set("hard", [1, 2, 3])], task="unique")
    bench.runs(batch, "cp-min-size", {1: (UNIQUE, 1000), 2: (SEVERAL, 100), 3: (NOTHING, 100)})

    *headings, row = drawn(bench.tables(), 80).rstrip().splitlines()

    assert row.split() == ["cp-min-size", "1/3", "1", "1", "0", "0", "400.0", "100.0", "1.00"]
    assert "p95" not in " ".join(headings)
    selected = chosen(bench.tables()[0], "configuration,p95_ms", None, None)
    assert drawn([selected], 20).splitlines()[-2].split() == ["cp-min-size", "1,000"]
