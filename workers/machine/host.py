"""What kind of machine this is, as far as it can be read, and how fast and how it would limit memory now.

``root`` is where ``proc`` and ``sys`` are.
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
from cagematch.workers.machine.topology import ROOT, as_list, one_of_each, usable_cores

PASSING = {"load"}  # facts that do not make a host another one
WATCH = "watch"  # memory is limited by the keeper's looks alone
SURVEY_S = 30.0  # more than a survey takes, its wait apart


@dataclass(frozen=True, slots=True)
class Survey:
    """Seconds that the reference computation took, and how memory is limited.

    ``core`` is the leased core that it ran on, None where none was free; ``memory_limit`` one of "cgroup v1",
    "cgroup v2" and "watch".
    """

    reference_s: float
    core: int | None
    memory_limit: str


def host_name() -> str:
    """The name of this machine (or container)."""
    return socket.gethostname()


def host_facts(root: Path = ROOT) -> dict[str, Any]:
    """What the machine is; what cannot be read is missing.

    ``processor``; ``cores`` that solves may have, and which (``core_list``); ``host_cores`` and ``host_threads`` that
    are online; ``caches`` of the first core; ``memory_mib``, ``kernel``, ``governor``, ``turbo``, ``hypervisor``
    (whether there is one) and ``load`` over the last minute.
    """
    online = _online(root)
    facts = {
        "processor": _cpuinfo(root).get("model name", platform.machine()),
        "cores": len(usable_cores(root)),
        "core_list": as_list(usable_cores(root)),
        "host_cores": len(one_of_each(online, root)) or None,
        "host_threads": len(online) or None,
        "caches": _caches(root) or None,
        "memory_mib": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20,
        "kernel": platform.release(),
        "governor": _read(root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "turbo": _turbo(root),
        "hypervisor": _hypervisor(root),
        "load": _load(root),
    }
    return {name: value for name, value in facts.items() if value is not None}


def digest(name: str, facts: dict[str, Any]) -> str:
    """One string a host and state of it: a host that changed is another row."""
    lasting = {key: value for key, value in facts.items() if key not in PASSING}
    return hashlib.sha256(json.dumps([name, lasting], sort_keys=True).encode()).hexdigest()


def survey(wait_s: float = 0.0) -> Survey:
    """Measure how fast a core is, under a lease of it, and try how memory is limited. Takes 0.5 s and the wait.

    Where no core becomes free within ``wait_s``, one that is in use is measured.
    """
    command = [sys.executable, "-P", "-m", "cagematch.workers.machine.reference", str(wait_s)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        group = MemoryGroup.create(process.pid)
        try:
            told = json.loads(process.communicate(timeout=wait_s + SURVEY_S)[0])
        except (ValueError, subprocess.TimeoutExpired) as error:
            process.kill()
            raise SandboxError(f"the reference measurement failed: {error}") from error
    if group:
        group.remove()
    return Survey(**told, memory_limit=group.way if group else WATCH)


def _online(root: Path) -> list[int]:
    return [int(name.removeprefix("cpu")) for name in _stat(root) if name.removeprefix("cpu").isdigit()]


def _stat(root: Path) -> list[str]:
    return [line.partition(" ")[0] for line in (_read(root / "proc/stat") or "").splitlines()]


def _cpuinfo(root: Path) -> dict[str, str]:
    """What is said of the first processor."""
    first = (_read(root / "proc/cpuinfo") or "").partition("\n\n")[0]
    pairs = (line.partition(":") for line in first.splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs}


def _hypervisor(root: Path) -> bool | None:
    flags = _cpuinfo(root).get("flags")
    return None if flags is None else "hypervisor" in flags.split()


def _caches(root: Path) -> dict[str, str]:
    """Sizes as ``{"L1d": "32K", …}``."""
    found = {}
    for folder in sorted((root / "sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size = (_read(folder / name) for name in ("level", "type", "size"))
        if level and size:
            found[f"L{level}" + {"Data": "d", "Instruction": "i"}.get(kind or "", "")] = size
    return found


def _turbo(root: Path) -> str | None:
    cpu = root / "sys/devices/system/cpu"
    intel = {"0": "on", "1": "off"}.get(_read(cpu / "intel_pstate/no_turbo") or "")
    return intel or {"1": "on", "0": "off"}.get(_read(cpu / "cpufreq/boost") or "")


def _load(root: Path) -> float | None:
    told = _read(root / "proc/loadavg")
    return float(told.split()[0]) if told else None


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return None
