"""Readers: puzzles, labels and places from the formats of real files."""

from __future__ import annotations

import pytest
from cases import cases

from cagematch.problems.errors import InputError
from cagematch.problems.kinds import sudoku
from cagematch.scheduler.readers import READERS, grid, lines, reader_for
from cagematch.scheduler.readers.entries import Misread, PuzzleEntry

P = "..3.2.6..9..3.5..1..18.64....81.29..7.......8..67.82....26.95..8..2.3..9..5.1.3.."
ROWS = [P[at : at + 9] for at in range(0, 81, 9)]
SHAPED = cases("small", "nine", "large")


def read(text: str, form: str | None = None) -> list[PuzzleEntry | Misread]:
    content = text.split("\n")
    return list(reader_for(content, form).read(content))


def read_one(text: str) -> PuzzleEntry:
    (entry,) = read(text)
    assert isinstance(entry, PuzzleEntry), entry
    return entry


def bordered(top: str, middle: str, side: str, rows: list[str] = ROWS) -> str:
    def row(cells: str) -> str:
        return side + side.join((cells[:3], cells[3:6], cells[6:])) + side

    bands = [[row(cells) for cells in rows[at : at + 3]] for at in (0, 3, 6)]
    return "\n".join([top, *bands[0], middle, *bands[1], middle, *bands[2], top])


def test_an_unknown_format_is_reported_with_known_formats():
    with pytest.raises(InputError, match=r"'pdf'.*grid, lines"):
        reader_for([P], "pdf")


@pytest.mark.parametrize("name", READERS)
def test_a_given_format_overrides_detection(name):
    assert reader_for([P], name) is READERS[name]


@pytest.mark.parametrize("content", [[], [""], ["# a comment"], ["\t", ""]])
def test_a_file_without_puzzles_has_no_entries(content):
    assert list(reader_for(content, None).read(content)) == []


class TestLines:
    """One puzzle per line."""

    @pytest.mark.parametrize(
        ("line", "label"),
        [
            (P, ""),
            (P + "  ", ""),
            (P + "\t\t", ""),
            ("  " + P, ""),
            (P + "  # a comment", "a comment"),
            (P + " // paper, 2005-11-02 - hard", "paper, 2005-11-02 - hard"),
            (P + ",4832", "4832"),
            (P + ";second;third", "second;third"),
            (P + ":1:9213", "1:9213"),
            (P + "\t7.1\tAI escargot", "7.1\tAI escargot"),
            (P + " |x|", "x|"),
            (P + " see https://example.org/a/", "see https://example.org/a/"),
            (P + "  größer\x85kleiner\x0cgleich", "größer\x85kleiner\x0cgleich"),
            (P + " \x85", ""),
        ],
    )
    def test_text_after_a_puzzle_is_its_label(self, line, label):
        entry = read_one(line)

        assert (entry.text, entry.label) == (P, label)

    def test_comments_and_blank_lines_are_skipped_but_counted(self):
        found = read(f"# first\n\n{P}\n   \n  # more\n{P} x\n\n")

        assert [(entry.line, entry.label) for entry in found] == [(3, ""), (6, "x")]

    def test_places_count_from_the_start_of_lines(self):
        entry = read_one(f"\t  {P}")

        assert entry.place(0) == (1, 4)
        assert entry.place(80) == (1, 84)
        assert entry.place(None) == (1, None)

    def test_a_box_shape_belongs_to_the_puzzle(self):
        entry = read_one("2x3:" + "." * 36 + " small")

        assert (entry.text, entry.label) == ("2x3:" + "." * 36, "small")
        assert entry.place(4) == (1, 5)

    @pytest.mark.parametrize("line", [", 1", "  ;x", "/ nothing", ":", "|||"])
    def test_a_line_without_a_puzzle_is_reported(self, line):
        (fault,) = lines.read(["", line])

        assert isinstance(fault, Misread)
        assert (fault.line, fault.column) == (2, len(line) - len(line.lstrip()) + 1)
        assert fault.message == f"found {line.strip()!r}, expected a puzzle"

    @pytest.mark.parametrize("blank", [".", "0", "*", "_", "-"])
    def test_any_blank_fills_a_line(self, blank):
        content = [blank * 81, P.replace(".", blank)]

        found = list(reader_for(content, None).read(content))

        assert [entry.text for entry in found] == content

    @pytest.mark.parametrize("size", [16, 81, 256, 625])
    def test_a_line_may_have_any_grid_size(self, size):
        assert read_one("1" + "." * (size - 1)).text == "1" + "." * (size - 1)

    def test_many_small_puzzles_are_not_a_grid(self):
        content = [case.puzzle for case in cases("small")[:3]] * 7

        assert len(read("\n".join(content))) == 21


