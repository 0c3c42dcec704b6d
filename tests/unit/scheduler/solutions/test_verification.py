"""Verification: the solutions in files, their correctness, and the reasons why others are wrong."""

from __future__ import annotations

import doctest
import json
import random
from pathlib import Path

import pytest
from cases import cases_of

from cagematch.problems import wording
from cagematch.problems.constraints import AllDifferent, AllowedSets, Less, NotEqual, Sum
from cagematch.problems.errors import FileError, InputError
from cagematch.problems.kinds import KINDS
from cagematch.scheduler.readers.source import find_source
from cagematch.scheduler.solutions.claims import Claims, load
from cagematch.scheduler.solutions.verification import (
    Judgement,
    Response,
    description,
    judgements,
    require_handled,
    summary,
)
from cagematch.workers.configurations import configuration

P = "..3.2.6..9..3.5..1..18.64....81.29..7.......8..67.82....26.95..8..2.3..9..5.1.3.."
S = "483921657967345821251876493548132976729564138136798245372689514814253769695417382"
ROWS = [S[at : at + 9] for at in range(0, 81, 9)]
SMALL = '{"cages":[{"cells":[[0,0],[0,1]],"sum":3}],"grid":"................"}'
SMALL_S = "1234341221434321"
CAGES = {"cages": [{"cells": [[0, 0], [0, 1]], "sum": 3}], "n": 4}
# Boxes are broken, rows and columns are not.
SHIFTED = "".join("123456789"[at:] + "123456789"[:at] for at in range(9))


@pytest.fixture
def claims(tmp_path):
    """Return the claims of a file with this content."""

    def read(content: str, kind: str | None = None) -> Claims:
        (tmp_path / "file").write_text(content)
        return load(find_source(str(tmp_path / "file")), kind)

    return read


@pytest.fixture
def judged(claims):
    def judge(content: str, kind: str | None = None, by: str | None = None) -> list[Judgement]:
        return list(judgements(claims(content, kind), configuration(by) if by else None))

    return judge


@pytest.fixture
def reasons(judged):
    """Return the reasons why the only solution of a file is wrong."""

    def why(content: str, kind: str | None = None) -> list[str]:
        (found,) = judged(content, kind)
        return found.reasons

    return why


