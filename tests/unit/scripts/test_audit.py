"""`make audit`: a known vulnerability is a failure; that nobody can be asked is none, and said."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location

import pytest
from commanding import ROOT

pytest.importorskip("pip_audit")
SCRIPT = ROOT / "scripts" / "audit.py"
CLEAN = {"name": "attrs", "version": "26.1.0", "vulns": []}
UNKNOWN = {"name": "ours", "skip_reason": "Dependency not found on PyPI and could not be audited: ours (1.0)"}
HOLE = {"id": "PYSEC-2021-421", "fix_versions": ["2.9.1"], "aliases": ["CVE-2021-42771"], "description": "Babel …"}


@pytest.fixture
def audit():
    spec = spec_from_file_location("audit", SCRIPT)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_vulnerability_is_a_failure_and_named(audit, capsys):
    assert audit.judge([CLEAN, {"name": "babel", "version": "2.9.0", "vulns": [HOLE]}], "pypi") == 1
    assert "babel 2.9.0: PYSEC-2021-421, mended in 2.9.1" in capsys.readouterr().out


def test_libraries_without_one_are_counted_and_unknown_ones_named(audit, capsys):
    assert audit.judge([CLEAN, UNKNOWN], "osv") == 0
    assert capsys.readouterr().out.splitlines() == [
        "audit: osv does not know ours",
        "audit: 1 libraries looked up at osv, 0 vulnerabilities",
    ]


def run(lock, **environment):
    words = [sys.executable, str(SCRIPT), str(lock)]
    return subprocess.run(words, env=environment, capture_output=True, text=True, timeout=120, check=False)


def test_that_no_service_can_be_reached_is_said_and_no_failure(tmp_path):
    lock = tmp_path / "lock"
    lock.write_text(f"attrs==26.1.0 --hash=sha256:{'0' * 64}\n")

    done = run(lock, https_proxy="http://127.0.0.1:1", HOME=str(tmp_path))

    assert (done.returncode, done.stderr) == (0, "")
    assert "the libraries were NOT looked up" in done.stdout


def test_a_lock_that_cannot_be_read_is_a_failure(tmp_path):
    lock = tmp_path / "lock"
    lock.write_text("nonsense[\n")

    assert run(lock, HOME=str(tmp_path)).returncode == 1
