"""Loading: a whole file or nothing, faults with their places, and sets that are stored once."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from sqlalchemy import Engine, func, select, update

from cagematch.models import Base, PuzzleSet, SetEntry, StoredPuzzle
from cagematch.models.engine import open_engine, reading, writing
from cagematch.problems.errors import FileError, InputError
from cagematch.scheduler.batches import puzzle_sets as loading
from cagematch.scheduler.batches.puzzle_sets import Loaded, find_source, load, shipped_sets, store_set

P = "4.....8.5.3..........7......2.....6.....8.4......1.......6.3.7.5..2.....1.4......"
Q = "52...6.........7.13...........4..8..6......5...........418.........3..2...87....."
SHIPPED = {  # puzzles, and distinct ones
    "easy": (51, 50),
    "medium": (11, 11),
    "hard": (95, 95),
    "sudoku-x": (12, 12),
    "windoku": (14, 14),
    "jigsaw": (13, 13),
    "centre-dots": (7, 7),
    "16x16": (27, 27),
    "25x25": (12, 12),
    "killer": (156, 156),
    "killer-hard": (13, 13),
    "queens": (14, 14),
    "latin": (9, 9),
    "futoshiki": (9, 9),
    "kakuro": (8, 8),
}


@pytest.fixture
def file(tmp_path: Path):
    """Write a file of puzzles and return its path as a user would type it."""

    def _file(content: str | bytes, name: str = "some.txt") -> str:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    return _file


@pytest.fixture
def engine(tmp_path: Path):
    opened = open_engine(f"sqlite:///{tmp_path}/test.db")
    Base.metadata.create_all(opened)
    yield opened
    opened.dispose()


def loaded(word: str, *, kind: str | None = None, skip_invalid: bool = False, form: str | None = None) -> Loaded:
    return load(find_source(word), kind, form, skip_invalid=skip_invalid)


def texts(word: str) -> list[str]:
    return [text for text, _, _, _ in loaded(word).rows]


def faults(word: str) -> list[str]:
    """Return the faults of a file, one per line, without its folder."""
    with pytest.raises(FileError) as caught:
        loaded(word)
    return str(caught.value).replace(str(Path(word).parent) + "/", "").splitlines()


def entries(engine: Engine, set_id: int) -> list[tuple[int, str, int, str]]:
    query = (
        select(SetEntry.position, StoredPuzzle.text, SetEntry.line, SetEntry.label)
        .join(StoredPuzzle, StoredPuzzle.id == SetEntry.puzzle_id)
        .where(SetEntry.set_id == set_id)
        .order_by(SetEntry.position)
    )
    with reading(engine) as connection:
        return [tuple(row) for row in connection.execute(query)]


def count(engine: Engine, table: type[Base]) -> int:
    with reading(engine) as connection:
        return connection.scalar(select(func.count()).select_from(table))


class TestSources:
    """A file, or a shipped set."""

    @pytest.mark.parametrize("name", SHIPPED)
    def test_shipped_sets_are_found_from_any_folder(self, name, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)

        found = loaded(name)

        assert (found.source.name, found.source.shown) == (name, f"{name} (shipped)")
        assert (len(found.rows), found.distinct) == SHIPPED[name]

    def test_all_shipped_sets_are_tested(self):
        assert set(SHIPPED) == set(shipped_sets())

    def test_a_set_is_named_after_its_file(self, file):
        source = find_source(file(P, "mine.sdm"))

        assert source.name == "mine"
        assert source.shown.endswith("/mine.sdm")

    def test_a_file_overrides_a_shipped_set(self, file, tmp_path, monkeypatch):
        file(P, "hard")
        monkeypatch.chdir(tmp_path)

        assert find_source("hard").shown == "hard"

    @pytest.mark.parametrize("word", ["nowhere.txt", "x" * 5000, "a\0b", ""])
    def test_a_missing_file_is_reported_with_shipped_sets(self, word, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)

        with pytest.raises(InputError, match=r"easy, .*hard, .*medium") as caught:
            find_source(word or "nothing at all")
        assert "there is no file" in str(caught.value)

    def test_a_folder_is_refused(self, tmp_path):
        with pytest.raises(InputError, match="is a folder, expected a puzzle file; name a file in it"):
            find_source(str(tmp_path))

    def test_an_undecodable_file_name_is_stored(self, tmp_path, engine):
        """Bytes that are not UTF-8 are replaced in the name."""
        path = os.fsencode(tmp_path) + b"/caf\xe9.txt"
        Path(os.fsdecode(path)).write_text(P)

        found = loaded(os.fsdecode(path))

        assert found.source.name == "caf\N{REPLACEMENT CHARACTER}"
        assert store_set(engine, found) == 1

    def test_a_long_name_is_truncated(self, file):
        assert find_source(file(P, "n" * 240 + ".txt")).name == "n" * 200

    @pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read anything")
    def test_an_unreadable_file_is_reported(self, file):
        word = file(P)
        Path(word).chmod(0)

        with pytest.raises(InputError, match="cannot be read: Permission denied"):
            loaded(word)

    def test_a_file_deleted_before_reading_is_reported(self, file):
        source = find_source(file(P))
        source.path.unlink()

        with pytest.raises(InputError, match="cannot be read: No such file"):
            load(source, "sudoku", None, skip_invalid=False)


KILLER = '{"id": "one", "cages": [{"cells": [[0, 0], [0, 1]], "sum": 3}]}'


class TestKinds:
    """The kind of the puzzles in a file."""

    def test_the_default_kind_is_sudoku(self, file):
        """A file that declares no kind contains Sudokus, unless the user names a kind."""
        assert loaded(file(P)).kind == "sudoku"
        with pytest.raises(FileError, match="invalid JSON"):
            loaded(file(P), kind="killer")

    def test_json_lines_with_cages_are_killers(self, file):
        """The name of the file is irrelevant."""
        found = loaded(file(KILLER, "mine.jsonl"))

        assert (found.kind, found.source.name) == ("killer", "mine")
        assert [(text, label) for text, _, _, label in found.rows] == [
            ('{"cages":[{"cells":[[0,0],[0,1]],"sum":3}]}', "one")
        ]

    def test_json_lines_may_contain_puzzle_texts(self, file):
        """A JSON line may contain the text of a puzzle of any kind."""
        sudoku = loaded(file(f'{{"puzzle": "{P}", "label": "one"}}\n'))
        killer = loaded(file(json.dumps({"kind": "killer", "puzzle": KILLER})))

        assert (sudoku.kind, sudoku.rows[0][0], sudoku.rows[0][3]) == ("sudoku", P, "one")
        assert (killer.kind, killer.rows) == ("killer", [(*loaded(file(KILLER)).rows[0][:3], "")])

    def test_json_text_faults_have_a_column(self, file):
        with pytest.raises(FileError, match=r"some.txt:1:14: 4 appears twice in row 1"):
            loaded(file(f'{{"puzzle": "44{P[2:]}"}}'))

    def test_a_fault_after_escaped_characters_is_reported(self, file):
        with pytest.raises(FileError, match=r"some.txt:1:1: invalid JSON"):
            loaded(file(json.dumps({"kind": "killer", "puzzle": '{"cages": ['})))

    def test_null_means_a_missing_value(self, file):
        assert loaded(file(json.dumps({"puzzle": P, "cages": None, "kind": None}))).rows[0][0] == P
        assert loaded(file(KILLER.replace('"id"', '"kind": null, "id"'))).kind == "killer"

    def test_a_puzzle_text_of_another_kind_is_refused(self, file):
        latin = json.dumps({"kind": "latin", "puzzle": "." * 81})
        with pytest.raises(FileError, match=r"some.txt:2: found kind 'latin', expected 'sudoku'"):
            loaded(file(f'{{"puzzle": "{P}"}}\n{latin}'))

        assert loaded(file(latin)).kind == "latin"

    def test_a_comment_may_name_the_kind(self, file):
        assert loaded(file(f"# kind: sudoku\n{P}")).kind == "sudoku"
        assert loaded(file(f"# kind: sudoku\n{P}"), kind="sudoku").kind == "sudoku"

    @pytest.mark.parametrize("text", ["." * 25, "." * 36, "1...2...3"])
    def test_lines_of_other_kinds_are_not_grids(self, file, text):
        """A line of a kind without grids is a puzzle, even if its length fits a row of a grid."""
        assert [row[0] for row in loaded(file(f"# kind: latin\n{text}")).rows] == [text]
        assert [row[0] for row in loaded(file(text), kind="latin").rows] == [text]

    def test_an_unknown_kind_is_reported_with_known_kinds(self, file):
        with pytest.raises(FileError, match=r"some.txt:2: found the kind 'go', expected one of sudoku, killer"):
            loaded(file(f"# mine\n# kind: go\n{P}"))
        with pytest.raises(InputError, match="unknown kind of puzzle 'go'"):
            loaded(file(P), kind="go")

    def test_a_contradicting_kind_option_is_refused(self, file):
        with pytest.raises(
            FileError, match=r"some.txt:1: the file declares the kind killer, but --kind is sudoku; remove --kind"
        ):
            loaded(file(KILLER), kind="sudoku")

    def test_cage_faults_are_reported_with_their_line(self, file):
        content = f'{KILLER}\n{{"cages": [{{"cells": [[0, 9]], "sum": 3}}]}}\n  {{"cages": ]}}\n'

        assert faults(file(content)) == [
            "some.txt:2: cage 1: cell [0, 9] is outside the 9×9 grid, expected rows and columns from 0 to 8",
            "some.txt:3:13: invalid JSON: Expecting value",
        ]

    def test_a_cage_puzzle_of_another_kind_is_refused(self, file):
        other = KILLER.replace('"id"', '"kind": "kakuro", "id"')

        assert faults(file(f"{KILLER}\n{other}")) == ["some.txt:2: found kind 'kakuro', expected 'killer'"]


class TestText:
    """Decoding of bytes into lines."""

    @pytest.mark.parametrize(
        "content",
        [
            f"{P}\n{Q}\n",
            f"{P}\n{Q}",
            f"{P}\r\n{Q}\r\n",
            f"{P}\r{Q}\r",
            f"# header\n{P}\r\n{Q}\r\n\r\n\n",
            f"\ufeff{P}\n{Q}\n",
            f"\ufeff# header\r\n{P}\r\n{Q}",
            f"\n\n{P}\n\t\n{Q}\t\n",
        ],
        ids=["LF", "no newline at the end", "CR LF", "CR", "mixed", "BOM", "BOM and CR LF", "blank lines"],
    )
    def test_common_line_endings_are_accepted(self, file, content):
        assert texts(file(content)) == [P, Q]

    def test_other_line_separators_stay_in_labels(self, file):
        """`str.splitlines` would split lines at these characters."""
        label = "a\x85b\x0cc\u2028d\x1ce\x0bf"

        found = loaded(file(f"{P} {label}\n{Q}\n"))

        assert [(line, label) for _, _, line, label in found.rows] == [(1, label), (2, "")]

    @pytest.mark.parametrize("content", ["", "\n\n", "# nothing\n", "\ufeff", "  \t\n"])
    def test_a_file_without_puzzles_is_refused(self, file, content):
        with pytest.raises(InputError, match=r"some.txt contains no puzzle, expected at least one$"):
            loaded(file(content))

    @pytest.mark.parametrize(
        ("content", "expected"),
        [
            (f"{P}\r\n{Q} caf".encode() + b"\xe9\n", "some.txt:2:86: found byte 0xe9, expected UTF-8 text"),
            (b"\xef\xbb\xbf\xff", "some.txt:1:1: found byte 0xff, expected UTF-8 text"),
            ("größer".encode() + b"\xff", "some.txt:1:7: found byte 0xff, expected UTF-8 text"),
            (f"{P}\n".encode("utf-16"), "some.txt:1:1: found byte 0xff, expected UTF-8 text"),
            (b"\x89PNG\r\n\x1a\n", "some.txt:1:1: found byte 0x89, expected UTF-8 text"),
            (f"{P}\r\n{Q[:40]}\0{Q[41:]}\n", "some.txt:2:41: found a NUL character, expected text"),
        ],
        ids=["latin-1", "behind a BOM", "behind letters", "UTF-16", "a picture", "NUL"],
    )
    def test_invalid_text_is_reported_with_its_place(self, file, content, expected):
        assert faults(file(content)) == [expected]


class TestFaults:
    """A faulty file is not stored, and every fault is reported with its place."""

    @pytest.mark.parametrize(
        ("line", "expected"),
        [
            (P[:80], "2: found 80 characters, expected 81 (or 16, 256, 625, 1296)"),
            (P + ".", "2: found 82 characters, expected 81 (or 16, 256, 625, 1296)"),
            ("44" + P[2:], "2:2: 4 appears twice in row 1 (r1c1 and r1c2)"),
            ("." * 4 + "7" + "." * 71 + "7....", "2:77: 7 appears twice in column 5 (r1c5 and r9c5)"),
            ("." * 60 + "7" + "." * 19 + "7", "2:81: 7 appears twice in box 9 (r7c7 and r9c9)"),
            (P[:30] + "A" + P[31:], "2:31: found 'A', expected 1-9 or a blank (. * _ - or 0)"),
            (P[:30] + "²" + P[31:], "2:31: found '²', expected 1-9 or a blank (. * _ - or 0)"),
            (" \t" + P[:30] + "x" + P[31:], "2:33: found 'x', expected 1-9 or a blank (. * _ - or 0)"),
            ("2x3:" + "." * 35, "2: found 35 cells, expected 36 for boxes of 2x3"),
            ("2x3:" + "." * 35 + "7", "2:40: found '7', expected 1-6 or a blank (. * _ - or 0)"),
            ("." * 36, "2: found 36 characters, expected a box shape in front of a 6×6 grid (2x3: or 3x2:)"),
            ("quizzes,solutions", "2: found 7 characters, expected 81 (or 16, 256, 625, 1296)"),
            (";", "2:1: found ';', expected a puzzle"),
        ],
    )
    def test_faults_name_place_finding_and_expectation(self, file, line, expected):
        """A fault names its line and column, the value found, and the value expected."""
        assert faults(file(f"{P}\n{line}\n{Q}\n")) == [f"some.txt:{expected}"]

    @pytest.mark.parametrize(
        ("row", "cells", "expected"),
        [
            (4, "44.......", "8:3: 4 appears twice in row 5 (r5c1 and r5c2)"),
            (8, "........Z", "13:12: found 'Z', expected 1-9 or a blank (. * _ - or 0)"),
        ],
    )
    def test_grid_faults_have_their_place_in_the_file(self, file, row, cells, expected):
        rows = ["." * 9] * 9
        rows[row] = cells
        drawn = ["|" + "|".join((r[:3], r[3:6], r[6:])) + "|" for r in rows]
        rule = "+---+---+---+"
        content = ["# a label", rule, *drawn[:3], rule, *drawn[3:6], rule, *drawn[6:], rule]

        assert faults(file("\n".join(content))) == [f"some.txt:{expected}"]

    def test_ten_faults_are_shown_and_all_are_counted(self, file):
        content = "".join(f"{P[:80]}\n{Q}\n" for _ in range(13))

        found = faults(file(content))

        assert len(found) == 11
        assert found[9].startswith("some.txt:19: ")
        assert found[10] == "… and 3 more"

    def test_invalid_puzzles_are_skipped_on_request_and_reported(self, file):
        word = file(f"{P}\n{P[:80]}\n;\n{Q} kept\n")

        found = loaded(word, skip_invalid=True)

        assert [(text, line, label) for text, _, line, label in found.rows] == [(P, 1, ""), (Q, 4, "kept")]
        assert [fault.line for fault in found.faults] == [2, 3]

    def test_a_file_without_valid_puzzles_is_an_error(self, file):
        with pytest.raises(FileError, match="expected 81"):
            loaded(file(P[:80]), skip_invalid=True)

    def test_an_unknown_kind_or_format_is_reported(self, file):
        source = find_source(file(P))

        with pytest.raises(InputError, match="unknown kind of puzzle 'chess'"):
            load(source, "chess", None, skip_invalid=False)
        with pytest.raises(InputError, match="found the format 'pdf'"):
            load(source, "sudoku", "pdf", skip_invalid=False)


class TestSets:
    """Puzzles in the database."""

    def test_a_set_keeps_order_lines_and_labels(self, file, engine):
        """Each distinct puzzle is stored once."""
        found = loaded(file(f"# two\n{P} first\n{Q}\n{P.replace('.', '0')} again\n"))

        set_id = store_set(engine, found)

        assert entries(engine, set_id) == [(0, P, 2, "first"), (1, Q, 3, ""), (2, P, 4, "again")]
        assert (count(engine, StoredPuzzle), found.distinct) == (2, 2)

    def test_stored_fingerprints_match_the_puzzles(self, file, engine):
        from cagematch.problems.problem import Puzzle

        store_set(engine, loaded(file(P)))

        with reading(engine) as connection:
            assert connection.scalar(select(StoredPuzzle.fingerprint)) == Puzzle("sudoku", P).fingerprint

    def test_the_same_file_is_the_same_set(self, file, engine):
        word = file(f"{P}\n{Q}\n")

        assert store_set(engine, loaded(word)) == store_set(engine, loaded(word))
        assert (count(engine, PuzzleSet), count(engine, SetEntry)) == (1, 2)

    @pytest.mark.parametrize("other", [f"{Q}\n{P}\n", f"{P}\n{Q} label\n", f"{P}\n", f"{P}\n{Q}\n{Q}\n"])
    def test_changed_entries_create_another_set(self, file, engine, other):
        """Another order, label or selection creates another set of the same stored puzzles."""
        first = store_set(engine, loaded(file(f"{P}\n{Q}\n")))

        second = store_set(engine, loaded(file(other)))

        assert first != second
        assert count(engine, StoredPuzzle) == 2
        assert [text for _, text, _, _ in entries(engine, second)] == re.findall(r"[0-9.]{81}", other)

    def test_another_name_creates_another_set(self, file, engine):
        first = store_set(engine, loaded(file(P, "one.txt")))

        assert store_set(engine, loaded(file(P, "two.txt"))) != first

    def test_chunks_combine_new_known_and_repeated_puzzles(self, file, engine, monkeypatch):
        monkeypatch.setattr(loading, "CHUNK", 3)
        monkeypatch.setattr(loading, "ROWS_PER_STATEMENT", 2)
        monkeypatch.setattr(loading, "PUZZLES_PER_QUERY", 1)
        wanted = [f"{'.' * at}1{'.' * (80 - at)}" for at in (3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5)]
        store_set(engine, loaded(file("\n".join(wanted[4:7]), "before.txt")))
        reported: list[tuple[int, int]] = []

        set_id = store_set(engine, loaded(file("\n".join(wanted))), lambda *done: reported.append(done))

        assert [text for _, text, _, _ in entries(engine, set_id)] == wanted
        assert [position for position, _, _, _ in entries(engine, set_id)] == list(range(11))
        assert reported == [(3, 11), (6, 11), (9, 11), (11, 11)]
        assert count(engine, StoredPuzzle) == len(set(wanted))

    def test_a_set_becomes_ready_with_its_last_chunk(self, file, engine, monkeypatch):
        monkeypatch.setattr(loading, "CHUNK", 1)
        seen: list[bool] = []

        def sample(*_: int) -> None:
            with reading(engine) as connection:
                seen.extend(connection.scalars(select(PuzzleSet.ready)))

        store_set(engine, loaded(file(f"{P}\n{Q}\n")), sample)

        assert seen == [False, False]
        sample()
        assert seen[-1] is True

    def test_an_interrupted_load_can_be_repeated(self, file, engine):
        found = loaded(file(f"{P}\n{Q}\n"))

        def stop(*_: int) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            store_set(engine, found, stop)
        set_id = store_set(engine, found)

        assert [text for _, text, _, _ in entries(engine, set_id)] == [P, Q]

    def test_abandoned_loads_are_deleted_after_a_day(self, file, engine):
        found = loaded(file(P))
        abandoned, recent = (loading._begin(engine, found) for _ in range(2))
        with writing(engine) as connection:
            old = update(PuzzleSet).where(PuzzleSet.id == abandoned)
            connection.execute(old.values(created_at=PuzzleSet.created_at - 2 * loading.ABANDONED_S))

        set_id = store_set(engine, found)

        with reading(engine) as connection:
            assert sorted(connection.scalars(select(PuzzleSet.id))) == [recent, set_id]

    def test_concurrent_loads_keep_the_faster_one(self, file, engine):
        """Two concurrent loads of the same file create one set."""
        found = loaded(file(f"{P}\n{Q}\n"))
        others: list[int] = []

        def meanwhile(*_: int) -> None:
            if not others:
                others.append(0)  # the other load calls this as well
                others[0] = store_set(engine, found)

        set_id = store_set(engine, found, meanwhile)

        assert set_id == others[0]
        assert (count(engine, PuzzleSet), count(engine, SetEntry)) == (1, 2)
