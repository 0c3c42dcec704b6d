"""Processes and their descendants."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

from cagematch.workers.machine import processes
from cagematch.workers.machine.processes import Watched, children, descendants, end_marked, kill, pin, pss_kib, usage

# A process whose second thread starts a child, which starts a child itself.
FAMILY = """
import subprocess, sys, threading
child = [sys.executable, "-c", "import subprocess; subprocess.run(['sleep', '60'])"]
thread = threading.Thread(target=lambda: subprocess.run(child))
thread.start()
thread.join()
"""
DAEMONS = """
import os, time
for _ in range(20):
    if os.fork() == 0:
        os.setsid()
        os.fork()
        time.sleep(60)
time.sleep(60)
"""
REAPER = """
import os, subprocess, sys, time
from cagematch.workers.machine.processes import PR_SET_CHILD_SUBREAPER, children, descendants, end_all, prctl
prctl(PR_SET_CHILD_SUBREAPER, 1)
spared = subprocess.Popen(["sleep", "60"])
subprocess.Popen([sys.executable, "-c", sys.argv[1]])
while len(descendants(os.getpid())) < 42:
    time.sleep(0.01)
end_all(spare={spared.pid})
print(list(children(os.getpid())) == [spared.pid], spared.poll())
end_all()
print(list(children(os.getpid())))
"""


@pytest.fixture(params=["lists of children", "no lists of children"])
def kernel(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_lists_children", lambda: request.param == "lists of children")


@pytest.mark.usefixtures("kernel")
def test_descendants_of_all_threads_are_found() -> None:
    with subprocess.Popen([sys.executable, "-c", FAMILY]) as first:
        deadline = time.monotonic() + 20
        while len(found := descendants(first.pid)) < 2:
            assert time.monotonic() < deadline

        assert first.pid in children(os.getpid())
        assert descendants(first.pid, spare=[found[0]]) == []
        kill([first.pid, *found])


def test_end_all_kills_daemons_but_not_the_spared() -> None:
    command = [sys.executable, "-c", REAPER, DAEMONS]

    shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)

    assert shown.stdout == "True None\n[]\n"


def test_a_zombie_has_no_usage() -> None:
    own = usage(os.getpid())
    assert own
    assert own.state == "R"
    assert own.cpu_s > 0
    assert 5_000 < pss_kib(os.getpid()) <= own.rss_kib * 1.1

    with subprocess.Popen(["true"]) as ended:
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
        assert usage(ended.pid) is None
    assert usage(ended.pid) is None
    assert pss_kib(ended.pid) == 0
    kill([ended.pid])


def test_only_marked_processes_are_killed() -> None:
    mark = uuid.uuid4().hex
    with subprocess.Popen(["sleep", "60"], env={"MARK": mark}) as marked, subprocess.Popen(["sleep", "60"]) as other:
        end_marked(f"MARK={mark}")

        assert marked.wait(timeout=10) == -9
        assert other.poll() is None
        other.kill()


def test_every_thread_is_pinned() -> None:
    code = "import threading, time; threading.Thread(target=time.sleep, args=(60,)).start(); print(flush=True)"
    core = min(os.sched_getaffinity(0))
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        pin(process.pid, [core])

        threads = [int(path.name) for path in Path(f"/proc/{process.pid}/task").iterdir()]
        assert len(threads) == 2
        assert [os.sched_getaffinity(thread) for thread in threads] == [{core}, {core}]
        process.kill()
    pin(process.pid, [core])


@pytest.mark.usefixtures("kernel")
def test_watched_processes_list_children_of_all_threads() -> None:
    with subprocess.Popen([sys.executable, "-c", FAMILY]) as first:
        watched = Watched(first.pid)
        deadline = time.monotonic() + 20
        while not (watched.usage() and watched.children()):
            assert time.monotonic() < deadline
        assert watched.children() == list(children(first.pid))

        kill([first.pid, *descendants(first.pid)])
        first.wait()
        assert (watched.usage(), watched.children()) == (None, [])
        watched.close()


def test_a_long_list_of_children_is_complete() -> None:
    code = (
        "import subprocess; c = [subprocess.Popen(['sleep', '60']) for _ in range(900)]; print(flush=True); c[0].wait()"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as first:
        assert first.stdout
        first.stdout.readline()
        watched = Watched(first.pid)

        found = watched.children()

        kill([first.pid, *descendants(first.pid)])
        watched.close()
    assert len(set(found)) == 900
