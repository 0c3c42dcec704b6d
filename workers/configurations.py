"""Configurations: a backend with its parameters, in the form that users type.

``cp-sat``, ``cp-sat:workers=1,encoding=bool``, ``cp-min-size`` (a preset, which parameters may follow), ``@core``
(a group), and ``legacy-cp:var=*,val=*`` (a sweep over all values of a parameter). Some backends also accept
parameters of their library that they do not list, such as ``cp-sat:linearization_level=0``.
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
    # One search with one Boolean per value, without the techniques that pay off only for larger problems: presolve,
    # probing, symmetry detection, linear relaxation and inprocessing take longer than the search for a puzzle.
    # A value is tried before it is excluded. docs/solvers.md has the measurements.
    "cp-sat-fast": (
        "cp-sat:workers=1,encoding=bool,presolve=off,cp_model_probing_level=0,initial_polarity=POLARITY_TRUE,"
        "linearization_level=0,symmetry_level=0,use_sat_inprocessing=false"
    ),
    # For 25×25 grids, which take seconds: two searches with different restarts, no linear relaxation, and more
    # learnt clauses kept than by default. docs/solvers.md has the measurements.
    "cp-sat-large": "cp-sat:workers=2,encoding=bool,linearization_level=0,clause_cleanup_target=10000",
    # One Boolean per value and per set of values. Clauses state everything, so a linear relaxation adds nothing.
    # See docs/formulations.md.
    "cp-sat-cages": "cp-sat:workers=1,encoding=bool,cages=sets,linearization_level=0",
}
ALL = "@all"
GROUPS: dict[str, tuple[str, ...]] = {
    "@default": ("cp-sat", "cp-min-size", "scip", "cbc"),
    "@core": ("cp-sat", "cp-default", "cp-simple", "cp-min-size", "scip", "cbc", "pulp-cbc", "backtracking"),
    # The original comparison: three presets of the CP solver, CP-SAT, and the engines of the linear solver.
    "@original": ("cp-default", "cp-simple", "cp-min-size", "cp-sat", "scip", "clp", "glop", "cbc", "bop", "sat-mip"),
    # One backend per paradigm: lazy clause generation, CP, MIP, LP, SAT, exact cover, SMT, ASP, and two for teaching.
    "@paradigms": (
        *("cp-sat", "cp-min-size", "scip", "glop", "cadical", "exact-cover", "z3", "clingo"),
        *("propagation", "backtracking"),
    ),
    # Integers and 0/1 variables with cages as sums; then both with cages as sets.
    "@killer": ("cp-sat", "scip", "cp-sat-cages", "highs:cages=sets"),
    ALL: (),  # every installed backend, see `members`
}


@dataclass(frozen=True, eq=False)
class Configuration:
    """A backend with a value for each of its parameters.

    Parameters
    ----------
    backend
        The backend's name.
    settings
        The value of every parameter in the backend's ``PARAMETERS``, and of those of its library that are set.
    text
        The shortest form to type, without default values. Equal configurations have equal texts.
    """

    backend: str
    settings: Settings
    text: str

    @property
    def threads(self) -> int:
        """The number of threads, and therefore of cores, of one solve."""
        return int(self.settings.get("workers", 1))


def configurations(words: list[str]) -> list[Configuration]:
    """Read configurations, groups and sweeps.

    Parameters
    ----------
    words
        The values of the option ``-s``.

    Returns
    -------
    list[Configuration]
        Groups and sweeps expanded, without duplicates, in the order of the words.

    Raises
    ------
    ConfigurationError
        A name is unknown or a value is invalid.
    """
    found: dict[str, Configuration] = {}
    for word in words:
        for configuration in _spread(word):
            found.setdefault(configuration.text, configuration)
    return list(found.values())


def configuration(word: str) -> Configuration:
    """Read a single configuration.

    Raises
    ------
    ConfigurationError
        A name is unknown or a value is invalid, or the word expands to several configurations.
    """
    found = list(_spread(word))
    if len(found) != 1:
        raise ConfigurationError(f"{word!r} expands to {len(found)} configurations, expected one")
    return found[0]


def members(group: str) -> tuple[str, ...]:
    """Return the members of a group; those of ``@all`` are the installed backends."""
    return tuple(name for name in all_backends() if version(name)) if group == ALL else GROUPS[group]


def expanded(text: str) -> str:
    """Return the full text of a preset, and any other text unchanged."""
    return PRESETS.get(text, text)


def _spread(word: str) -> Iterator[Configuration]:
    word = word.strip()
    if word.startswith("@"):
        if word not in GROUPS:
            raise ConfigurationError(f"unknown group {word!r}, expected one of {', '.join(GROUPS)}")
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
    """Return the parameters that the backend lists, and those of its library that the user sets."""
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
            more = ", and the parameters of its library" if hasattr(module, "parameter") else ""
            raise ConfigurationError(f"{word!r}: {backend} has no parameter {name!r}; its parameters: {known}{more}")
        found[name] = parameter
    return found


def _assignments(word: str, text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for part in filter(None, text.split(",")):
        name, _, value = (piece.strip() for piece in part.partition("="))
        if not name or not value:
            raise ConfigurationError(f"{word!r}: found {part!r}, expected name=value")
        if name in found:
            raise ConfigurationError(f"{word!r}: {name} is set twice, expected it once")
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
    # At most ten digits: `int` accepts other notations as well, and rejects very long numbers with its own message.
    number = int(given) if re.fullmatch(r"-?[0-9]{1,10}", given) else None
    if number is None or not parameter.least <= number <= parameter.most:
        bounds = f"from {parameter.least} to {parameter.most}"
        raise ConfigurationError(f"{word!r}: {name} is {given!r}, expected a whole number {bounds}")
    return number


def _matching(word: str, name: str, parameter: Parameter, given: str) -> str:
    if not re.fullmatch(parameter.pattern, given, re.ASCII):
        raise ConfigurationError(
            f"{word!r}: {name} is {given!r}, expected a value such as {parameter.default or 'a+b'}"
        )
    return given


def _text(backend: str, settings: Settings, parameters: Mapping[str, Parameter]) -> str:
    defaults = {name: parameter.default for name, parameter in parameters.items() if name in settings}
    values = {name: str(value) for name, value in settings.items()}
    for preset, full in PRESETS.items():
        name, _, rest = full.partition(":")
        own = {name: str(parameter.default) for name, parameter in load(backend).PARAMETERS.items()}
        if name == backend and values == own | _assignments(full, rest):
            return preset
    changed = [f"{name}={value}" for name, value in settings.items() if value != defaults[name]]
    return backend + (":" + ",".join(changed) if changed else "")
