"""What kind of machine this host is, and a survey of its speed and its way to limit memory.

``root`` is the folder that contains ``proc`` and ``sys``.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cagematch.problems.errors import SandboxError
from cagematch.workers.machine.cgroups import MemoryGroup
from cagematch.workers.machine.procfs import read_text
from cagematch.workers.machine.topology import ROOT, format_cores, one_thread_per_core, usable_cores
from cagematch.workers.machine.units import BYTES_PER_MIB

CHANGING = {"load"}  # Facts that differ between two workers of the same host.
KEEPER_ONLY = "watch"  # The value of ``memory_limit`` where no cgroup can be created and only the keeper enforces it.
SURVEY_S = 30.0  # Seconds after which a survey fails, without its wait for a core; it takes 0.5 s.


@dataclass(frozen=True, slots=True)
class Survey:
    """A measurement of this host.

    Parameters
    ----------
    reference_s
        CPU seconds of the reference computation.
    core
        The leased core that ran it, None where none was free.
    memory_limit
        What enforces memory limits: "cgroup v1", "cgroup v2" or "watch" (the keeper alone).
    """

    reference_s: float
    core: int | None
    memory_limit: str


def host_name() -> str:
    """Return the name of this host or container."""
    return socket.gethostname()


def host_facts(root: Path = ROOT) -> dict[str, Any]:
    """Return what this machine is, without the facts that cannot be read.

    Returns
    -------
    dict
        ``processor``; ``cores`` that solves may use, and their numbers (``core_list``); ``host_cores`` and
        ``host_threads`` that are online; ``caches`` of the first core; ``memory_mib``; ``kernel``; ``governor``;
        ``turbo``; ``hypervisor`` (whether there is one); ``load`` over the last minute.
    """
    online = _online_threads(root)
    facts = {
        "processor": _cpuinfo(root).get("model name", platform.machine()),
        "cores": len(usable_cores(root)),
        "core_list": format_cores(usable_cores(root)),
        "host_cores": len(one_thread_per_core(online, root)) or None,
        "host_threads": len(online) or None,
        "caches": _caches(root) or None,
        "memory_mib": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // BYTES_PER_MIB,
        "kernel": platform.release(),
        "governor": read_text(root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor") or None,
        "turbo": _turbo(root),
        "hypervisor": _hypervisor(root),
        "load": _load(root),
    }
    return {name: value for name, value in facts.items() if value is not None}


def digest(name: str, facts: dict[str, Any]) -> str:
    """Return a string that identifies a host and its facts: a host with new hardware gets another one."""
    lasting = {key: value for key, value in facts.items() if key not in CHANGING}
    return hashlib.sha256(json.dumps([name, lasting], sort_keys=True).encode()).hexdigest()


def survey(wait_s: float = 0.0) -> Survey:
    """Measure the speed of a leased core, and detect how memory can be limited. Takes 0.5 s and the wait.

    Parameters
    ----------
    wait_s
        Seconds to wait for a free core; without one, the measurement runs on a core in use.

    Raises
    ------
    SandboxError
        The measuring process fails or does not end in time.
    """
    command = [sys.executable, "-P", "-m", "cagematch.workers.machine.reference", str(wait_s)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        group = MemoryGroup.create(process.pid)
        try:
            measured = json.loads(process.communicate(timeout=wait_s + SURVEY_S)[0])
        except (ValueError, subprocess.TimeoutExpired) as error:
            process.kill()
            raise SandboxError(f"the measurement of this host's speed failed: {error}") from error
    if group:
        group.remove()
    return Survey(**measured, memory_limit=group.version if group else KEEPER_ONLY)


def _online_threads(root: Path) -> list[int]:
    names = [line.partition(" ")[0] for line in read_text(root / "proc/stat").splitlines()]
    return [int(name.removeprefix("cpu")) for name in names if name.removeprefix("cpu").isdigit()]


def _cpuinfo(root: Path) -> dict[str, str]:
    """The properties of the first processor."""
    first = read_text(root / "proc/cpuinfo").partition("\n\n")[0]
    pairs = (line.partition(":") for line in first.splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs}


def _hypervisor(root: Path) -> bool | None:
    flags = _cpuinfo(root).get("flags")
    return None if flags is None else "hypervisor" in flags.split()


def _caches(root: Path) -> dict[str, str]:
    """Sizes as ``{"L1d": "32K", …}``."""
    found = {}
    for folder in sorted((root / "sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size = (read_text(folder / name) for name in ("level", "type", "size"))
        if level and size:
            found[f"L{level}" + {"Data": "d", "Instruction": "i"}.get(kind, "")] = size
    return found


def _turbo(root: Path) -> str | None:
    cpu = root / "sys/devices/system/cpu"
    intel = {"0": "on", "1": "off"}.get(read_text(cpu / "intel_pstate/no_turbo"))
    return intel or {"1": "on", "0": "off"}.get(read_text(cpu / "cpufreq/boost"))


def _load(root: Path) -> float | None:
    words = read_text(root / "proc/loadavg").split()
    return float(words[0]) if words else None
