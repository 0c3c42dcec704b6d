"""What kind of machine this is, as far as it can be read, and how fast it is at a fixed computation."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import socket
import time
from pathlib import Path
from typing import Any

from workers.topology import usable_cores

REFERENCE_ROUNDS = 40_000


def host_name() -> str:
    """The name of this machine (or container)."""
    return socket.gethostname()


def host_facts() -> dict[str, Any]:
    """Processor, usable cores, memory in MiB, kernel, and, where readable, governor and turbo."""
    cpu = Path("/sys/devices/system/cpu")
    return {
        "processor": _processor(),
        "cores": len(usable_cores()),
        "memory_mib": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20,
        "kernel": platform.release(),
        "governor": _read(cpu / "cpu0/cpufreq/scaling_governor"),
        "turbo": {"0": "on", "1": "off"}.get(_read(cpu / "intel_pstate/no_turbo") or ""),
    }


def digest(name: str, facts: dict[str, Any]) -> str:
    """One string a host and state of it: a host that changed is another row."""
    return hashlib.sha256(json.dumps([name, facts], sort_keys=True).encode()).hexdigest()


def reference_s() -> float:
    """Seconds that a fixed computation takes: SHA-256 over and over, the fastest of three."""
    times = []
    for _ in range(3):
        started = time.perf_counter()
        data = b"cagematch"
        for _ in range(REFERENCE_ROUNDS):
            data = hashlib.sha256(data).digest()
        times.append(time.perf_counter() - started)
    return min(times)


def _processor() -> str:
    lines = (_read(Path("/proc/cpuinfo")) or "").splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return None
