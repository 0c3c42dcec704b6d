"""Check the libraries of a lock file for known vulnerabilities. The exit code is 1 when one is found.

    python scripts/audit.py requirements-dev.lock

The script queries PyPI, then OSV if PyPI does not answer. If neither can be reached, it prints a note and exits with 0.
Every other failure of pip-audit is a failure of the script.
"""

# ruff: noqa: T201

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

SERVICES = ("pypi", "osv")
# Parts of pip-audit's error message when a service cannot be reached.
UNREACHABLE = ("ConnectionError", "Timeout", "network may be blocking", "HTTPError")
COMMAND = "-m pip_audit --disable-pip --require-hashes --progress-spinner off --format json"


def main(lock: str) -> int:
    """Query one service after the other until one answers; return the exit code."""
    for service in SERVICES:
        words = [sys.executable, *COMMAND.split(), "--vulnerability-service", service, "--requirement", lock]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        try:
            found = json.loads(done.stdout)["dependencies"]
        except (ValueError, KeyError):
            if not any(word in done.stderr for word in UNREACHABLE):
                print(done.stderr, file=sys.stderr)
                return 1
            continue
        if any("vulns" in library for library in found):
            return judge(found, service)
    print(f"audit: {' and '.join(SERVICES)} cannot be reached; the libraries were NOT checked")
    return 0


def judge(found: list[dict[str, Any]], service: str) -> int:
    """Print the vulnerabilities that a service lists, and return the exit code."""
    listed = [(library, entry) for library in found for entry in library.get("vulns", ())]
    for library, entry in listed:
        fixed = ", ".join(entry["fix_versions"]) or "no version yet"
        print(f"audit: {library['name']} {library['version']}: {entry['id']}, fixed in {fixed}")
    unknown = [library["name"] for library in found if "vulns" not in library]
    if unknown:
        print(f"audit: {service} does not list {', '.join(unknown)}")
    print(f"audit: {len(found) - len(unknown)} libraries checked with {service}, {len(listed)} vulnerabilities")
    return 1 if listed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
