"""Run the installed command ``scheduler`` in a folder, with a minimal environment."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from command_server import CommandServer

ROOT = Path(__file__).resolve().parent.parent
COMMAND_S = 240.0
# With CAGEMATCH_TEST_OWN_INTERPRETERS=1 each command starts an interpreter, as a user's does.
OWN_INTERPRETERS = os.environ.get("CAGEMATCH_TEST_OWN_INTERPRETERS") == "1"


@dataclass(frozen=True)
class Result:
    """The exit code and the output of a command."""

    code: int
    stdout: str
    stderr: str

    @property
    def text(self) -> str:
        """Both outputs."""
        return self.stdout + self.stderr


@dataclass
class Scheduler:
    """The command ``scheduler`` in a folder, with a minimal environment."""

    folder: Path
    command: list[str]
    environment: dict[str, str]
    own_interpreter: bool = False  # for each command, whatever it costs
    _started: list[subprocess.Popen[str]] = field(default_factory=list)

    def __call__(self, *words: object, code: int | None = 0, timeout_s: float = COMMAND_S, stdin: str = "") -> Result:
        """Run it to its end. ``code``: the expected exit code; None accepts any."""
        done = self._run([*self.command, *map(str, words)], timeout_s, stdin)
        result = Result(done.returncode, done.stdout, done.stderr)
        assert "Traceback" not in result.text, result.text
        assert code is None or result.code == code, f"exit code {result.code}, expected {code}:\n{result.text}"
        return result

    def _run(self, words: list[str], timeout_s: float, stdin: str) -> subprocess.CompletedProcess[str]:
        """Run it in a fork of the command server, or in an interpreter of its own where that may differ."""
        server = None if self.own_interpreter else _server(self.command, self.environment)
        if server is not None:
            return server.run(words, self.folder, self.environment, stdin, timeout_s)
        return subprocess.run(
            words,
            cwd=self.folder,
            env=self.environment,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )

    def start(self, *words: object) -> subprocess.Popen[str]:
        """Start it in its own session; the end of the test ends it and its descendants."""
        process = subprocess.Popen(
            [*self.command, *map(str, words)],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._started.append(process)
        return process

    def processes(self) -> list[int]:
        """Every live descendant of this object's commands, found by the environment that they inherit."""
        mark = f"CAGEMATCH_TEST_MARK={self.environment['CAGEMATCH_TEST_MARK']}".encode()
        found = []
        for entry in Path("/proc").iterdir():
            with suppress(OSError):
                if entry.name.isdigit() and mark in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
        return found

    def close(self) -> None:
        """End every process that still runs."""
        for process in self._started:
            if process.poll() is None:
                process.kill()
            process.communicate()
        with suppress(TimeoutError):
            until(lambda: not self.processes())
        for pid in self.processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def until(holds: Callable[[], object], within_s: float = 60.0) -> None:
    """Wait for a condition; raise TimeoutError when it does not hold in time."""
    over = time.monotonic() + within_s
    while not holds():
        if time.monotonic() > over:
            raise TimeoutError
        time.sleep(0.02)


def make_scheduler(folder: Path, **environment: str) -> Scheduler:
    """Return the console script next to this interpreter, or the checkout's code where none is installed."""
    command, clean = _command_and_environment()
    clean |= {f"CAGEMATCH_{name.upper()}": str(folder.parent / f"{folder.name}-{name}") for name in ("locks", "spool")}
    clean |= {"CAGEMATCH_TEST_MARK": uuid.uuid4().hex}
    return Scheduler(folder, command, clean | environment)


def _command_and_environment() -> tuple[list[str], dict[str, str]]:
    """The words of the command, and the environment without what may change its behaviour."""
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("CAGEMATCH_", "PYTHON", "PYTEST_", "COLUMNS", "LINES"))
        and name not in ("FORCE_COLOR", "CI")
    }
    script = shutil.which("scheduler", path=str(Path(sys.executable).parent))
    if script:
        return [script], clean
    # -P: files in the working folder must not replace our packages.
    command = [sys.executable, "-P", "-c", "from cagematch.scheduler.cli import main; main()"]
    return command, clean | {"PYTHONPATH": str(ROOT / "src")}


@cache
def _standard_server() -> CommandServer:
    """The command server of this process."""
    server = CommandServer(_command_and_environment()[1])
    atexit.register(server.close)
    return server


def _server(command: list[str], environment: dict[str, str]) -> CommandServer | None:
    """The command server, if a fork of it runs this command just as a new interpreter would."""
    standard, clean = _command_and_environment()
    rest = {name: value for name, value in environment.items() if not name.startswith("CAGEMATCH_")}
    if OWN_INTERPRETERS or command != standard or len(standard) > 1 or rest != clean:
        return None
    return _standard_server()
