"""Kinds: canonical texts, problems, solutions, drawings, and the messages for invalid texts."""

from __future__ import annotations

import doctest
import re

import pytest
from cases import cases

from cagematch.problems.errors import InputError, PuzzleError
from cagematch.problems.kinds import KINDS, _drawing, _regions, kind_named, sudoku
from cagematch.problems.kinds._shape import SYMBOLS, Shape, units
from cagematch.workers.sandbox.loop import WARM_UP

PLAIN = cases("small", "nine", "search", "large")
VARIANTS = cases("variants")
ALL = PLAIN + VARIANTS
JIGSAW = "J:" + "." * 16 + "aaabaXbbXXXbYYYY"
EMPTY = "." * 81
SOLVED = "974236158638591742125487936316754289742918563589362417867125394253649871491873625"


def fault(text: str) -> tuple[str, int | None]:
    with pytest.raises(PuzzleError) as caught:
        sudoku.parse(text)
    return str(caught.value), caught.value.offset


def with_symbols(text: str, symbols: dict[int, str]) -> str:
    return "".join(symbols.get(at, symbol) for at, symbol in enumerate(text))


def test_every_kind_follows_the_protocol():
    for module in KINDS.values():
        for name in ("parse", "problem", "render", "digits", "assignment", "name"):
            assert callable(getattr(module, name))


def test_an_unknown_kind_is_reported_with_known_kinds():
    with pytest.raises(InputError, match=r"'go'.*sudoku"):
        kind_named("go")


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
def test_a_canonical_text_is_its_own_canonical_text(case):
    text = sudoku.parse(case.puzzle)

    assert text == case.puzzle
    assert sudoku.parse(text) == text


@pytest.mark.parametrize("case", [case for case in ALL if case.solution], ids=lambda case: case.name)
def test_a_solution_survives_writing_and_reading(case):
    values = sudoku.assignment(case.puzzle, case.solution)

    assert sudoku.digits(case.puzzle, values) == case.solution
    assert sudoku.problem(case.puzzle).is_solution(values)


@pytest.mark.parametrize("case", [case for case in ALL if case.solution], ids=lambda case: case.name)
def test_a_solution_with_two_cells_exchanged_is_invalid(case):
    values = list(sudoku.assignment(case.puzzle, case.solution))
    values[0], values[1] = values[1], values[0]

    assert not sudoku.problem(case.puzzle).is_solution(values)


@pytest.mark.parametrize("blank", [".", "*", "_", "-", "0"])
def test_any_blank_becomes_a_dot(blank):
    assert sudoku.parse("1" + blank * 80) == "1" + "." * 80


def test_lower_case_letters_are_read_as_upper_case():
    assert sudoku.parse("1a" + "." * 254) == "1A" + "." * 254


def test_a_redundant_prefix_is_removed():
    """Any other prefix is kept in lower case."""
    assert sudoku.parse("3X3:" + EMPTY) == EMPTY
    assert sudoku.parse("2X3:" + "." * 36) == "2x3:" + "." * 36


def test_equal_shapes_share_their_rules():
    first, second = sudoku.problem(EMPTY), sudoku.problem("1" + EMPTY[1:])

    assert first.rules is second.rules
    assert first.rules is not sudoku.problem("2x3:" + "." * 36).rules


def test_cells_become_domains_and_units_become_constraints():
    problem = sudoku.problem("2x3:" + "1" + "." * 34 + "2")

    assert problem.rules.domains == ((1, 2, 3, 4, 5, 6),) * 36
    assert [c.role for c in problem.constraints] == ["row"] * 6 + ["column"] * 6 + ["box"] * 6
    assert problem.constraints[12].scope == (0, 1, 2, 6, 7, 8)
    assert problem.givens == ((0, 1), (35, 2))


@pytest.mark.parametrize(
    "shape", [Shape(2, 2), Shape(2, 3), Shape(3, 2), Shape(3, 5), Shape(1, 4), Shape(5, 5), Shape(6, 6)]
)
def test_a_repetition_requires_two_cells_of_one_unit(shape):
    """Equal clues are reported as a repetition exactly where their cells share a unit."""
    n = shape.n
    together = {(a, b) for _, cells in units(shape) for a in cells for b in cells if a < b}
    first = range(n * n) if n < 10 else (0, n + 1, n * n - n - 2)
    body = f"{shape.rows}x{shape.columns}:" + "." * n * n
    start = len(body) - n * n

    for value in (1, n // 2, n):
        for a in first:
            for b in range(a + 1, n * n):
                text = with_symbols(body, {start + a: SYMBOLS[value - 1], start + b: SYMBOLS[value - 1]})
                try:
                    sudoku.parse(text)
                except PuzzleError as error:
                    doubtful = "all clues are letters" in str(error)
                    assert doubtful or (a, b) in together
                else:
                    assert (a, b) not in together


@pytest.mark.parametrize("case", [case for case in ALL if case.solution], ids=lambda case: case.name)
def test_a_full_grid_without_repetition_is_accepted(case):
    cells = len(case.solution)
    before, _, after = re.fullmatch(rf"((?:\w+:)*)(.{{{cells}}})(\w*)", case.puzzle).groups()

    assert sudoku.parse(before + case.solution + after) == before + case.solution + after


@pytest.mark.parametrize("value", "123456789")
def test_a_grid_full_of_one_value_is_refused(value):
    message, offset = fault(value * 81)

    assert message == f"{value} appears twice in row 1 (r1c1 and r1c2)"
    assert offset == 1


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ((27, 35), ("7 appears twice in row 4 (r4c1 and r4c9)", 35)),
        ((4, 76), ("7 appears twice in column 5 (r1c5 and r9c5)", 76)),
        ((60, 80), ("7 appears twice in box 9 (r7c7 and r9c9)", 80)),
    ],
    ids=["row", "column", "box"],
)
def test_a_repeated_digit_is_reported_with_both_cells(cells, expected):
    """The message names the unit and both cells."""
    assert fault(with_symbols(EMPTY, dict.fromkeys(cells, "7"))) == expected


