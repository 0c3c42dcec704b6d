"""The backends: one file and one line in BACKENDS each.

A line names the module and the *family*: backends of a family share a process because they load the same solver
library. Other distributions add backends through the entry-point group ``cagematch.backends``. The name of the entry
point is the backend's name, and its value is the module. Each of these backends is a family of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import cast

from cagematch.problems.errors import ConfigurationError
from cagematch.workers.backends.contract import Backend

MINIZINC = "install MiniZinc and the solver from minizinc.org"
ENTRY_POINTS = "cagematch.backends"
PROVIDED = (*Backend.__annotations__, "version", "size", "build", "search")  # the required names of a module


@dataclass(frozen=True, slots=True)
class BackendEntry:
    """An entry of BACKENDS.

    Parameters
    ----------
    module
        The module's full name.
    family
        The family; backends of different families never share a process.
    extra
        The extra of Cagematch that installs the library, if it is optional.
    program
        How to install a requirement that pip cannot install.
    """

    module: str
    family: str
    extra: str | None = None
    program: str | None = None

    @property
    def optional(self) -> bool:
        """Whether Cagematch can be installed without the backend's requirements."""
        return bool(self.extra or self.program)

    def install_hint(self, name: str) -> str:
        """Return how to install the requirements of the backend with this name."""
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
    """Return the entries of all backends by name. Those of other distributions cannot replace Cagematch's own."""
    found = {point.name: _external(point) for point in entry_points(group=ENTRY_POINTS)}
    return found | BACKENDS


def _external(point: EntryPoint) -> BackendEntry:
    """The entry of another distribution's backend, whose requirements no extra of Cagematch installs."""
    distribution = point.dist.name if point.dist else point.value
    return BackendEntry(point.value, point.name, program=f"see the requirements of the distribution {distribution}")


def entry(name: str) -> BackendEntry:
    """Return the entry of a backend.

    Raises
    ------
    ConfigurationError
        The name is unknown; the message lists the known ones.
    """
    try:
        return all_backends()[name]
    except KeyError:
        known = ", ".join(all_backends())
        raise ConfigurationError(f"unknown backend {name!r}, expected one of {known}") from None


def load(name: str) -> Backend:
    """Import the module of a backend, without its solver library.

    Raises
    ------
    ConfigurationError
        The name is unknown, the module cannot be imported, or a required name is missing.
    """
    module = entry(name).module
    try:
        found = import_module(module)
    except Exception as error:
        raise _broken(name, f"its module {module} cannot be imported: {_summary(error)}") from error
    if missing := [one for one in PROVIDED if not hasattr(found, one)]:
        raise _broken(name, f"its module {module} does not define {', '.join(missing)}")
    return cast("Backend", found)


def version(name: str) -> str | None:
    """Return the version of a backend's library; None if it is missing, broken or cannot run here.

    Raises
    ------
    ConfigurationError
        The name is unknown.
    """
    return check_installation(name)[0]


def check_installation(name: str) -> tuple[str | None, str]:
    """Check whether a backend is installed and works.

    Returns
    -------
    tuple[str | None, str]
        The version, and a message if the backend is broken. Neither means that it is not installed.

    Raises
    ------
    ConfigurationError
        The name is unknown.
    """
    entry(name)  # raises for an unknown name, which is not a broken backend
    try:
        return load(name).version(), ""
    except (ImportError, OSError):
        return None, ""
    except ConfigurationError as error:
        return None, str(error)
    except Exception as error:  # one broken backend must not affect the others
        return None, str(_broken(name, f"version() failed: {_summary(error)}"))


def _broken(name: str, why: str) -> ConfigurationError:
    return ConfigurationError(f"{name}: broken: {why}")


def _summary(error: Exception) -> str:
    first, *_ = [*str(error).splitlines(), ""]
    return f"{type(error).__name__}: {first}" if first else type(error).__name__
