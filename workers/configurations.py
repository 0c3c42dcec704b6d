"""Configurations: a backend with its parameters, spelled as users type it.

``cp-sat``, ``cp-sat:workers=1,encoding=bool``, ``cp-min-size`` (a preset, after which parameters may follow, too),
``@core`` (a group), and ``legacy-cp:var=*,val=*`` (a sweep: every word that the parameter takes). A backend may know
more parameters than it lists, such as ``cp-sat:linearization_level=0``: those that its library names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from cagematch.problems.errors import ConfigurationError
from cagematch.workers.backends import all_backends, entry, load, version
from cagematch.workers.backends.contract import Parameter, Settings

PRESETS: dict[str, str] = {
    "cp-default": "legacy-cp:var=CHOOSE_FIRST_UNBOUND,val=ASSIGN_MIN_VALUE",
    "cp-simple": "legacy-cp:var=INT_VAR_SIMPLE,val=INT_VALUE_SIMPLE",
    "cp-min-size": "legacy-cp:var=CHOOSE_MIN_SIZE_LOWEST_MIN,val=ASSIGN_CENTER_VALUE",
    # One search over one Boolean a value, without what pays for larger problems only: presolving, probing, looking for
    # symmetries, linear relaxations and simplifying the clauses on the way take longer than the search of a puzzle. A
    # value is tried before it is ruled out. docs/solvers.md has the figures.
    "cp-sat-fast": (
        "cp-sat:workers=1,encoding=bool,presolve=off,cp_model_probing_level=0,initial_polarity=POLARITY_TRUE,"
        "linearization_level=0,symmetry_level=0,use_sat_inprocessing=false"
    ),
    # For grids of 25 values, which take seconds: two searches that restart in ways of their own, no linear relaxation,
    # and more of what was learnt is kept than by default. docs/solvers.md has the figures.
    "cp-sat-large": "cp-sat:workers=2,encoding=bool,linearization_level=0,clause_cleanup_target=10000",
    # A Boolean a value and a set of values; no linear relaxation, as clauses say it all. See docs/formulations.md.
    "cp-sat-cages": "cp-sat:workers=1,encoding=bool,cages=sets,linearization_level=0",
}
ALL = "@all"
GROUPS: dict[str, tuple[str, ...]] = {
    "@default": ("cp-sat", "cp-min-size", "scip", "cbc"),
    "@core": ("cp-sat", "cp-default", "cp-simple", "cp-min-size", "scip", "cbc", "pulp-cbc", "backtracking"),
    # The notebook's comparison: three presets of the CP solver, CP-SAT, and the linear solver's engines.
    "@original": ("cp-default", "cp-simple", "cp-min-size", "cp-sat", "scip", "clp", "glop", "cbc", "bop", "sat-mip"),
    # One of each way to solve: lazy clauses, CP, MIP, LP, SAT, exact cover, SMT, ASP, and two for the blackboard.
    "@paradigms": (
        *("cp-sat", "cp-min-size", "scip", "glop", "cadical", "exact-cover", "z3", "clingo"),
        *("propagation", "backtracking"),
    ),
    # Integers with sums, and a binary a cell and value with a sum a cage; then either with the cages as sets.
    "@killer": ("cp-sat", "scip", "cp-sat-cages", "highs:cages=sets"),
    ALL: (),  # what is installed here
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
    found = list(_spread(word))
    if len(found) != 1:
        raise ConfigurationError(f"{word!r} stands for {len(found)} configurations, expected one")
    return found[0]


def members(group: str) -> tuple[str, ...]:
    """The words that a group stands for; ``@all`` is every backend whose library is installed here."""
    return tuple(name for name in all_backends() if version(name)) if group == ALL else GROUPS[group]


def expanded(text: str) -> str:
    """A preset in full; anything else as it is."""
    return PRESETS.get(text, text)


def _spread(word: str) -> Iterator[Configuration]:
    word = word.strip()
    if word.startswith("@"):
        if word not in GROUPS:
            raise ConfigurationError(f"no group is called {word!r}; there are: {', '.join(GROUPS)}")
        for member in members(word):
            yield from _spread(member)
        return
    name, _, rest = word.partition(":")
    backend, _, preset = expanded(name).partition(":")
    given = _assignments(word, preset) | _assignments(word, rest)
    parameters = _parameters(word, backend, given)
    choices = [_values(word, name, parameter, given.get(name)) for name, parameter in parameters.items()]
    for values in product(*choices):
        settings = dict(zip(parameters, values, strict=True))
        for name in parameters.keys() - load(backend).PARAMETERS.keys():
            if settings[name] == parameters[name].default:
                del settings[name]
        yield Configuration(backend, settings, _text(backend, settings, parameters))


def _parameters(word: str, backend: str, given: Mapping[str, str]) -> dict[str, Parameter]:
    """Every parameter of the backend, and those given that its library names."""
    try:
        entry(backend)
    except ConfigurationError as error:
        known = f"presets: {', '.join(PRESETS)}; groups: {', '.join(GROUPS)}"
        raise ConfigurationError(f"{error}; {known}") from None
    module = load(backend)
    found = dict(module.PARAMETERS)
    named = getattr(module, "parameter", lambda _: None)
    for name in sorted(given.keys() - found.keys()):
        parameter = named(name)
        if parameter is None:
            known = ", ".join(module.PARAMETERS) or "none"
            more = ", and what its library names" if hasattr(module, "parameter") else ""
            raise ConfigurationError(f"{word!r}: {backend} has no parameter {name!r}; it has: {known}{more}")
        found[name] = parameter
    return found


def _assignments(word: str, text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for part in filter(None, text.split(",")):
        name, _, value = (piece.strip() for piece in part.partition("="))
        if not name or not value:
            raise ConfigurationError(f"{word!r}: found {part!r}, expected name=value")
        if name in found:
            raise ConfigurationError(f"{word!r}: {name} is given twice")
        found[name] = value
    return found


def _values(word: str, name: str, parameter: Parameter, given: str | None) -> list[str | int]:
    if given is None:
        return [parameter.default]
    if parameter.pattern:
        return [_matching(word, name, parameter, given)]
    if not parameter.choices:
        return [_number(word, name, parameter, given)]
    if given == "*":
        return list(parameter.choices)
    if match := next((choice for choice in parameter.choices if choice.lower() == given.lower()), None):
        return [match]
    known = ", ".join(parameter.choices)
    raise ConfigurationError(f"{word!r}: {name} is {given!r}, expected one of {known}, or * for all")


def _number(word: str, name: str, parameter: Parameter, given: str) -> int:
    # Ten digits at most: `int` itself takes more than people mean by a number, and refuses some in its own words.
    number = int(given) if re.fullmatch(r"-?[0-9]{1,10}", given) else None
    if number is None or not parameter.least <= number <= parameter.most:
        bounds = f"from {parameter.least} to {parameter.most}"
        raise ConfigurationError(f"{word!r}: {name} is {given!r}, expected a whole number {bounds}")
    return number


def _matching(word: str, name: str, parameter: Parameter, given: str) -> str:
    if not re.fullmatch(parameter.pattern, given, re.ASCII):
        raise ConfigurationError(f"{word!r}: {name} is {given!r}, expected something like {parameter.default or 'a+b'}")
    return given


def _text(backend: str, settings: Settings, parameters: Mapping[str, Parameter]) -> str:
    defaults = {name: parameter.default for name, parameter in parameters.items() if name in settings}
    spelled = {name: str(value) for name, value in settings.items()}
    for preset, full in PRESETS.items():
        name, _, rest = full.partition(":")
        own = {name: str(parameter.default) for name, parameter in load(backend).PARAMETERS.items()}
        if name == backend and spelled == own | _assignments(full, rest):
            return preset
    told = [f"{name}={value}" for name, value in settings.items() if value != defaults[name]]
    return backend + (":" + ",".join(told) if told else "")
