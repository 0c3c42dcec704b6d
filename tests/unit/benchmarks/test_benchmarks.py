"""The benchmarks, in tiny sizes and without assertions about times."""

from __future__ import annotations

from pathlib import Path

import pytest
from families import alone
from rivals_solved import solved

from benchmarks import bare, builds, loading, starting, tuned
from benchmarks.figures import figures
from benchmarks.harness.pairs import Figure, Side, in_turns, measure
from benchmarks.harness.written import HEAD, sections, write
from benchmarks.rivals import RIVALS
from cagematch.workers.backends import BACKENDS, version
from cagematch.workers.configurations import configuration


def side(command: str, *rates: float) -> Side:
    left = iter(rates)
    return Side(command, lambda: next(left))


def test_a_figure_shows_its_ratio_and_both_commands():
    sides = side("ours", 9.0, 10.0, 5.0), side("theirs", 10.0, 10.0, 10.0)

    result = measure(Figure("a / b", "runs/s", 0.9, lambda: in_turns(*sides)), 3)

    assert result.reached
    assert str(result).splitlines() == [
        "a / b: 0.90 (0.50–1.00); at least 0.9: reached",
        "           9.0 runs/s   ours",
        "          10.0 runs/s   theirs",
    ]


def test_an_upper_bound_inverts_the_ratio():
    """A figure with an upper bound shows the inverse of the ratio of rates."""
    sides = side("ours", 2.0), side("theirs", 30.0)

    result = measure(Figure("a / b", "starts/s", 12.0, lambda: in_turns(*sides), at_most=True), 1)

    assert not result.reached
    assert str(result).startswith("a / b: 15.00 (15.00–15.00); at most 12: MISSED")


def test_figures_that_need_services_are_skipped_without_them():
    names = [figure.name for figure in figures(1.0, None)]

    assert len([name for name in names if not name.startswith(("builds", "tuned"))]) == 5
    assert not any("distributed" in name or "PostgreSQL" in name or "Celery" in name for name in names)


def test_the_bare_loop_solves_on_every_core():
    assert bare.rate("cp-min-size", "medium", 1) > 0


def test_both_loaders_load_distinct_puzzles(tmp_path: Path):
    path = tmp_path / "puzzles.txt"
    loading.write_puzzles(path, 200)

    assert len(set(path.read_text().split())) == 200
    for how in ("loader", "bare"):
        rate, peak_mib = loading.measured(how, f"sqlite:///{tmp_path}/{how}.db", path)
        assert rate > 0
        assert peak_mib > 0


def test_starting_measures_a_rate_and_reports_failures():
    assert starting.rate(starting.NOTHING, 0.0) > 0
    with pytest.raises(Exception, match="non-zero exit status"):
        starting.rate([*starting.NOTHING[:-1], "raise SystemExit(1)"], 0.0)


TINY = "....2.4.......13", "..4....1...22.1.", "....23....3..4.."


def test_every_backend_has_a_rival_for_its_build():
    assert {word.partition(":")[0] for word in RIVALS} == set(BACKENDS)


@pytest.mark.parametrize("word", [word for word in RIVALS if version(word.partition(":")[0])])
def test_a_rival_builds_the_puzzle(word: str):
    """Every documented interface builds several puzzles in a row, and no model keeps a part of the previous puzzle."""
    for name, right in alone(configuration(word).backend, solved, word, TINY).items():
        assert right, f"{word} through {name}"


def test_builds_alternate_with_the_named_interface():
    found = builds.medians("legacy-cp", ("IntVar and AllDifferent",), rounds=1)

    assert found.keys() == {"ours", "IntVar and AllDifferent"}
    assert min(found.values()) > 0


def test_preset_and_cp_sat_runs_are_measured():
    found = tuned.times("medium", 1, 0)

    assert {word: len(spans) for word, spans in found.items()} == dict.fromkeys((tuned.PRESET, *tuned.TARGETS), 11)


def test_the_hardest_puzzles_are_available():
    assert len(bare.texts(tuned.HARDEST)) == 375


def test_partial_results_replace_only_their_own_section(tmp_path: Path):
    path = tmp_path / "results.md"

    write("", "python -m benchmarks", "all", path)
    write("builds", "python -m benchmarks --only builds", "some", path)
    write("builds", "python -m benchmarks --only builds", "others", path)

    assert path.read_text().startswith(HEAD)
    assert sections(path) == {
        "Everything": "python -m benchmarks\n\n```text\nall\n```",
        "`builds`": "python -m benchmarks --only builds\n\n```text\nothers\n```",
    }

    write("", "python -m benchmarks", "all again", path)

    assert sections(path) == {"Everything": "python -m benchmarks\n\n```text\nall again\n```"}
