"""A comparison in a file: what it may say, and what is said of one that cannot be taken."""

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


def test_everything_that_it_may_say(folder: Path):
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


def test_a_file_goes_before_a_shipped_set_of_its_name(folder: Path):
    (folder / "hard").write_text("1234341221434321\n")

    assert read(written(folder, 'puzzles = ["hard"]')).puzzles == [PuzzleFile(str(folder / "hard"))]


@pytest.mark.parametrize("word", ["../outside.txt", "{above}/outside.txt", "link.txt", "/etc/passwd"])
def test_a_path_stays_below_the_experiment(folder: Path, word: str):
    (folder / "link.txt").symlink_to(folder.parent / "outside.txt")
    word = word.format(above=folder.parent)

    (told,) = faults(folder, f'solvers = ["cp-sat"]\npuzzles = ["{word}"]')

    assert (
        told
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
def test_a_fault_is_told_with_its_line(folder: Path, text: str, expected: str):
    (told,) = faults(folder, text)

    assert told.startswith(expected)


def test_every_fault_is_told(folder: Path):
    assert len(faults(folder, 'puzzles = ["nowhere", 4]\nrepeat = 0\nseed = -1\nodd = 1')) == 5


@pytest.mark.parametrize(
    ("content", "expected"),
    [(b"\xff\xfe", "is not UTF-8 at byte 0"), (b"# " + b"x" * 2**20, "is larger than 1,048,576 bytes")],
)
def test_a_file_that_is_no_text_or_too_large_is_refused(folder: Path, content: bytes, expected: str):
    path = folder / "experiment.toml"
    path.write_bytes(content)

    with pytest.raises(InputError, match=expected):
        read(path)


def test_a_file_that_is_not_there_is_named(folder: Path):
    with pytest.raises(InputError, match=r"experiment\.toml cannot be read: No such file"):
        read(folder / "experiment.toml")
