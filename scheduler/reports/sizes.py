"""The sizes of models, and their text: `81 integer; 27 AllDifferent (9 row, 9 column, 9 box)`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

CountByName = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ModelSize:
    """The number of variables of a model by type, and of its constraints by type and role (``AllDifferent row``)."""

    variables: CountByName
    constraints: CountByName

    @property
    def types(self) -> CountByName:
        """The number of constraints by type."""
        found: Counter[str] = Counter()
        for name, number in self.constraints.items():
            found[split(name)[0]] += number
        return found


def split(name: str) -> tuple[str, str]:
    """Split a name into type and role: ``exactly one cage`` is of the type ``exactly one`` and the role ``cage``."""
    kind, _, role = name.rpartition(" ")
    return kind, role


def parse(text: str) -> ModelSize:
    """Parse the text of a size in the database, which is JSON."""
    return ModelSize(**json.loads(text))


def as_text(models: Iterable[ModelSize]) -> str:
    """Return one text for the models of several puzzles, with ranges where they differ: ``27–31 Sum (cage)``."""
    found = list(models)
    variables = _spans([one.variables for one in found])
    types, parts = _spans([one.types for one in found]), _spans([one.constraints for one in found])
    constraints = [f"{span} {kind}{_roles(kind, parts)}" for kind, span in types.items()]
    return "; ".join((", ".join(f"{span} {kind}" for kind, span in variables.items()), ", ".join(constraints)))


def _roles(kind: str, parts: Mapping[str, str]) -> str:
    found = [(role, span) for (one, role), span in ((split(name), span) for name, span in parts.items()) if one == kind]
    roles = [role if len(found) == 1 else f"{span} {role}" for role, span in found]
    return f" ({', '.join(roles)})"


def _spans(counted: Sequence[CountByName]) -> dict[str, str]:
    """Return the count, ``9``, or the range of counts, ``27–31``, by name."""
    names = dict.fromkeys(name for one in counted for name in one)
    found = {name: [one.get(name, 0) for one in counted] for name in names}
    return {
        name: f"{min(numbers):,}" + (f"–{max(numbers):,}" if min(numbers) < max(numbers) else "")
        for name, numbers in found.items()
    }
