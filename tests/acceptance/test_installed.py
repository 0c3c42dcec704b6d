"""The installed command: the built wheel, and folders with files named like our modules."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from commanding import ROOT, Scheduler, make_scheduler
from looking import stored


def test_files_named_like_packages_are_ignored(scheduler):
    scheduler.own_interpreter = True
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


@pytest.mark.slow
def test_broken_external_backend(scheduler, tmp_path):
    """A broken backend of another distribution does not affect the other backends."""
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
def test_contents_of_the_wheel(wheel):
    """The wheel contains only the program and its sets."""
    names = zipfile.ZipFile(wheel).namelist()

    tops = {name.split("/")[0] for name in names if ".dist-info" not in name}
    assert tops == {"cagematch"}
    assert {f"cagematch/puzzles/{name}.txt" for name in ("easy", "medium", "hard")} <= set(names)
    assert any(name.startswith("cagematch/migrations/versions/") for name in names)


@pytest.mark.smoke
@pytest.mark.slow
def test_wheel_in_an_empty_environment(wheel, tmp_path):
    """The installed wheel works in an empty environment and folder."""
    place = _environment(tmp_path)
    home = place.home
    zipfile.ZipFile(wheel).extractall(place.site)
    folder = tmp_path / "empty"
    folder.mkdir()
    # As pip writes it. python-sat puts a script models.py into the same folder.
    (home / "bin" / "scheduler").write_text("from cagematch.scheduler.cli import main\nmain()\n")
    (home / "bin" / "models.py").write_text("raise RuntimeError('not yours')\n")
    command = [str(home / "bin" / "python"), str(home / "bin" / "scheduler")]
    environment = {k: v for k, v in make_scheduler(folder).environment.items() if k != "PYTHONPATH"}
    installed = Scheduler(folder, command, environment)

    with place.libraries():
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


OWNER = "OWNER = 'another distribution'\n"
ANOTHER = {
    "models/__init__.py": OWNER,
    "scheduler/__init__.py": OWNER,
    "another-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: another\nVersion: 1.0\n",
    "another-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
}


@pytest.mark.smoke
@pytest.mark.slow
def test_next_to_another_models_and_scheduler(wheel: Path, tmp_path: Path):
    """Another distribution owns these packages, and the working folder has modules of our former names."""
    place = _environment(tmp_path)
    _pip(place.home, "install", "--no-index", "--no-deps", str(_another(tmp_path)))
    before = place.contents("models", "scheduler")
    assert len(before) >= 2
    _pip(place.home, "install", "--no-index", "--no-deps", str(wheel))
    folder = tmp_path / "work"
    (folder / "models").mkdir(parents=True)
    for name in ("workers.py", "models/__init__.py"):
        (folder / name).write_text("raise RuntimeError('imported from the working folder')\n")
    python = str(place.home / "bin" / "python")
    environment = {k: v for k, v in make_scheduler(folder).environment.items() if k != "PYTHONPATH"}
    installed = Scheduler(folder, [str(place.home / "bin" / "scheduler")], environment)

    with place.libraries():
        assert (
            "2 of 2 runs (2 solved)"
            in installed("submit", "hard", "--limit", 1, "-s", "cp-min-size", "-s", "cp-sat").stdout
        )
        assert "hard  1 puzzle" in installed("report").stdout
        assert Scheduler(folder, [python, "-m", "cagematch"], environment)("--version").stdout
        found = Scheduler(folder, [python, "-c"], environment)("import cagematch; print(cagematch.__file__)").stdout
        assert Path(found.strip()) == place.site / "cagematch" / "__init__.py"
    assert place.contents("models", "scheduler") == before

    _pip(place.home, "uninstall", "--yes", "cagematch")

    assert not (place.site / "cagematch").exists()
    assert not (place.home / "bin" / "scheduler").exists()
    assert place.contents("models", "scheduler") == before
    elsewhere = Scheduler(tmp_path, [python, "-c"], environment)
    assert elsewhere("import models, scheduler; print(models.OWNER, scheduler.OWNER, sep='|')").stdout == (
        "another distribution|another distribution\n"
    )


@dataclass(frozen=True)
class Environment:
    """A virtual environment."""

    home: Path
    site: Path

    @contextmanager
    def libraries(self) -> Iterator[None]:
        """Add the libraries of this environment, without the checkout. pip must not see them: they include ours."""
        links = {self.site / f"libraries-{number}.pth": place for number, place in enumerate(_libraries())}
        for link, place in links.items():
            link.write_text(f"{place}\n")
        yield
        for link in links:
            link.unlink()

    def contents(self, *packages: str) -> dict[str, bytes]:
        """Each source file of the packages, and what it contains."""
        files = [path for package in packages for path in (self.site / package).rglob("*.py")]
        return {str(path.relative_to(self.site)): path.read_bytes() for path in files}


def _environment(folder: Path) -> Environment:
    home = folder / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True, timeout=240)
    site = next((home / "lib").glob("python*/site-packages"))
    return Environment(home, site)


def _another(folder: Path) -> Path:
    """The wheel of another distribution."""
    built = folder / "another-1.0-py3-none-any.whl"
    record = "another-1.0.dist-info/RECORD"
    with zipfile.ZipFile(built, "w") as archive:
        for name, text in ANOTHER.items():
            archive.writestr(name, text)
        archive.writestr(record, "".join(f"{name},,\n" for name in (*ANOTHER, record)))
    return built


def _pip(home: Path, *words: str) -> None:
    """Run this environment's pip on another environment."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(home / "bin" / "python")]
    done = subprocess.run([*command, *words], capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def _libraries() -> list[str]:
    """The folders with this environment's libraries. Python ignores .pth files there, so our checkout is not found."""
    here = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    return [path for path in sys.path if path in here or path.endswith("site-packages")]