class TestGrids:
    """One row per line."""

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("\n".join(ROWS), id="rows"),
            pytest.param("\n".join("\t" + " ".join(row) + " " for row in ROWS), id="spaced"),
            pytest.param("\n".join(ROWS) + "\n\n\n", id="blank lines behind"),
            pytest.param("\n\n" + "\n".join(ROWS), id="blank lines before"),
            pytest.param(bordered("+---+---+---+", "+---+---+---+", "|"), id="plus"),
            pytest.param(bordered("*-----------*", "|---+---+---|", "|"), id="stars"),
            pytest.param(bordered("-----------", "-----------", "|"), id="dashes"),
            pytest.param(bordered("───────────", "───┼───┼───", "│"), id="box drawing"),
            pytest.param(bordered("╔═══╦═══╗", "╠═══╬═══╣", "║"), id="double"),
            pytest.param(bordered("=============", "=============", "!"), id="equals"),
            pytest.param("\n".join([*ROWS[:3], "---+---+---", *ROWS[3:6], "---+---+---", *ROWS[6:]]), id="rules only"),
            pytest.param("\n".join([*ROWS[:3], "---------", *ROWS[3:6], "---------", *ROWS[6:]]), id="rules as wide"),
        ],
    )
    def test_grids_with_or_without_borders_are_read(self, text):
        assert read_one(text).text == P

    @pytest.mark.parametrize("blank", ["-", "*", "_", "0"])
    @pytest.mark.parametrize("empty", [0, 4, 8])
    def test_a_row_of_blanks_is_not_a_border(self, blank, empty):
        """Some symbols for blanks are also symbols of borders."""
        rows = [row.replace(".", blank) for row in ROWS]
        rows[empty] = blank * 9

        for text in ("\n".join(rows), bordered("+---+---+---+", "+---+---+---+", "|", rows)):
            assert read_one(text).text == "".join(rows)

    def test_a_border_of_another_grid_width_is_recognised(self):
        rows = [" ".join(row.replace(".", "-")) for row in ROWS]
        text = "\n".join(["-" * 25, *(f"| {row} |" for row in rows), "-" * 25])

        assert read_one(text).text == P.replace(".", "-")

    def test_grids_need_no_blank_lines_between_them(self):
        found = read("\n".join(ROWS * 2 + [""] + ROWS))

        assert [entry.text for entry in found] == [P] * 3
        assert [entry.line for entry in found] == [1, 10, 20]

    def test_a_comment_above_a_grid_is_its_label(self):
        found = read("\n".join(["# one", "#  two ", *ROWS, "", *ROWS]))

        assert [entry.label for entry in found] == ["two ".strip(), ""]

    @pytest.mark.parametrize("case", [case for case in SHAPED if "x" in case.puzzle], ids=lambda case: case.name)
    def test_a_line_above_gives_the_box_shape(self, case):
        shape, _, body = case.puzzle.partition(":")
        n = int(len(body) ** 0.5)
        rows = [body[at : at + n] for at in range(0, n * n, n)]

        entry = read_one("\n".join([f" {shape}: ", *rows]))

        assert entry.text == case.puzzle
        assert entry.place(0) == (2, 1)
        assert entry.place(len(shape) + 1 + n) == (3, 1)

    @pytest.mark.parametrize("case", SHAPED, ids=lambda case: case.name)
    def test_rendered_grids_can_be_read(self, case):
        shape, colon, _ = case.puzzle.rpartition(":")

        entry = read_one("\n".join([shape + colon, sudoku.render(case.puzzle)]))

        assert sudoku.parse(entry.text) == case.puzzle

    def test_places_account_for_borders(self):
        entry = read_one(bordered("+---+---+---+", "+---+---+---+", "|"))

        assert entry.place(0) == (2, 2)
        assert entry.place(80) == (12, 12)
        assert entry.place(None) == (2, None)

    @pytest.mark.parametrize(
        ("rows", "expected"),
        [
            ([*ROWS[:4], ROWS[4] + ".", *ROWS[5:]], (5, 10, "10 cells, expected 9 as in line 1")),
            ([*ROWS[:4], ROWS[4][:8], *ROWS[5:]], (5, None, "8 cells, expected 9 as in line 1")),
            (ROWS[:8], (1, None, "8 rows in a grid 9 cells wide, expected 9")),
        ],
        ids=["long row", "short row", "too few rows"],
    )
    def test_a_faulty_grid_has_one_fault(self, rows, expected):
        """The next grid is read."""
        fault, entry = read("\n".join([*rows, "", *ROWS]))

        assert fault == Misread(*expected)
        assert entry.text == P

    def test_a_faulty_row_does_not_shift_later_grids(self):
        fault, entry = read("\n".join([*ROWS[:4], "short", *ROWS[5:], *ROWS]))

        assert fault.message == "5 cells, expected 9 as in line 1"
        assert entry.text == P

    @pytest.mark.parametrize("between", ["", "# next", "3x3:"])
    def test_an_unfinished_grid_ends_at_another_element(self, between):
        fault, entry = read("\n".join([*ROWS[:7], between, *ROWS]))

        assert fault.message == "7 rows in a grid 9 cells wide, expected 9"
        assert entry.text.endswith(P)

    def test_a_heading_is_reported_and_skipped(self):
        found = read("\n".join(["Grid 01", *ROWS, "Grid 02", *ROWS]), "grid")

        assert [type(one) for one in found] == [Misread, PuzzleEntry, Misread, PuzzleEntry]
        assert found[0].message == "found 'Grid 01', expected a row of a grid; start labels with #"

    @pytest.mark.parametrize("width", [1, 5, 7, 11, 40])
    def test_an_invalid_grid_width_is_reported(self, width):
        fault = next(grid.read(["." * width] * width))

        assert fault.message == f"{width} cells in the first row of a grid, expected 9 (or 4, 6, 16, 25 …)"

    def test_rows_of_16_are_recognised_by_their_values(self):
        case = next(case for case in cases("large") if len(case.puzzle) == 256)
        rows = [case.puzzle[at : at + 16] for at in range(0, 256, 16)]
        ruled = [*rows[:4], "-" * 19, *rows[4:]]

        assert read_one("\n".join(rows)).text == case.puzzle
        assert read_one("\n".join(ruled)).text == case.puzzle
