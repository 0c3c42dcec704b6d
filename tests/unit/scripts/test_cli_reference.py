"""The generated reference of the command line: docs/cli.md matches the commands, and a stale page is reported."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location

import pytest
from commanding import ROOT


@pytest.fixture
def script():
    spec = spec_from_file_location("cli_reference", ROOT / "scripts" / "cli_reference.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_matches_the_commands(script):
    assert script.main([str(ROOT / "docs" / "cli.md"), "--check"]) is None


def test_a_stale_page_is_reported_and_regenerated(script, tmp_path):
    page = tmp_path / "cli.md"
    page.write_text("# stale\n", encoding="utf-8")

    found = script.main([str(page), "--check"])

    assert found == f"{page} differs from the current commands; run `make docs`"
    assert page.read_text(encoding="utf-8") == "# stale\n"
    script.main([str(page)])
    assert script.main([str(page), "--check"]) is None


def test_a_missing_page_is_reported(script, tmp_path):
    assert "run `make docs`" in script.main([str(tmp_path / "cli.md"), "--check"])


def test_values_defaults_and_ranges_are_listed(script):
    page = script.reference()

    assert "| `--limit N` | Number of puzzles" in page
    assert "Range: `x>=0`. | all |" in page
    assert "| `--timeout TIME` | Wall time per run, such as 500ms, 3s or 2m. | `3s` |" in page
    assert r"| `PUZZLE\|RUN` |" in page
    assert "## scheduler db upgrade" in page