class TestWords:
    """Violations as text."""

    @pytest.mark.parametrize(
        ("constraint", "expected"),
        [
            (AllDifferent((0, 1, 2, 3), "row"), "row: a and c are both 5"),
            (AllDifferent((0, 2, 4, 1, 5), "row"), "row: a, c and e are all 5; b and f are both 7"),
            (NotEqual((0, 2), "line"), "line: a and c are both 5"),
            (Sum((0, 1), 9, "cage"), "cage a b: the sum is 12, expected 9"),
            (Less((1, 0), "sign"), "sign: b is 7, expected less than a, which is 5"),
            (AllowedSets((0, 1), ((1, 2),), "cage"), "cage a b: the values 5, 7 are not an allowed combination"),
            (Sum((3,) * 11, 9, "run"), "run d d d d d d d d d …: the sum is 11, expected 9"),
        ],
    )
    def test_violations_name_place_values_and_expectation(self, constraint, expected):
        assert wording.violation(constraint, [5, 7, 5, 1, 5, 7], "abcdef".__getitem__) == expected

    def test_docstring_examples_match_the_output(self):
        assert doctest.testmod(wording).failed == 0

    def test_messages_use_the_names_of_the_kind(self, reasons):
        assert reasons(f"{SMALL}:1:2134341221434321", "killer") == [
            "column: r1c1 and r3c1 are both 2",
            "column: r1c2 and r3c2 are both 1",
        ]
        assert reasons(f"{SMALL}:1:3412123421434321", "killer") == ["cage r1c1 r1c2: the sum is 7, expected 3"]
        assert reasons("8 1.5.8.6.3.7.4.2", "queens") == [
            "diagonal: r3 rising and r7 rising are both 6; r4 rising and r8 rising are both 7"
        ]
        assert "sign: r1c1 is 1, expected less than r2c1, which is 3" not in reasons(
            ".^.<......<. 321231312", "futoshiki"
        )
        assert "across r2c2 r2c3: the sum is 4, expected 3" in reasons(r"3x3:x(4\)(6\)(\3)..(\7).. 3124", "kakuro")

    def test_a_changed_clue_is_reported(self, reasons):
        assert reasons(f"{P} {S.replace('3', 'x').replace('4', '3').replace('x', '4')}")[0] == (
            "r1c3 is 4, but the puzzle gives 3"
        )

    @pytest.mark.parametrize(
        ("solution", "expected"),
        [
            (S[:-1], "the solution has 80 characters, expected 81"),
            (S + "11", "the solution has 83 characters, expected 81"),
            ("x" + S[1:], "r1c1 is 'x', expected one of 1, 2, 3, 4, 5, 6, 7, 8, 9"),
            (S[:80] + "0", "r9c9 is '0', expected one of 1, 2, 3, 4, 5, 6, 7, 8, 9"),
            (S[:9] + "." + S[10:], "r2c1 is '.', expected one of 1, 2, 3, 4, 5, 6, 7, 8, 9"),
            (S[:9] + "²" + S[10:], "r2c1 is '²', expected one of 1, 2, 3, 4, 5, 6, 7, 8, 9"),
        ],
    )
    def test_malformed_solutions_are_reported_first(self, reasons, solution, expected):
        assert reasons(f"{P},{solution}") == [expected]

    @pytest.mark.parametrize(
        ("solution", "expected"),
        [
            ("1.5.8.6.3.7.2", "the solution ends before r8"),
            ("1.5.8.6.3.7.2.4.4", "'1.5.8.6.3.7.2.4.4' has more values than the puzzle, expected one per cell"),
            ("1.5.8.6.3.7.2.x", "'1.5.8.6.3.7.2.x' is not a solution of the kind queens"),
            ("1.5.8.6.3.7.2.9", "r8 is 9, not one of 1, 2, 3, 4, 5, 6, 7, 8"),
        ],
    )
    def test_invalid_queens_are_reported(self, reasons, solution, expected):
        assert reasons(f"8,{solution}", "queens")[0] == expected


