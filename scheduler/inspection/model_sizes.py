"""How big a puzzle is in a configuration: variables by type, constraints by type and role. Nothing is run."""

from __future__ import annotations

from cagematch.problems.problem import Puzzle
from cagematch.scheduler.reports.sizes import Made, split
from cagematch.scheduler.reports.table import Cell, Column, Table
from cagematch.workers.configurations import Configuration
from cagematch.workers.sandbox.solving import problem_of, size, unsupported

TYPE, TOTAL = "type", "total"


def model_of(puzzle: Puzzle, configuration: Configuration) -> Table | str:
    """A table of constraints, type × role, under the numbers of variables; or why the backend cannot take it."""
    rules = problem_of(puzzle.kind, puzzle.text).rules
    if why := unsupported(configuration.backend, rules):
        return f"{configuration.text}: {configuration.backend} cannot {why}"
    found = size(configuration, rules)
    return _table(configuration.text, Made(found.variables, found.constraints))


def _table(name: str, made: Made) -> Table:
    roles = list(dict.fromkeys(split(one)[1] for one in made.constraints))
    rows: list[dict[str, Cell]] = [
        {TYPE: kind, TOTAL: total, **{role: made.constraints.get(f"{kind} {role}") for role in roles}}
        for kind, total in made.types.items()
    ]
    if len(rows) > 1:
        sums = {role: sum(count for one, count in made.constraints.items() if split(one)[1] == role) for role in roles}
        rows.append({TYPE: TOTAL, TOTAL: sum(made.constraints.values()), **sums})
    columns = [Column(role, role, "{:,}".format) for role in (*roles, TOTAL)]
    variables = sum(made.variables.values())
    types = ", ".join(f"{number:,} {kind}" for kind, number in made.variables.items())
    about = f"{variables:,} variables ({types}), {sum(made.constraints.values()):,} constraints"
    return Table(name, about, [Column(TYPE, "constraint", left=True), *columns], rows)
