"""The pools: worker slots with settings tuned for the backends that they serve.

The backends of the first three pools and the plain ones of ``other`` share a queue named after the
pool; every backend that is optional or comes from elsewhere has a queue of its own, named after it, so
that its work waits for a worker that has it installed.
"""

from __future__ import annotations

from dataclasses import dataclass

from cagematch.problems.errors import InputError
from cagematch.workers.backends import all_backends, entry, version

OTHER = "other"


@dataclass(frozen=True, slots=True)
class Pool:
    """The backends that a pool serves through the queue of its name, and what it is tuned for."""

    backends: tuple[str, ...]
    about: str


LINEAR = ("scip", "cbc", "highs", "bop", "sat-mip", "clp", "glop", "pdlp")
POOLS: dict[str, Pool] = {
    "cp-sat": Pool(("cp-sat",), "four searches a solve (num_search_workers=4)"),
    "legacy-cp": Pool(("legacy-cp",), "one thread a solve"),
    "mip": Pool((*LINEAR, "pulp-cbc", "pulp-highs", "pulp-scip", "highspy", "pyscipopt"), "one thread a solve"),
    OTHER: Pool(("backtracking", "propagation"), "one thread a solve; every optional backend too"),
}


def queue_of(backend: str) -> str:
    """The queue in which a backend's shards wait."""
    own = entry(backend)
    shared = next((name for name, pool in POOLS.items() if backend in pool.backends), None)
    return shared if shared and not own.optional else backend


def pool_of(backend: str) -> str:
    """The pool that serves a backend."""
    return next((name for name, pool in POOLS.items() if backend in pool.backends), OTHER)


def pools_named(words: list[str]) -> list[str]:
    """Read what a user typed after ``--pool``; ``all`` is every pool."""
    for word in words:
        if word not in POOLS and word != "all":
            raise InputError(f"no pool is called {word!r}; there are: {', '.join(POOLS)}, all")
    return list(POOLS) if "all" in words else list(dict.fromkeys(words))


def installed(pools: list[str]) -> dict[str, str]:
    """Backends of the pools that can run here, and their libraries' versions."""
    names = [name for name in all_backends() if pool_of(name) in pools]
    found = {name: version(name) for name in names}
    return {name: told for name, told in found.items() if told is not None}


def queues(backends: list[str]) -> list[str]:
    """The queues that serve the given backends, each once."""
    return list(dict.fromkeys(queue_of(name) for name in backends))


def pools_of_queues(names: list[str]) -> list[str]:
    """The pools whose backends wait in any of the given queues."""
    return list(dict.fromkeys(pool_of(b) for b in all_backends() if queue_of(b) in names))
