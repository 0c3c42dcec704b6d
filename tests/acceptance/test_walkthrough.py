"""The walk-throughs of CONTRIBUTING.md: create their files, apply their changes, run their commands."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from commanding import ROOT, make_scheduler

pytestmark = pytest.mark.slow

BLOCK = re.compile(r"^```(?P<language>\w+) ?(?P<path>\S*)\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE)
# The parts of the tree that `make test` and `scheduler` need.
PARTS = (
    "src",
    "problems",
    "models",
    "migrations",
    "workers",
    "scheduler",
    "puzzles",
    "benchmarks",
    "tests",
    "pyproject.toml",
    "README.md",
)


def change(path: Path, lines: list[str]) -> None:
    """Apply a diff whose old lines must occur exactly once in the file."""
    before, after = ("\n".join(line[1:] for line in lines if line[0] in kept) for kept in (" -", " +"))
    text = path.read_text()
    assert text.count(before) == 1, f"{path}: {text.count(before)} matches, expected 1, of\n{before}"
    path.write_text(text.replace(before, after))


def arguments(command: str) -> list[str]:
    """The arguments of a command; for `make test`, of the pytest command inside, which needs no new environment."""
    words = shlex.split(command)
    if words[:2] == ["make", "test"]:
        return [sys.executable, "-m", "pytest", "-q", "-x", *shlex.split(words[2].removeprefix("ARGS="))]
    assert words[0] == "scheduler"
    return [sys.executable, "-P", "-c", "from cagematch.scheduler.cli import main; main()", *words[1:]]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the project."""
    copy = tmp_path / "project"
    copy.mkdir()
    for part in map(ROOT.joinpath, PARTS):
        if part.is_dir():
            shutil.copytree(part, copy / part.name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(part, copy)
    return copy


def test_walkthroughs(tree: Path):
    """Every block of CONTRIBUTING.md applies and runs as printed."""
    outputs: list[str] = []
    environment = make_scheduler(tree).environment | {"PYTHONPATH": str(tree / "src"), "COLUMNS": "200"}

    for block in BLOCK.finditer((ROOT / "CONTRIBUTING.md").read_text()):
        path, body = tree / block["path"], block["body"]
        if block["language"] == "diff":
            change(path, body.splitlines())
        elif block["path"]:
            assert not path.exists()
            path.write_text(body)
        else:
            for command in body.splitlines():
                done = subprocess.run(
                    arguments(command), cwd=tree, env=environment, capture_output=True, text=True, check=False
                )
                assert done.returncode == 0, f"{command}\n{done.stdout[-5000:]}{done.stderr[-5000:]}"
                outputs.append(done.stdout)

    conforming, compared, kind, solved, counted, reported = outputs
    assert re.search(r"\d{3,} passed", conforming)
    assert "6 of 6 runs (6 solved)" in compared
    assert re.search(r"\d{3,} passed", kind)
    assert "6 of 6 runs (6 solved)" in solved
    assert "6 of 6 runs" in counted
    assert "magic  3 puzzles" in reported
    assert not re.search(r"wrong +[1-9]|error", reported)
