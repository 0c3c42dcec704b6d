"""The example backend in its own distribution: found by its entry point, and used like any other."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[4]
EXAMPLE = ROOT / "examples" / "min-conflicts"
SCRIPT = """
import json
from cagematch.problems.kinds import KINDS
from cagematch.workers.backends import BACKENDS, all_backends, version
from cagematch.workers.configurations import configuration
from cagematch.workers.queues.pools import installed, queue_of
from cagematch.workers.sandbox.solving import measure, problem_of, size
chosen = configuration("min-conflicts:noise=5")
problem = problem_of("sudoku", KINDS["sudoku"].parse("1..............."))
found = measure(chosen, problem, 1, 20.0)
late = measure(chosen, problem_of("sudoku", "." * 81), 1, 0.01)
print(json.dumps({
    "ours": "min-conflicts" in BACKENDS,
    "family": all_backends()["min-conflicts"].family,
    "version": version("min-conflicts"),
    "queue": queue_of("min-conflicts"),
    "pool": "min-conflicts" in installed(["other"]),
    "text": chosen.text,
    "solved": problem.is_solution(found.assignment),
    "stop": late.stop,
    "size": dict(size(chosen, problem.rules).variables),
}))
"""


@pytest.fixture
def installed(tmp_path: Path) -> dict[str, str]:
    """Return an environment with the distribution installed: its module, and metadata from its pyproject.toml."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    about = tmp_path / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    lines = [f"{name} = {value}" for points in project["entry-points"].values() for name, value in points.items()]
    (about / "entry_points.txt").write_text("[cagematch.backends]\n" + "\n".join(lines) + "\n")
    (tmp_path / "cagematch_min_conflicts.py").symlink_to(EXAMPLE / "cagematch_min_conflicts.py")
    return os.environ | {"PYTHONPATH": os.pathsep.join((str(tmp_path), str(ROOT)))}


def test_a_backend_of_another_distribution_can_be_used(installed: dict[str, str]):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=installed, cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "ours": False,
        "family": "min-conflicts",
        "version": "1.0",
        "queue": "min-conflicts",
        "pool": True,
        "text": "min-conflicts:noise=5",
        "solved": True,
        "stop": "timeout",
        "size": {"integer": 16},
    }


def test_the_entry_point_names_an_existing_module():
    points = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]["entry-points"]

    assert set(points) == {"cagematch.backends"}
    assert all((EXAMPLE / f"{module}.py").is_file() for module in points["cagematch.backends"].values())