class TestClaims:
    """The forms of files."""

    @pytest.mark.parametrize(
        "content",
        [
            f"{P} {S}",
            f"{P},{S}",
            f"{P};{S}",
            f"{P}:{S}",
            f"{P}:1:{S}",
            f"{P}\t{S}\ta label",
            f"# a comment\n\n{P} {S} # a comment",
            f"quizzes,solutions\n{P},{S}\n",
            f"id;Puzzle;clues;Solution\n7;{P};30;{S}\n",
            f'"puzzle"\t"solution"\n"{P}"\t"{S}"\n\n',
            json.dumps({"puzzle": P, "solution": S}),
            json.dumps({"kind": "sudoku", "puzzle": P, "solution": ROWS}),
            json.dumps({"puzzle": P, "solution": [list(map(int, row)) for row in ROWS]}),
            json.dumps({"puzzle": P, "solution": [" ".join(row) for row in ROWS]}),
            json.dumps({"puzzle": P, "solution": list(map(int, S))}),
            json.dumps({"puzzle": P, "solution": int(S)}),
        ],
    )
    def test_every_solution_format_is_read(self, judged, content):
        (judgement,) = judged(content)

        assert judgement.correct, judgement.reasons

    @pytest.mark.parametrize(
        "solution", [SMALL_S, ["1234", "3412", "2143", "4321"], [[1, 2, 3, 4], [3, 4, 1, 2], 2143, "4321"]]
    )
    def test_an_object_may_be_the_puzzle_itself(self, judged, solution):
        (judgement,) = judged(json.dumps(CAGES | {"id": "one", "solution": solution}))

        assert judgement.correct, judgement.reasons
        assert (judgement.claim.kind, judgement.claim.label) == ("killer", "one")

    def test_queens_may_be_given_as_a_list(self, judged):
        lists = ([2, 4, 1, 3], ["3", "1", "4", "2"], "2.4.1.3", [2, 1, 4, 3])
        lines = [json.dumps({"kind": "queens", "puzzle": "4", "solution": given}) for given in lists]

        assert [judgement.correct for judgement in judged("\n".join(lines))] == [True, True, True, False]

    def test_values_above_nine_are_letters_or_numbers(self, judged):
        """Letters may be upper or lower case."""
        case = next(case for case in cases_of("sudoku") if len(case.puzzle) == 256)
        numbers = list(KINDS["sudoku"].assignment(case.puzzle, case.solution))
        given = (case.solution, case.solution.lower(), numbers, list(map(str, numbers)))
        lines = [json.dumps({"puzzle": case.puzzle, "solution": solution}) for solution in given]

        assert all(judgement.correct for judgement in judged("\n".join(lines)))

    @pytest.mark.parametrize("kind", KINDS)
    def test_exchanging_two_values_makes_solutions_wrong(self, judged, kind):
        """Every solution of the test data is correct, and wrong after two values are exchanged."""
        pairs = [(case.puzzle, case.solution) for case in cases_of(kind) if case.solution and len(case.solution) > 3]
        rng = random.Random(1)
        changed = []
        for puzzle, solution in pairs:
            one, other = rng.choice([(i, j) for i, a in enumerate(solution) for j, b in enumerate(solution) if a != b])
            cells = list(solution)
            cells[one], cells[other] = cells[other], cells[one]
            changed.append((puzzle, "".join(cells)))

        found = [judged("\n".join(f"{puzzle}:1:{s}" for puzzle, s in some), kind) for some in (pairs, changed) if some]

        assert all(judgement.correct for judgement in (found[0] if found else []))
        assert not any(judgement.correct for judgement in (found[1] if found else []))

    def test_puzzles_without_a_solution_are_counted(self, claims):
        found = claims(f"{P}\n{P} # a comment\n{P}:17\n{P}:2:\n11{P[2:]}:0\n{P} {S}\n")

        assert (found.without, [claim.line for claim in found.found]) == (5, [6])

    def test_a_number_of_full_length_is_a_solution(self, claims):
        found = claims("....:1221\n....:2\n", "latin")

        assert (found.without, [claim.solution for claim in found.found]) == (1, [("1221",)])

    def test_exported_csv_files_are_read(self, claims):
        """An export has several kinds, cells with several lines, and rows without a solution."""
        heading = "kind,puzzle,label,solution,detail\n"
        rows = [f'sudoku,{P},,,"Traceback:\n  it broke\n"', f"sudoku,{P},seven,{S},", "queens,4,,2.4.1.3,", ",,,,"]

        found = claims(heading + "\n".join(rows) + "\n")

        assert found.without == 1
        assert [(claim.line, claim.kind, claim.label) for claim in found.found] == [
            (5, "sudoku", "seven"),
            (6, "queens", ""),
        ]

    def test_a_solution_may_follow_a_json_object(self, judged):
        assert judged(json.dumps({"puzzle": P}) + f" {S}")[0].correct

    def test_whitespace_around_an_object_is_ignored(self, judged):
        assert judged("\u2003" + json.dumps({"puzzle": P, "solution": S}) + "\u00a0")[0].correct

    @pytest.mark.parametrize(("task", "right"), [("repair", True), ("solve", False)])
    def test_only_a_repair_may_change_clues(self, judged, task, right):
        """A repair must obey the rules."""
        swapped = S.translate(str.maketrans("34", "43"))
        line = json.dumps({"puzzle": P, "task": task, "solution": swapped})

        for content in (line, f"puzzle,task,solution\n{P},{task},{swapped}\n"):
            assert [judgement.correct for judgement in judged(content)] == [right]
        assert not judged(line.replace(swapped, SHIFTED))[0].correct

    @pytest.mark.parametrize(
        ("content", "kind", "expected"),
        [
            (f"{P} {S}\n11{P[2:]} {S}", None, r"file:2:2: 1 appears twice in row 1"),
            (f"puzzle,solution\n{P[:80]},{S}", None, r"file:2: found 80 characters, expected 81"),
            (f"puzzle,clues\n{P},30", None, "file:1: found the columns puzzle, clues, expected a column solution"),
            (f"solution,puzzle\n{S}\n", None, "file:2: found 1 cells and no puzzle, expected 2"),
            (f'puzzle,solution\n{P},{S}\n"{P},{S}\n{P},{S}\n', None, "file:3: invalid table row"),
            ('{"puzzle": 5, "solution": "1"}', None, 'file:1: "puzzle" is 5, expected a string'),
            (
                json.dumps({"puzzle": P, "solution": {"a": 1}}),
                None,
                'file:1: "solution" is {.*}, expected a string, rows',
            ),
            (json.dumps({"puzzle": P, "solution": [1, None]}), None, "expected a string, rows or values"),
            ('{"puzzle": "1", "solution"}', None, "file:1:27: invalid JSON"),
            (json.dumps({"kind": "chess", "puzzle": P, "solution": S}), None, "unknown kind of puzzle 'chess'"),
            (
                json.dumps({"kind": "queens", "puzzle": "1", "solution": "1"}),
                "latin",
                "of kind queens, but --kind is latin",
            ),
            (f"# kind: queens\n{P} {S}", "sudoku", "of kind queens, but --kind is sudoku"),
        ],
    )
    def test_a_faulty_file_is_refused_with_its_place(self, claims, content, kind, expected):
        with pytest.raises(FileError, match=expected):
            claims(content, kind)

    def test_ten_faults_are_shown_and_the_rest_counted(self, claims):
        with pytest.raises(FileError, match="and 3 more"):
            claims(f"{P[1:]} {S}\n" * 13)

    @pytest.mark.parametrize("content", ["", "# nothing\n", f"{P}\n{P}:1\n", "puzzle,solution\n"])
    def test_a_file_without_any_solution_is_refused(self, claims, content):
        with pytest.raises(InputError, match="no solution, expected"):
            claims(content)