def test_the_offset_includes_the_box_shape_prefix():
    assert fault("2x3:11" + "." * 34) == ("1 appears twice in row 1 (r1c1 and r1c2)", 5)


@pytest.mark.parametrize("symbol", ["A", "a", "²", "٣", "?", "/", "é", "ı", "\u2028", "\x85", "\x0c", "\ud800", "€"])
def test_an_invalid_symbol_is_reported_with_its_offset(symbol):
    message, offset = fault(with_symbols(EMPTY, {40: symbol}))

    assert message == f"found {symbol!r}, expected 1-9 or a blank (. * _ - or 0)"
    assert offset == 40


def test_zero_is_no_blank_in_large_grids():
    message, offset = fault("1" + "." * 254 + "0")

    assert "found '0', expected 1-9 and A-G or a blank (. * _ or -); 0 is ambiguous" in message
    assert offset == 255


def test_zero_is_the_36th_value():
    text = "1" + "." * 1294 + "0"

    assert sudoku.problem(sudoku.parse(text)).givens == ((0, 1), (1295, 36))
    assert sudoku.digits(text, [36]) == "0"


def test_ambiguous_letters_are_refused():
    message, offset = fault("A" + "." * 255)

    assert message == "all clues are letters, so that A could be 1 or 10; write 16×16 grids with 1-9 and A-G"
    assert offset is None


@pytest.mark.parametrize(
    ("length", "expected"),
    [
        (0, "found 0 characters, expected 81 (or 16, 256, 625, 1296)"),
        (1, "found 1 character, expected 81 (or 16, 256, 625, 1296)"),
        (25, "found 25 characters, expected 81 (or 16, 256, 625, 1296)"),
        (80, "found 80 characters, expected 81 (or 16, 256, 625, 1296)"),
        (82, "found 82 characters, expected 81 (or 16, 256, 625, 1296)"),
        (36, "found 36 characters, expected a box shape in front of a 6×6 grid (2x3: or 3x2:)"),
        (
            144,
            "found 144 characters, expected a box shape in front of a 12×12 grid (2x6: or 3x4: or 4x3: or 6x2:)",
        ),
        (49 * 49, "found 2401 characters, expected 81 (or 16, 256, 625, 1296)"),
    ],
)
def test_an_invalid_length_is_reported_with_valid_lengths(length, expected):
    assert fault("." * length) == (expected, None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2x3:" + "." * 35, ("found 35 cells, expected 36 for boxes of 2x3", None)),
        ("9x9:" + "." * 81, ("boxes of 9x9 have 81 values, expected at most 36", 0)),
    ],
)
def test_a_wrong_box_shape_is_reported(text, expected):
    assert fault(text) == expected


def test_an_object_is_reported_with_the_expected_form():
    message, offset = fault('{"grid": 1}')

    assert message.startswith(
        'found an object, expected the cells as a string; in JSON lines, write {"puzzle": "53..7…"}'
    )
    assert offset == 0


@pytest.mark.parametrize("case", [case for case in VARIANTS if case.solution], ids=lambda case: case.name)
def test_a_variant_drawing_has_the_cells_in_order(case):
    drawn = sudoku.render(case.puzzle, sudoku.assignment(case.puzzle, case.solution))

    grid = "\n".join(line for line in drawn.splitlines() if "every value" not in line)
    assert re.sub(r"[^0-9A-Z]", "", grid) == case.solution
    assert len({len(line) for line in grid.splitlines()}) == 1


