"""The pools: worker slots, and the backends that they serve.

The backends that are always installed share one queue per pool, named after the pool. Every optional backend, and every
backend of another distribution, has its own queue. Its shards wait there for a worker that has it installed.
"""

from __future__ import annotations

from dataclasses import dataclass

from cagematch.problems.errors import InputError
from cagematch.workers.backends import all_backends, entry, version

OTHER = "other"  # The pool of every backend that no other pool lists.


@dataclass(frozen=True, slots=True)
class Pool:
    """The backends of a pool, and a description of how many threads a solve has."""

    backends: tuple[str, ...]
    about: str


LINEAR = ("scip", "cbc", "highs", "bop", "sat-mip", "clp", "glop", "pdlp")
POOLS: dict[str, Pool] = {
    "cp-sat": Pool(("cp-sat",), "four search workers per solve (num_search_workers=4)"),
    "legacy-cp": Pool(("legacy-cp",), "one thread per solve"),
    "mip": Pool((*LINEAR, "pulp-cbc", "pulp-highs", "pulp-scip", "highspy", "pyscipopt"), "one thread per solve"),
    OTHER: Pool(("backtracking", "propagation"), "one thread per solve; also every optional backend"),
}


def queue_of(backend: str) -> str:
    """Return the queue of a backend's shards.

    Raises
    ------
    ConfigurationError
        No backend has this name.
    """
    own = entry(backend)
    shared = next((name for name, pool in POOLS.items() if backend in pool.backends), None)
    return shared if shared and not own.optional else backend


def pool_of(backend: str) -> str:
    """Return the pool that serves a backend."""
    return next((name for name, pool in POOLS.items() if backend in pool.backends), OTHER)


def pools_named(words: list[str]) -> list[str]:
    """Parse the values of ``--pool``; ``all`` is every pool.

    Raises
    ------
    InputError
        No pool has this name.
    """
    for word in words:
        if word not in POOLS and word != "all":
            raise InputError(f"found the pool {word!r}, expected one of {', '.join(POOLS)}, all")
    return list(POOLS) if "all" in words else list(dict.fromkeys(words))


def installed(pools: list[str]) -> dict[str, str]:
    """Return the backends of the pools that are installed here, and their libraries' versions."""
    names = [name for name in all_backends() if pool_of(name) in pools]
    found = {name: version(name) for name in names}
    return {name: text for name, text in found.items() if text is not None}


def queues(backends: list[str]) -> list[str]:
    """Return the queues of the given backends, each once."""
    return list(dict.fromkeys(queue_of(name) for name in backends))


def pools_of_queues(names: list[str]) -> list[str]:
    """Return the pools with a backend in any of the given queues."""
    return list(dict.fromkeys(pool_of(b) for b in all_backends() if queue_of(b) in names))
