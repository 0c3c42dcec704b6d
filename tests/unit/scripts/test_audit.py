"""`make audit`: a known vulnerability is a failure; unreachable services are reported and are not."""

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
VULNERABILITY = {
    "id": "PYSEC-2021-421",
    "fix_versions": ["2.9.1"],
    "aliases": ["CVE-2021-42771"],
    "description": "Babel …",
}


@pytest.fixture
def audit():
    spec = spec_from_file_location("audit", SCRIPT)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_vulnerability_is_a_failure(audit, capsys):
    assert audit.judge([CLEAN, {"name": "babel", "version": "2.9.0", "vulns": [VULNERABILITY]}], "pypi") == 1
    assert "babel 2.9.0: PYSEC-2021-421, fixed in 2.9.1" in capsys.readouterr().out


def test_libraries_without_a_vulnerability_are_counted(audit, capsys):
    assert audit.judge([CLEAN, UNKNOWN], "osv") == 0
    assert capsys.readouterr().out.splitlines() == [
        "audit: osv does not list ours",
        "audit: 1 libraries checked with osv, 0 vulnerabilities",
    ]


def run(lock, **environment):
    words = [sys.executable, str(SCRIPT), str(lock)]
    return subprocess.run(words, env=environment, capture_output=True, text=True, timeout=120, check=False)


def test_unreachable_services_are_reported_and_are_no_failure(tmp_path):
    lock = tmp_path / "lock"
    lock.write_text(f"attrs==26.1.0 --hash=sha256:{'0' * 64}\n")

    done = run(lock, https_proxy="http://127.0.0.1:1", HOME=str(tmp_path))

    assert (done.returncode, done.stderr) == (0, "")
    assert "the libraries were NOT checked" in done.stdout


def test_an_unreadable_lock_is_a_failure(tmp_path):
    lock = tmp_path / "lock"
    lock.write_text("nonsense[\n")

    assert run(lock, HOME=str(tmp_path)).returncode == 1
