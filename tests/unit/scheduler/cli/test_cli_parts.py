"""What the commands share: quantities, consoles, the fast start."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest
from commanding import make_scheduler

from cagematch.problems.errors import InputError
from cagematch.scheduler.cli.application import mebibytes, seconds
from cagematch.scheduler.cli.consoles import steady
from cagematch.scheduler.cli.working import announce
from cagematch.scheduler.reports.export import format_of


@pytest.mark.parametrize(
    ("text", "value"), [("3", 3), ("3s", 3), ("500ms", 0.5), (" 1.5 m ", 90), ("2min", 120), ("1h", 3600)]
)
def test_times(text, value):
    assert seconds(text) == value


@pytest.mark.parametrize(
    ("text", "value"), [("512", 512), ("512MiB", 512), ("2GiB", 2048), ("1gb", 954), ("0.5g", 512), ("1mb", 1)]
)
def test_sizes(text, value):
    assert mebibytes(text) == value


@pytest.mark.parametrize("text", ["", "s", "-3s", "0", "3 weeks", "nan", "inf", "1e9", "3s3s", "9" * 400])
def test_what_is_no_time(text):
    with pytest.raises(InputError, match="expected a time such as"):
        seconds(text)


@pytest.mark.parametrize("text", ["169h", "999999h"])
def test_a_time_is_a_week_at_most(text):
    with pytest.raises(InputError, match="a week"):
        seconds(text)


def test_very_many_runs_are_announced(capsys, monkeypatch):
    loaded = [SimpleNamespace(distinct=100), SimpleNamespace(distinct=10)]

    announce(loaded, None, 90_000)
    announce(loaded, 50, 1_000_000)

    assert capsys.readouterr().err == "that makes 60,000,000 runs\n"


def test_a_console_takes_nothing_for_markup_and_wraps_nothing_in_a_file():
    out = io.StringIO()
    steady(out).print("[red]" + "x" * 500 + ":smile: 123")

    assert out.getvalue() == "[red]" + "x" * 500 + ":smile: 123\n"


def test_a_console_whose_reader_is_gone_falls_silent():
    ours, theirs = os.pipe()
    os.close(ours)
    with os.fdopen(theirs, "w") as stream:
        console = steady(stream)
        for _ in range(3):
            console.print("anybody?")

        assert console.quiet


def test_formats_by_the_end_of_a_name():
    assert [format_of(name) for name in ("a.csv", "b/c.JSONL")] == ["csv", "jsonl"]
    with pytest.raises(InputError, match=r"expected \.csv or \.jsonl"):
        format_of("a.txt")
    with pytest.raises(InputError, match=r"`scheduler export 17 runs\.csv`"):
        format_of("17")


def test_help_imports_nothing_heavy(tmp_path):
    scheduler = make_scheduler(tmp_path)
    asked = (
        "import sys; from cagematch.scheduler.cli import main; sys.argv = ['scheduler', '--help']\n"
        "try: main()\n"
        "finally: print(*sys.modules, file=sys.stderr)"
    )

    told = subprocess.run(
        [sys.executable, "-c", asked], env=scheduler.environment, capture_output=True, text=True, check=True
    )

    heavy = {"sqlalchemy", "celery", "kombu", "ortools", "pulp", "redis", "alembic", "rich.console", "numpy"}
    assert heavy & set(told.stderr.split()) == set()


def test_help_starts_in_at_most_twelve_bare_pythons(tmp_path):
    scheduler = make_scheduler(tmp_path)

    def fastest(command):
        """Seconds of CPU, which other work on the machine disturbs least."""
        times = []
        for _ in range(9):
            with subprocess.Popen(command, env=scheduler.environment, stdout=subprocess.DEVNULL) as process:
                _, status, used = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
            assert process.returncode == 0
            times.append(used.ru_utime + used.ru_stime)
        return min(times)

    assert fastest([*scheduler.command, "--help"]) <= 12 * fastest([sys.executable, "-c", "pass"])
