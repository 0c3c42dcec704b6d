"""The size of a puzzle's model in a configuration: variables by type, constraints by type and role."""

from __future__ import annotations

from cagematch.problems.problem import Puzzle
from cagematch.scheduler.reports.sizes import ModelSize, split
from cagematch.scheduler.reports.table import Cell, Column, Table
from cagematch.workers.configurations import Configuration
from cagematch.workers.sandbox.solving import problem_of, size, unsupported

TYPE, TOTAL = "type", "total"


def model_of(puzzle: Puzzle, configuration: Configuration) -> Table | str:
    """Build the model of a puzzle, without solving it, and measure its size.

    Returns
    -------
    Table or str
        The constraints by type and role; a message if the backend does not support the puzzle.
    """
    rules = problem_of(puzzle.kind, puzzle.text).rules
    if why := unsupported(configuration.backend, rules):
        return f"{configuration.text}: {configuration.backend} does not support {why}"
    found = size(configuration, rules)
    return _table(configuration.text, ModelSize(found.variables, found.constraints))


def _table(name: str, model: ModelSize) -> Table:
    roles = list(dict.fromkeys(split(one)[1] for one in model.constraints))
    rows: list[dict[str, Cell]] = [
        {TYPE: kind, TOTAL: total, **{role: model.constraints.get(f"{kind} {role}") for role in roles}}
        for kind, total in model.types.items()
    ]
    if len(rows) > 1:
        sums = {role: sum(count for one, count in model.constraints.items() if split(one)[1] == role) for role in roles}
        rows.append({TYPE: TOTAL, TOTAL: sum(model.constraints.values()), **sums})
    columns = [Column(role, role, "{:,}".format) for role in (*roles, TOTAL)]
    variables = sum(model.variables.values())
    types = ", ".join(f"{number:,} {kind}" for kind, number in model.variables.items())
    about = f"{variables:,} variables ({types}), {sum(model.constraints.values()):,} constraints"
    return Table(name, about, [Column(TYPE, "constraint", left=True), *columns], rows)
