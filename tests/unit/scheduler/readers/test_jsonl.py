"""JSON lines, and the declared kind in files of any format."""

from __future__ import annotations

import pytest

from cagematch.scheduler.readers import READERS, grid, jsonl, lines, reader_for
from cagematch.scheduler.readers.entries import DeclaredKind, Misread, PuzzleEntry

CAGES = '{"cages": [], "id": "one"}'


def test_objects_after_comments_are_recognised():
    assert reader_for(["# some", "", "  " + CAGES], None) is jsonl
    assert reader_for(["[1]"], None) is not jsonl
    assert not jsonl.recognises([])


def test_an_object_has_a_place_and_label():
    content = ["# a comment", "  " + CAGES + "  ", "", '{"label": 7, "id": "no"}', "{}"]

    assert list(jsonl.read(content)) == [
        PuzzleEntry(2, 3, CAGES, "one"),
        PuzzleEntry(4, 1, '{"label": 7, "id": "no"}', "7"),
        PuzzleEntry(5, 1, "{}", ""),
    ]


def test_an_object_may_contain_a_puzzle_text():
    content = [
        '  {"id": "1..2", "puzzle": "1..2", "label": null}',
        '{"kind": "latin", "puzzle": "3\\u002e.4"}',
        '{"puzzle": "no. 17", "cages": []}',
        '{"puzzle": null}',
    ]

    assert list(jsonl.read(content)) == [
        PuzzleEntry(1, 29, "1..2", "1..2"),
        PuzzleEntry(2, 1, "3..4", "", ((2, 1),) * 4, "latin"),
        PuzzleEntry(3, 1, content[2], ""),
        Misread(4, None, '"puzzle" is null, expected a string'),
    ]


def test_other_json_is_reported_with_its_place():
    content = ['{"cages": [,]}', "  [1, 2]", '{"a": 1} x', "{" + "1" * 9]

    assert list(jsonl.read(content)) == [
        Misread(1, 12, "invalid JSON: Expecting value"),
        Misread(2, 3, "found '[1, 2]', expected a JSON object"),
        Misread(3, 10, "invalid JSON: Extra data"),
        Misread(4, 2, "invalid JSON: Expecting property name enclosed in double quotes"),
    ]


@pytest.mark.parametrize("line", ["1" * 5_000, "[" * 100_000])
def test_unparsable_json_is_reported_without_a_column(line):
    (found,) = jsonl.read([line])

    assert (found.line, found.column) == (1, None)
    assert "a number is too long, or the nesting is too deep" in found.message


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ([CAGES], DeclaredKind(1, "killer")),
        (["# x", "", '{"kind": "sudoku", "cages": []}'], DeclaredKind(3, "sudoku")),
        (["# kind: queens", CAGES], DeclaredKind(1, "queens")),
        (["nonsense", CAGES], DeclaredKind(2, "killer")),
        (["{}", CAGES], None),
        (["{", "[]"], None),
    ],
)
def test_an_object_declares_its_kind(content, expected):
    assert jsonl.kind(content) == expected


@pytest.mark.parametrize("reader", [lines, grid, jsonl])
@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (["# kind: queens", "8"], DeclaredKind(1, "queens")),
        (["", "# of mine", "#Kind:  latin  ", "8"], DeclaredKind(3, "latin")),
        (["8", "# kind: queens"], None),
        (["# kind: two words"], None),
        (["# kinds: queens"], None),
        ([], None),
    ],
)
def test_a_leading_comment_declares_the_kind(reader, content, expected):
    assert reader.kind(content) == expected


def test_the_kind_comment_is_not_a_label():
    rows = ["12..", "....", "....", "...."]

    assert [entry.label for entry in grid.read(["# mine", "# kind: sudoku", *rows])] == ["mine"]


@pytest.mark.parametrize("name", READERS)
def test_every_reader_finds_the_declared_kind(name):
    assert READERS[name].kind(["# kind: queens"]) == DeclaredKind(1, "queens")