class TestSolvers:
    """Verification by the rules and by a solver."""

    @pytest.mark.parametrize("by", ["propagation", "backtracking"])
    def test_a_solver_accepts_only_correct_solutions(self, judged, by):
        content = f"{P} {S}\n{'.' * 81} {SHIFTED}\n{P} {SHIFTED}\n{P} {S[1:]}\n"

        found = judged(content, None, by)

        assert [judgement.response for judgement in found] == [
            Response.ACCEPTS,
            Response.REJECTS,
            Response.NOT_ASKED,
            Response.NOT_ASKED,
        ]
        assert [judgement.agreed for judgement in found] == [True, True, None, None]
        assert [judgement.fine for judgement in found] == [True, False, False, False]

    @pytest.mark.parametrize(
        ("response", "right", "agreed"),
        [
            (Response.ACCEPTS, True, True),
            (Response.ACCEPTS, False, False),
            (Response.REJECTS, True, False),
            (Response.REJECTS, False, True),
            (Response.CHANGES, True, False),
            (Response.CHANGES, False, False),
            (Response.NOT_ASKED, False, None),
            (Response.NO_ANSWER, True, None),
        ],
    )
    def test_a_disagreement_is_reported(self, claims, response, right, agreed):
        found = claims(f"{P} {S} here")
        judgement = Judgement(found.found[0], [] if right else ["row: …"], response)

        assert judgement.agreed is agreed
        assert (f"DISAGREEMENT: x {response} it" in description(found, judgement, "x")) == (agreed is False)
        assert ("DISAGREES on 1" in summary(found, [judgement], "x")) == (agreed is False)

    def test_a_solver_without_an_answer_is_reported(self, claims):
        found = claims(f"{P} {S}")
        silent = Judgement(found.found[0], [], Response.NO_ANSWER, "timeout")

        assert not silent.fine
        assert description(found, silent, "x").endswith("x gives no answer: timeout")

    def test_an_unsupported_constraint_is_reported_with_its_puzzle(self, claims):
        """The message names the first puzzle with the constraint."""
        found = claims(f"# kind: killer\n{SMALL}:1:{SMALL_S}\n")

        require_handled(configuration("propagation"), found)
        with pytest.raises(FileError, match=r"file:2: exact-cover does not support Sum"):
            require_handled(configuration("exact-cover"), found)


def test_few_reasons_are_shown_and_the_rest_counted(claims):
    found = claims(f"{'.' * 81} {SHIFTED}")
    (judgement,) = judgements(found)

    assert len(judgement.reasons) == 9
    lines = description(found, judgement, None).splitlines()
    assert lines[0] == f"{Path(found.source.shown)}:1: wrong"
    assert len(lines) == 5
    assert lines[-1].strip() == "… and 6 more"
