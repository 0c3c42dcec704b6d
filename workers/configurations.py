"""Configurations: a backend with its parameters, spelled as users type it.

``cp-sat``, ``cp-sat:workers=1,encoding=bool``, ``cp-min-size`` (a preset), ``@core`` (a group), and
``legacy-cp:var=*,val=*`` (a sweep: every word that the parameter takes).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from problems.errors import ConfigurationError
from workers.backends import load
from workers.backends.contract import Parameter, Settings

PRESETS: dict[str, str] = {
    "cp-default": "legacy-cp:var=CHOOSE_FIRST_UNBOUND,val=ASSIGN_MIN_VALUE",
    "cp-simple": "legacy-cp:var=INT_VAR_SIMPLE,val=INT_VALUE_SIMPLE",
    "cp-min-size": "legacy-cp:var=CHOOSE_MIN_SIZE_LOWEST_MIN,val=ASSIGN_CENTER_VALUE",
}
GROUPS: dict[str, tuple[str, ...]] = {
    "@default": ("cp-sat", "cp-min-size", "scip", "cbc"),
    "@core": ("cp-sat", "cp-default", "cp-simple", "cp-min-size", "scip", "cbc", "pulp-cbc", "backtracking"),
}


@dataclass(frozen=True, eq=False)
class Configuration:
    """A backend and the value of every parameter it has. ``text`` is the shortest way to type it."""

    backend: str
    settings: Settings
    text: str

    @property
    def threads(self) -> int:
        """How many cores one solve keeps busy."""
        return int(self.settings.get("workers", 1))


def configurations(words: list[str]) -> list[Configuration]:
    """Read what a user typed after ``-s``, groups and sweeps spread out, each configuration once."""
    found: dict[str, Configuration] = {}
    for word in words:
        for configuration in _spread(word):
            found.setdefault(configuration.text, configuration)
    return list(found.values())


def configuration(word: str) -> Configuration:
    """Read one configuration that is neither a group nor a sweep."""
    (only,) = _spread(word)
    return only


def expanded(text: str) -> str:
    """A preset in full; anything else as it is."""
    return PRESETS.get(text, text)


def _spread(word: str) -> Iterator[Configuration]:
    word = word.strip()
    if word.startswith("@"):
        if word not in GROUPS:
            raise ConfigurationError(f"no group is called {word!r}; there are: {', '.join(GROUPS)}")
        for member in GROUPS[word]:
            yield from _spread(member)
        return
    backend, _, rest = PRESETS.get(word, word).partition(":")
    try:
        parameters = load(backend).PARAMETERS
    except ConfigurationError as error:
        raise ConfigurationError(f"{error}; presets: {', '.join(PRESETS)}; groups: {', '.join(GROUPS)}") from None
    given = dict(_assignments(word, rest))
    if unknown := next((name for name in given if name not in parameters), None):
        known = ", ".join(parameters) or "none"
        raise ConfigurationError(f"{word!r}: {backend} has no parameter {unknown!r}; it has: {known}")
    choices = [_values(word, name, parameter, given.get(name)) for name, parameter in parameters.items()]
    for values in product(*choices):
        settings = dict(zip(parameters, values, strict=True))
        yield Configuration(backend, settings, _text(backend, settings, parameters))


def _assignments(word: str, text: str) -> Iterator[tuple[str, str]]:
    for part in filter(None, text.split(",")):
        name, equals, value = part.partition("=")
        if not equals or not value:
            raise ConfigurationError(f"{word!r}: found {part!r}, expected name=value")
        yield name.strip(), value.strip()


def _values(word: str, name: str, parameter: Parameter, given: str | None) -> list[str | int]:
    if given is None:
        return [parameter.default]
    if parameter.choices:
        if given == "*":
            return list(parameter.choices)
        if match := next((c for c in parameter.choices if c.lower() == given.lower()), None):
            return [match]
        raise ConfigurationError(f"{word!r}: {name} is {given!r}, expected one of {', '.join(parameter.choices)} or *")
    try:
        number = int(given)
    except ValueError:
        number = parameter.least - 1
    if number < parameter.least:
        raise ConfigurationError(f"{word!r}: {name} is {given!r}, expected a whole number from {parameter.least}")
    return [number]


def _text(backend: str, settings: Settings, parameters: dict[str, Parameter]) -> str:
    for preset, full in PRESETS.items():
        name, _, rest = full.partition(":")
        if name == backend and settings == {n: p.default for n, p in parameters.items()} | dict(_assignments(full, rest)):
            return preset
    told = [f"{n}={v}" for n, v in settings.items() if v != parameters[n].default]
    return backend + (":" + ",".join(told) if told else "")