def test_options_add_their_units():
    def added(prefix: str) -> list[tuple[str, tuple[int, ...]]]:
        return [(c.role, c.scope) for c in sudoku.problem(prefix + EMPTY).constraints[27:]]

    assert added("X:") == [("diagonal", tuple(range(0, 81, 10))), ("diagonal", tuple(range(8, 73, 8)))]
    assert added("C:") == [("centre", (10, 13, 16, 37, 40, 43, 64, 67, 70))]
    assert [role for role, _ in added("W:")] == ["window"] * 4
    assert added("W:")[0][1] == (10, 11, 12, 19, 20, 21, 28, 29, 30)
    assert added("W:")[3][1] == (50, 51, 52, 59, 60, 61, 68, 69, 70)


def test_options_have_one_order_in_the_canonical_text():
    expected = "X:C:3x5:" + "1" + "." * 224

    for text in ("3x5:X:C:", "c:3X5:x:", "C:X:3x5:"):
        assert sudoku.parse(text + expected[8:]) == expected


def test_regions_are_renamed_in_order_of_appearance():
    """Regions are renamed in order of appearance, and replace the boxes."""
    text = sudoku.parse(JIGSAW)

    assert text == "J:" + "." * 16 + "AAABACBBCCCBDDDD"
    assert [c.role for c in sudoku.problem(text).constraints] == ["row"] * 4 + ["column"] * 4 + ["region"] * 4
    assert sudoku.problem(text).constraints[8].scope == (0, 1, 2, 4)


def test_a_jigsaw_of_boxes_becomes_an_ordinary_puzzle():
    """A jigsaw whose regions are boxes has the canonical text of the puzzle with these boxes."""
    cells = "1" + "." * 35

    assert sudoku.parse(f"J:{cells}" + "aaabbb" * 2 + "cccddd" * 2 + "eeefff" * 2) == f"2x3:{cells}"
    assert sudoku.parse("X:J:1..............." + "aabb" * 2 + "ccdd" * 2) == "X:1..............."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("X:" + with_symbols(EMPTY, {0: "5", 80: "5"}), ("5 appears twice in diagonal 1 (r1c1 and r9c9)", 82)),
        ("W:" + with_symbols(EMPTY, {14: "5", 34: "5"}), ("5 appears twice in window 2 (r2c6 and r4c8)", 36)),
        ("C:" + with_symbols(EMPTY, {10: "5", 70: "5"}), ("5 appears twice in centre 1 (r2c2 and r8c8)", 72)),
        ("J:.1..1..........." + JIGSAW[16:], ("found 34 characters after J:", None)),
        ("J:.2..2..........." + JIGSAW[18:], ("2 appears twice in region 1 (r1c2 and r2c1)", 6)),
        (JIGSAW[:-1] + "X", ("region 'X' has 5 cells, expected 4", 23)),
        ("X:x:" + EMPTY, ("found x: twice in the prefix, expected it once", 2)),
        ("2x3:3x2:" + "." * 36, ("found 3x2: twice in the prefix, expected it once", 4)),
        ("2x2:" + JIGSAW, ("found box shape 2x2: in a jigsaw (J:), expected regions only", 0)),
        ("W:2x3:" + "." * 36, ("found prefix 'W:2x3:', expected square boxes for windows (W:)", 0)),
        ("W:" + JIGSAW, ("found prefix 'W:J:', expected square boxes", 0)),
        ("C:" + "." * 16, ("found prefix 'C:', expected boxes with a centre cell for centre dots (C:)", 0)),
        ("X:" + "." * 36, ("found 36 characters, expected a box shape in front of a 6×6 grid (2x3: or 3x2:)", None)),
    ],
)
def test_a_fault_in_a_variant_is_reported(text, expected):
    message, offset = fault(text)

    assert (message.startswith(expected[0]), offset) == (True, expected[1]), message


def test_cells_are_named_by_row_and_column():
    assert sudoku.name(EMPTY, 0) == "r1c1"
    assert sudoku.name(EMPTY, 80) == "r9c9"
    assert sudoku.name("2x3:" + "." * 36, 35) == "r6c6"


def test_invalid_values_are_written_as_question_marks():
    assert sudoku.digits(EMPTY, [1, 0, 37, -1]) == "1???"
    assert sudoku.assignment(EMPTY, "1?") == (1, 0)


@pytest.mark.parametrize("module", [sudoku, _regions, _drawing], ids=lambda module: module.__name__)
def test_docstring_examples_match_the_output(module):
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize("case", PLAIN, ids=lambda case: case.name)
def test_a_drawing_has_all_cells_in_order(case):
    """All lines of the drawing have the same width."""
    drawn = sudoku.render(case.puzzle)

    assert re.sub(r"[^0-9A-Z.]", "", drawn) == case.puzzle.rpartition(":")[2]
    assert len({len(line) for line in drawn.splitlines()}) == 1


def test_a_solution_replaces_the_clues_in_drawings():
    drawn = sudoku.render(EMPTY, sudoku.assignment(EMPTY, SOLVED))

    assert re.sub(r"[^0-9]", "", drawn) == SOLVED


def test_the_warm_up_is_a_puzzle():
    kind, text = WARM_UP

    assert KINDS[kind].parse(text) == text
