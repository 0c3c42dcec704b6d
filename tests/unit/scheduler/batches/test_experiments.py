"""Experiment files: their keys, and the messages for invalid files."""

from __future__ import annotations

from pathlib import Path

import pytest

from cagematch.problems.errors import FileError, InputError
from cagematch.scheduler.batches.experiments import OPTIONS, PuzzleFile, read


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "mine.txt").write_text("1234341221434321\n")
    (tmp_path / "outside.txt").write_text("1234341221434321\n")
    return inside


def written(folder: Path, text: str) -> Path:
    path = folder / "experiment.toml"
    path.write_text(text)
    return path


def faults(folder: Path, text: str) -> list[str]:
    with pytest.raises(FileError) as caught:
        read(written(folder, text))
    return [f"{fault.line}: {fault.message}" for fault in caught.value.faults]


def test_every_key_is_read(folder: Path):
    text = """
        puzzles = ["hard", {file = "mine.txt", kind = "sudoku", format = "lines", sha256 = "ab"}]
        solvers = ["@core", "legacy-cp:var=*"]
        name = "all"
        task = "count"
        bound = 7
        timeout = "500ms"
        memory = "1GiB"
        repeat = 2
        seed = 3
        permute = true
        limit = 4
        priority = -5
    """

    found = read(written(folder, text))

    assert found.puzzles == [PuzzleFile("hard"), PuzzleFile(str(folder / "mine.txt"), "sudoku", "lines", "ab")]
    assert found.solvers == ["@core", "legacy-cp:var=*"]
    assert found.options.keys() == OPTIONS.keys()
    assert (found.options["bound"], found.options["permute"], found.options["priority"]) == (7, True, -5)


def test_a_file_overrides_a_shipped_set(folder: Path):
    (folder / "hard").write_text("1234341221434321\n")

    assert read(written(folder, 'puzzles = ["hard"]')).puzzles == [PuzzleFile(str(folder / "hard"))]


@pytest.mark.parametrize("word", ["../outside.txt", "{above}/outside.txt", "link.txt", "/etc/passwd"])
def test_a_path_outside_the_experiment_folder_is_refused(folder: Path, word: str):
    (folder / "link.txt").symlink_to(folder.parent / "outside.txt")
    word = word.format(above=folder.parent)

    (message,) = faults(folder, f'solvers = ["cp-sat"]\npuzzles = ["{word}"]')

    assert (
        message
        == f"2: puzzles: {word!r} is not below the folder of the experiment, expected a file there or a shipped set"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('puzzles = ["hard"]\nlimits = 3', "2: limits: unknown key, expected one of puzzles, solvers, name"),
        ("", "1: puzzles: missing, expected a list of files or shipped sets"),
        ("puzzles = []", "1: puzzles: found [], expected a list"),
        ("puzzles = [3]", "1: puzzles: found 3, expected a file name, or a table of strings with file, kind, format"),
        ('puzzles = [{file = ""}]', "1: puzzles: found {'file': ''}, expected a file name"),
        ('puzzles = [{path = "hard"}]', "1: puzzles: found {'path': 'hard'}, expected a file name"),
        ('puzzles = ["nowhere.txt"]', "1: puzzles: 'nowhere.txt' does not exist in the folder of the experiment"),
        ('puzzles = ["hard"]\nsolvers = "cp-sat"', "2: solvers: found 'cp-sat', expected a list of configurations"),
        ('puzzles = ["hard"]\n\nrepeat = 0', "3: repeat: found 0, expected an integer from 1 to"),
        ('puzzles = ["hard"]\nrepeat = true', "2: repeat: found True, expected an integer"),
        ('puzzles = ["hard"]\npermute = 1', "2: permute: found 1, expected true or false"),
        ('puzzles = ["hard"]\ntimeout = 3', "2: timeout: found 3, expected a string"),
        ('puzzles = ["hard"]\ntask = "win"', "2: task: found 'win', expected one of solve, unique, count, repair"),
        ('puzzles = ["hard"\nlimit = 3', "2: invalid TOML: "),
    ],
)
def test_a_fault_is_reported_with_its_line(folder: Path, text: str, expected: str):
    (message,) = faults(folder, text)

    assert message.startswith(expected)


def test_every_fault_is_reported(folder: Path):
    assert len(faults(folder, 'puzzles = ["nowhere", 4]\nrepeat = 0\nseed = -1\nodd = 1')) == 5


@pytest.mark.parametrize(
    ("content", "expected"),
    [(b"\xff\xfe", "is not UTF-8 at byte 0"), (b"# " + b"x" * 2**20, "is larger than 1,048,576 bytes")],
)
def test_invalid_text_and_large_files_are_refused(folder: Path, content: bytes, expected: str):
    path = folder / "experiment.toml"
    path.write_bytes(content)

    with pytest.raises(InputError, match=expected):
        read(path)


def test_a_missing_file_is_reported_by_name(folder: Path):
    with pytest.raises(InputError, match=r"experiment\.toml cannot be read: No such file"):
        read(folder / "experiment.toml")
