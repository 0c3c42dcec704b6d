"""How big models are, in words and in numbers: `81 integer; 27 AllDifferent (9 row, 9 column, 9 box)`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

Counts = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Made:
    """A model's variables by type, and its constraints by type and role (``AllDifferent row``)."""

    variables: Counts
    constraints: Counts

    @property
    def types(self) -> Counts:
        """The constraints by type alone."""
        found: Counter[str] = Counter()
        for name, number in self.constraints.items():
            found[split(name)[0]] += number
        return found


def split(name: str) -> tuple[str, str]:
    """Type and role: ``exactly one cage`` is an ``exactly one`` of a ``cage``."""
    kind, _, role = name.rpartition(" ")
    return kind, role


def made(text: str) -> Made:
    """Read what the table ``size`` has of a model."""
    return Made(**json.loads(text))


def words(models: Iterable[Made]) -> str:
    """One text for the models of several puzzles, with ranges where they differ: ``27–31 Sum (cage)``."""
    found = list(models)
    variables = _spans([one.variables for one in found])
    types, parts = _spans([one.types for one in found]), _spans([one.constraints for one in found])
    told = [f"{span} {kind}{_roles(kind, parts)}" for kind, span in types.items()]
    return "; ".join((", ".join(f"{span} {kind}" for kind, span in variables.items()), ", ".join(told)))


def _roles(kind: str, parts: Mapping[str, str]) -> str:
    found = [(role, span) for (one, role), span in ((split(name), span) for name, span in parts.items()) if one == kind]
    told = [role if len(found) == 1 else f"{span} {role}" for role, span in found]
    return f" ({', '.join(told)})"


def _spans(counted: Sequence[Counts]) -> dict[str, str]:
    """``9``, or ``27–31``, by name."""
    names = dict.fromkeys(name for one in counted for name in one)
    found = {name: [one.get(name, 0) for one in counted] for name in names}
    return {
        name: f"{min(numbers):,}" + (f"–{max(numbers):,}" if min(numbers) < max(numbers) else "")
        for name, numbers in found.items()
    }
