"""What this process has used: CPU time, and resident memory with its peak."""

from __future__ import annotations

import ctypes
import gc
import os
import resource
from contextlib import suppress

from cagematch.workers.machine.processes import PAGE_KIB


def cpu_ns() -> int:
    """User and system time of this process and the children it has waited for, in ns."""
    own, others = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return int((own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime) * 1e9)


class Memory:
    """The resident memory of this process. The two files stay open, as each run uses them."""

    def __init__(self) -> None:
        self._statm = os.open("/proc/self/statm", os.O_RDONLY)
        self._clear_refs = os.open("/proc/self/clear_refs", os.O_WRONLY)

    def resident_kib(self) -> int:
        """The resident memory now."""
        return int(os.pread(self._statm, 256, 0).split()[1]) * PAGE_KIB

    def reset_peak(self) -> None:
        """Reset the kernel's peak (proc(5), clear_refs, value 5)."""
        os.write(self._clear_refs, b"5")

    def peak_kib(self) -> int:
        """The peak since the last ``reset_peak``."""
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def give_back() -> None:
    """Return memory that Python or the C library keeps in reserve to the kernel."""
    gc.collect()
    with suppress(AttributeError):  # a C library that is not GNU's
        ctypes.CDLL(None).malloc_trim(0)
