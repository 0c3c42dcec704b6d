"""The three commands of the README on real containers, also on a host without Python."""

from __future__ import annotations

import csv
import io
import json
import shutil
import socket
import subprocess
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import pytest
from commanding import Scheduler, make_scheduler, until

ROOT = Path(__file__).resolve().parents[2]
BUILD_S = 600
HOLD = "import fcntl, sys; f = open(sys.argv[1]); fcntl.flock(f, fcntl.LOCK_EX); print(1, flush=True); sys.stdin.read()"
TRY = "import fcntl, sys; fcntl.flock(open(sys.argv[1]), fcntl.LOCK_EX | fcntl.LOCK_NB)"

pytestmark = [pytest.mark.compose, pytest.mark.slow, pytest.mark.timeout(BUILD_S + 300)]


@dataclass
class Stack:
    """A clone with a ``.env`` that separates it from every other stack of the host."""

    folder: Path
    compose: list[str]
    scheduler: Scheduler

    def __call__(self, *words: str, timeout_s: float = 120) -> str:
        """Run compose and return its output."""
        done = subprocess.run(
            [*self.compose, *words],
            cwd=self.folder,
            env=self.scheduler.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
        assert done.returncode == 0, f"{words}: {done.stdout}\n{done.stderr}"
        return done.stdout


@pytest.fixture
def stack(tmp_path: Path, missing: Callable[[str, str], NoReturn]) -> Iterator[Stack]:
    compose = _compose(missing)
    folder = tmp_path / "clone"
    _clone(folder)
    name = f"cagematch-test-{uuid.uuid4().hex[:8]}"
    redis, postgres = _free_ports(2)
    (folder / ".env").write_text(
        f"COMPOSE_PROJECT_NAME={name}\nCAGEMATCH_IMAGE={name}\n"
        f"CAGEMATCH_REDIS_PORT={redis}\nCAGEMATCH_POSTGRES_PORT={postgres}\n"
    )
    made = Stack(folder, compose, make_scheduler(folder))
    try:
        yield made
    finally:
        made("--profile", "cli", "down", "--volumes", "--remove-orphans", "--timeout", "10")
        subprocess.run(["docker", "image", "rm", name], capture_output=True, check=False)
        made.scheduler.close()


def _compose(missing: Callable[[str, str], NoReturn]) -> list[str]:
    if not shutil.which("docker"):
        missing("Docker", "no command is called docker")
    engine = subprocess.run(["docker", "info"], capture_output=True, text=True, check=False)
    if engine.returncode:
        missing("Docker", "the engine does not answer")
    if subprocess.run(["docker", "compose", "version"], capture_output=True, check=False).returncode == 0:
        return ["docker", "compose"]
    if not shutil.which("docker-compose"):
        missing("Docker", "there is neither docker compose nor docker-compose")
    return ["docker-compose"]


def _clone(folder: Path) -> None:
    """The files of a clone, as if all changes were committed."""
    words = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    for name in listed.stdout.split("\0"):
        if name and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)


def _free_ports(count: int) -> list[int]:
    probes = [socket.socket() for _ in range(count)]
    for probe in probes:
        probe.bind(("127.0.0.1", 0))
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ports


def test_the_three_lines_and_the_same_without_python(stack: Stack):
    stack("up", "--detach", "--build", timeout_s=BUILD_S)
    submitted = stack.scheduler("submit", "puzzles/hard.txt")
    assert "this folder's compose stack" in submitted.stderr
    until(lambda: json.loads(stack.scheduler("status", "1", "--json").stdout)["batches"][0]["state"] == "done", 120)

    assert "hard  95 puzzles" in stack.scheduler("report").stdout
    rows = list(csv.DictReader(io.StringIO(stack.scheduler("export", "-").stdout)))
    statuses = Counter(row["status"] for row in rows)
    assert statuses.total() == 380
    assert set(statuses) <= {"solved", "timeout"}, "on a slow machine a run may meet its limit of 3 s"
    assert statuses["solved"] > 360
    served = {(row["host"], row["configuration"]) for row in rows}
    hosts = {configuration: host for host, configuration in served}
    assert len(served) == 4, "each configuration is the business of one pool"
    assert hosts["scip"] == hosts["cbc"]
    assert len(set(hosts.values())) == 3

    inside = ("--limit", "5", "--timeout", "60s", "--wait")
    submitted_inside = ("run", "--rm", "-T", "scheduler", "submit", "puzzles/easy.txt", *inside)
    assert "batch 2 done: 20 of 20 runs (20 solved)" in stack(*submitted_inside)
    assert stack("run", "--rm", "-T", "scheduler", "report", "2").count("5/5") == 4

    _share_their_cores(stack)
    running = stack("ps", "--services", "--filter", "status=running").split()
    assert len(running) == 6
    for service in running:
        _is_confined(stack, service)
    until(lambda: _health(stack) == {"healthy": 4}, 90)


def _share_their_cores(stack: Stack) -> None:
    """A core locked in one container cannot be locked in another, so no core has two solves."""
    inside = ("exec", "-T", "worker-mip", "python", "-c", HOLD, "/var/lock/cagematch/core-0")
    holder = subprocess.Popen(
        [*stack.compose, *inside],
        cwd=stack.folder,
        env=stack.scheduler.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert holder.stdout.readline() == b"1\n"
    with pytest.raises(AssertionError, match="BlockingIOError"):
        stack("exec", "-T", "worker-other", "python", "-c", TRY, "/var/lock/cagematch/core-0")
    holder.communicate(timeout=20)


def _is_confined(stack: Stack, service: str) -> None:
    """The user has no rights, cannot gain any, and cannot write to the folders of programs."""
    told = stack("exec", "-T", service, "cat", "/proc/1/status")
    found = {name: values for name, *values in map(str.split, told.splitlines())}
    assert "0" not in found["Uid:"] + found["Gid:"], service
    assert {name: found[name] for name in ("CapEff:", "CapPrm:", "CapBnd:", "NoNewPrivs:")} == {
        "CapEff:": ["0000000000000000"],
        "CapPrm:": ["0000000000000000"],
        "CapBnd:": ["0000000000000000"],
        "NoNewPrivs:": ["1"],
    }, service
    with pytest.raises(AssertionError, match="Read-only file system"):
        stack("exec", "-T", service, "touch", "/usr/local/bin/made")


def _health(stack: Stack) -> Counter[str]:
    workers = [w for w in stack("ps", "-q").split() if w]
    form = "{{if .State.Health}}{{.Config.Cmd}} {{.State.Health.Status}}{{end}}"
    told = subprocess.run(["docker", "inspect", "-f", form, *workers], capture_output=True, text=True, check=True)
    return Counter(line.rpartition(" ")[2] for line in told.stdout.splitlines() if "worker" in line)
