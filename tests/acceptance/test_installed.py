"""The command where it was not developed: the built wheel, and folders with files of the user's that have our names."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
from commanding import ROOT, Scheduler, make_scheduler


def test_files_named_like_our_packages_do_not_disturb(scheduler):
    for name in ("models.py", "workers.py", "scheduler.py", "migrations.py", "rich.py"):
        (scheduler.folder / name).write_text("raise RuntimeError('not yours')\n")
    (scheduler.folder / "problems").mkdir()
    (scheduler.folder / "problems" / "__init__.py").write_text("raise RuntimeError('not yours')\n")

    told = scheduler("submit", "hard", "--limit", 2, "-s", "cp-min-size", "-s", "pulp-cbc").stdout

    assert "4 of 4 runs (4 solved)" in told


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("wheel")
    build = "import hatchling.build, sys; print(hatchling.build.build_wheel(sys.argv[1]))"
    subprocess.run([sys.executable, "-c", build, str(folder)], cwd=ROOT, check=True, capture_output=True, timeout=240)
    (built,) = folder.glob("*.whl")
    return built


@pytest.mark.slow
def test_the_wheel_holds_the_program_and_its_sets_only(wheel):
    names = zipfile.ZipFile(wheel).namelist()

    tops = {name.split("/")[0] for name in names if ".dist-info" not in name}
    assert tops == {"problems", "models", "migrations", "workers", "scheduler", "puzzles"}
    assert {"puzzles/easy.txt", "puzzles/medium.txt", "puzzles/hard.txt"} <= set(names)
    assert any(name.startswith("migrations/versions/") for name in names)


@pytest.mark.slow
def test_the_wheel_works_in_an_empty_environment_and_folder(wheel, tmp_path):
    home = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True, timeout=240)
    site = next((home / "lib").glob("python*/site-packages"))
    zipfile.ZipFile(wheel).extractall(site)
    # The libraries that it needs are those of this environment; the checkout, installed there too, comes after.
    for number, place in enumerate(_libraries()):
        (site / f"libraries-{number}.pth").write_text(f"{place}\n")
    folder = tmp_path / "empty"
    folder.mkdir()
    start = "from scheduler.cli import main; main()"
    command = [str(home / "bin" / "python"), "-P", "-c", start]
    environment = {k: v for k, v in make_scheduler(folder).environment.items() if k != "PYTHONPATH"}
    installed = Scheduler(folder, command, environment)

    assert "20 of 20 runs (20 solved)" in installed("submit", "hard", "--limit", 5).stdout
    assert "hard  5 puzzles" in installed("report").stdout
    where = subprocess.run(
        [command[0], "-P", "-c", "import scheduler, workers; print(scheduler.__file__, workers.__file__)"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env=environment,
        cwd=folder,
    )
    assert all(Path(path).is_relative_to(home) for path in where.stdout.split())


def _libraries() -> list[str]:
    """The folders with this environment's libraries; a .pth inside them is not followed again."""
    here = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    return [path for path in sys.path if path in here or path.endswith("site-packages")]
