"""The backends: one file each, one line each in BACKENDS.

A line names the module and the *family*: backends of a family may share a process, as they load the same
solver library. Other distributions add backends through the entry-point group ``cagematch.backends``,
where the entry's name is what users type and its value the module; each is a family of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import cast

from cagematch.problems.errors import ConfigurationError
from cagematch.workers.backends.contract import Backend

MINIZINC = "get the program minizinc, with the solver, from minizinc.org"
ENTRY_POINTS = "cagematch.backends"
PROVIDED = (*Backend.__annotations__, "version", "size", "build", "search")  # what a module must have to be a backend


@dataclass(frozen=True, slots=True)
class BackendEntry:
    """Where a backend is, the family it belongs to, and the extra that installs its library, or a program's source."""

    module: str
    family: str
    extra: str | None = None
    program: str | None = None

    @property
    def optional(self) -> bool:
        """Whether Cagematch may be installed without what it needs."""
        return bool(self.extra or self.program)

    def cure(self, name: str) -> str:
        """What to do where it is not installed."""
        return self.program or f"pip install 'cagematch[{self.extra or name}]'"


BACKENDS: dict[str, BackendEntry] = {
    "cp-sat": BackendEntry("cagematch.workers.backends.cp_sat", "ortools"),
    "legacy-cp": BackendEntry("cagematch.workers.backends.legacy_cp", "ortools"),
    "scip": BackendEntry("cagematch.workers.backends.scip", "ortools"),
    "cbc": BackendEntry("cagematch.workers.backends.cbc", "ortools"),
    "highs": BackendEntry("cagematch.workers.backends.highs", "ortools"),
    "bop": BackendEntry("cagematch.workers.backends.bop", "ortools"),
    "sat-mip": BackendEntry("cagematch.workers.backends.sat_mip", "ortools"),
    "clp": BackendEntry("cagematch.workers.backends.clp", "ortools"),
    "glop": BackendEntry("cagematch.workers.backends.glop", "ortools"),
    "pdlp": BackendEntry("cagematch.workers.backends.pdlp", "ortools"),
    "pulp-cbc": BackendEntry("cagematch.workers.backends.pulp_cbc", "pulp"),
    "backtracking": BackendEntry("cagematch.workers.backends.backtracking", "python"),
    "propagation": BackendEntry("cagematch.workers.backends.propagation", "python"),
    "cadical": BackendEntry("cagematch.workers.backends.cadical", "python-sat", extra="sat"),
    "glucose": BackendEntry("cagematch.workers.backends.glucose", "python-sat", extra="sat"),
    "exact-cover": BackendEntry("cagematch.workers.backends.exact_cover", "exact-cover", extra="exact-cover"),
    "z3": BackendEntry("cagematch.workers.backends.z3", "z3", extra="z3"),
    "clingo": BackendEntry("cagematch.workers.backends.clingo", "clingo", extra="clingo"),
    "choco": BackendEntry("cagematch.workers.backends.choco", "choco", extra="choco"),
    "pumpkin": BackendEntry("cagematch.workers.backends.pumpkin", "pumpkin", extra="pumpkin"),
    "highspy": BackendEntry("cagematch.workers.backends.highspy", "highspy", extra="highspy"),
    "pyscipopt": BackendEntry("cagematch.workers.backends.pyscipopt", "pyscipopt", extra="pyscipopt"),
    "pulp-highs": BackendEntry("cagematch.workers.backends.pulp_highs", "highspy", extra="highspy"),
    "pulp-scip": BackendEntry("cagematch.workers.backends.pulp_scip", "pyscipopt", extra="pyscipopt"),
    "minizinc-gecode": BackendEntry("cagematch.workers.backends.minizinc_gecode", "minizinc", program=MINIZINC),
    "minizinc-chuffed": BackendEntry("cagematch.workers.backends.minizinc_chuffed", "minizinc", program=MINIZINC),
}


@cache
def all_backends() -> dict[str, BackendEntry]:
    """Ours, and those that other distributions bring."""
    found = {point.name: _brought(point) for point in entry_points(group=ENTRY_POINTS)}
    return found | BACKENDS


def _brought(point: EntryPoint) -> BackendEntry:
    """The entry of a backend that is not ours: nor is there an extra of ours that would install what it needs."""
    distribution = point.dist.name if point.dist else point.value
    return BackendEntry(point.value, point.name, program=f"see the distribution {distribution} for what it needs")


def entry(name: str) -> BackendEntry:
    """Look a backend up by name, or say which there are."""
    try:
        return all_backends()[name]
    except KeyError:
        known = ", ".join(all_backends())
        raise ConfigurationError(f"no backend is called {name!r}; there are: {known}") from None


def load(name: str) -> Backend:
    """Import a backend's module. Its solver's library is imported by its functions only.

    Raises ConfigurationError, with what is wrong, for a module that is no backend: others write them too.
    """
    module = entry(name).module
    try:
        found = import_module(module)
    except Exception as error:
        raise _broken(name, f"its module {module} cannot be imported: {_told(error)}") from error
    if lacking := [one for one in PROVIDED if not hasattr(found, one)]:
        raise _broken(name, f"its module {module} lacks {', '.join(lacking)}")
    return cast("Backend", found)


def version(name: str) -> str | None:
    """Ask a backend's library for its version; None when the library is not installed, or cannot run here."""
    return looked_at(name)[0]


def looked_at(name: str) -> tuple[str | None, str]:
    """A backend's version, and what is wrong with it; no version and nothing wrong: it is not installed."""
    entry(name)  # who asks for what does not exist is told so
    try:
        return load(name).version(), ""
    except (ImportError, OSError):
        return None, ""
    except ConfigurationError as error:
        return None, str(error)
    except Exception as error:  # a stranger's: one that fails may not take the others with it
        return None, str(_broken(name, f"it cannot tell its version: {_told(error)}"))


def _broken(name: str, why: str) -> ConfigurationError:
    return ConfigurationError(f"{name}: broken: {why}")


def _told(error: Exception) -> str:
    first, *_ = [*str(error).splitlines(), ""]
    return f"{type(error).__name__}: {first}" if first else type(error).__name__
