"""The command where it was not developed: the built wheel, and folders with files of the user's that have our names."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
from commanding import ROOT, Scheduler, make_scheduler
from looking import stored


def test_files_named_like_our_packages_do_not_disturb(scheduler):
    for name in ("models.py", "workers.py", "scheduler.py", "migrations.py", "rich.py"):
        (scheduler.folder / name).write_text("raise RuntimeError('not yours')\n")
    (scheduler.folder / "problems").mkdir()
    (scheduler.folder / "problems" / "__init__.py").write_text("raise RuntimeError('not yours')\n")

    told = scheduler("submit", "hard", "--limit", 2, "-s", "cp-min-size", "-s", "pulp-cbc").stdout

    assert "4 of 4 runs (4 solved)" in told


STRANGERS = {
    "brute": ("HANDLES = STATUS = PARAMETERS = {}\nversion = size = build = search = print\n", "does not define TASKS"),
    "typo": ("import nothing_of_that_name\n", "cannot be imported: ModuleNotFoundError: No module named"),
    "absent": (None, "its module absent cannot be imported"),
    "mute": (
        "HANDLES = TASKS = STATUS = PARAMETERS = {}\nsize = build = search = print\ndef version(): return 1 / 0\n",
        "version() failed: ZeroDivisionError",
    ),
}


def test_a_broken_backend_of_others_does_not_take_the_rest_with_it(scheduler, tmp_path):
    place = tmp_path / "site"
    about = place / "strangers-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: strangers\nVersion: 1.0\n")
    points = "".join(f"{name} = {name}\n" for name in STRANGERS)
    (about / "entry_points.txt").write_text(f"[cagematch.backends]\n{points}")
    for name, (code, _) in STRANGERS.items():
        if code:
            (place / f"{name}.py").write_text(code)
    there = scheduler.environment.get("PYTHONPATH", "")
    scheduler.environment["PYTHONPATH"] = os.pathsep.join(filter(None, (str(place), there)))

    told = scheduler("solvers").stdout

    assert "cp-sat " in told
    assert "pip install 'cagematch[absent]'" not in told
    for name, (_, why) in STRANGERS.items():
        (line,) = [line for line in told.splitlines() if line.startswith(f"{name} ")]
        assert why in line
        refused = scheduler("submit", "hard", "-s", name, code=2).stderr
        assert f"{name}: broken: " in refused
        assert why in refused
    assert not any(stored(scheduler.folder).values())
    assert "1 of 1 runs (1 solved)" in scheduler("submit", "hard", "--limit", 1, "-s", "cp-min-size").stdout


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
    assert tops == {"cagematch"}
    assert {f"cagematch/puzzles/{name}.txt" for name in ("easy", "medium", "hard")} <= set(names)
    assert any(name.startswith("cagematch/migrations/versions/") for name in names)


@pytest.mark.smoke
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
    # As pip writes it; and python-sat, for one, puts a script of that name beside it.
    (home / "bin" / "scheduler").write_text("from cagematch.scheduler.cli import main\nmain()\n")
    (home / "bin" / "models.py").write_text("raise RuntimeError('not yours')\n")
    command = [str(home / "bin" / "python"), str(home / "bin" / "scheduler")]
    environment = {k: v for k, v in make_scheduler(folder).environment.items() if k != "PYTHONPATH"}
    installed = Scheduler(folder, command, environment)

    assert "20 of 20 runs (20 solved)" in installed("submit", "hard", "--limit", 5).stdout
    assert "hard  5 puzzles" in installed("report").stdout
    where = subprocess.run(
        [
            command[0],
            "-P",
            "-c",
            "import cagematch.scheduler as s, cagematch.workers as w; print(s.__file__, w.__file__)",
        ],
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
