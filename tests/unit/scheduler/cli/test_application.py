"""The command tree: a fast start, complete help texts, and examples that the parser accepts."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys

import pytest
import typer
from commanding import make_scheduler

from cagematch.scheduler.cli.application import COMMANDS, DATABASE, EXAMPLES, make_application
from cagematch.scheduler.cli.services import db

LINES = [line for _, lines in (*COMMANDS, *DATABASE, (None, EXAMPLES), (None, db.EXAMPLES)) for line in lines]
HEAVY = {"sqlalchemy", "celery", "kombu", "ortools", "pulp", "redis", "alembic", "rich.console", "numpy"}


def groups_and_commands():
    """Yield every command with its context."""

    def walk(command, name, parent):
        context = typer.Context(command, info_name=name, parent=parent, **command.context_settings)
        yield command, context
        for child in command.list_commands(context) if hasattr(command, "list_commands") else ():
            yield from walk(command.get_command(context, child), child, context)

    return walk(typer.main.get_command(make_application()), "scheduler", None)


def test_commands_are_listed_in_order_of_use():
    root, context = next(groups_and_commands())

    listed = " ".join(root.list_commands(context))

    assert listed == "submit status watch cancel resume rerun report export show verify prune solvers worker db"


@pytest.mark.parametrize("line", LINES)
def test_an_example_is_parsed(line):
    name, *words = shlex.split(line)
    command = typer.main.get_command(make_application())
    context = command.make_context(name, words)

    while hasattr(command, "resolve_command"):
        name, command, words = command.resolve_command(context, [*context._protected_args, *context.args])
        context = command.make_context(name, words, parent=context)

    assert context.command_path.split() == line.split()[: len(context.command_path.split())]


def test_every_help_ends_with_examples_one_per_line():
    for command, context in groups_and_commands():
        lines = command.get_help(context).splitlines()

        examples = lines[lines.index("  Examples:") + 1 :]
        assert any(line.startswith(f"    {context.command_path}") for line in examples), context.command_path


def test_every_parameter_has_a_help_text():
    without = [
        f"{context.command_path} {parameter.name}"
        for command, context in groups_and_commands()
        for parameter in command.params
        if not parameter.help
    ]

    assert without == []


def test_help_imports_nothing_heavy(tmp_path):
    scheduler = make_scheduler(tmp_path)
    program = (
        "import sys; from cagematch.scheduler.cli import main; sys.argv = ['scheduler', '--help']\n"
        "try: main()\n"
        "finally: print(*sys.modules, file=sys.stderr)"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], env=scheduler.environment, capture_output=True, text=True, check=True
    )

    assert HEAVY & set(done.stderr.split()) == set()


def test_help_costs_at_most_twelve_interpreter_starts(tmp_path):
    """`scheduler --help` takes at most the CPU time of twelve starts of Python without imports."""
    scheduler = make_scheduler(tmp_path)

    def fastest(command):
        """Return seconds of CPU time, which other processes affect least."""
        times = []
        for _ in range(9):
            with subprocess.Popen(command, env=scheduler.environment, stdout=subprocess.DEVNULL) as process:
                _, status, used = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
            assert process.returncode == 0
            times.append(used.ru_utime + used.ru_stime)
        return min(times)

    assert fastest([*scheduler.command, "--help"]) <= 12 * fastest([sys.executable, "-c", "pass"])
