"""The command ``worker``."""

from __future__ import annotations

import os

from cagematch.problems.errors import ServiceError
from cagematch.scheduler.cli import options
from cagematch.scheduler.cli.connection import connect

EXAMPLES = ("scheduler worker --pool all", "scheduler worker --pool cp-sat --pool mip --slots 2")


def worker(
    pool: options.Pools,
    slots: options.Slots = None,
    cores: options.Cores = None,
    log_level: options.LogLevel = "INFO",
) -> None:
    """Start a Celery worker that serves pools until it is stopped.

    A worker needs a broker and a database that other processes can reach. Set CAGEMATCH_BROKER_URL and
    CAGEMATCH_DATABASE_URL, or start the compose stack in this folder.
    """
    from cagematch.workers.connections import find_connections
    from cagematch.workers.machine.topology import CORES, check_cores
    from cagematch.workers.queues.pools import installed, pools_named, queues
    from cagematch.workers.service.app import make_app

    pools = pools_named(pool)
    if cores is not None:
        check_cores(cores)
        os.environ[CORES] = cores  # the keepers read it as well
    connections = find_connections()
    if connections.embedded:
        raise ServiceError(
            "found no broker, expected one that other processes can reach: set CAGEMATCH_BROKER_URL and "
            "CAGEMATCH_DATABASE_URL, or run `docker compose up --detach` in a clone; without a broker, "
            "`scheduler submit` starts its own worker"
        )
    backends = installed(pools)
    if not backends:
        raise ServiceError(
            f"no backend of the pool {', '.join(pools)} is installed; `scheduler solvers` lists how to install them"
        )
    connect()
    arguments = ["worker", "-Q", ",".join(queues(list(backends)))]
    arguments += ["-n", f"{'-'.join(pools)}-{os.getpid()}@%h"]
    arguments += ["--loglevel", log_level, "--without-gossip"]
    arguments += ["--concurrency", str(slots)] if slots else []
    make_app(connections).worker_main(arguments)
