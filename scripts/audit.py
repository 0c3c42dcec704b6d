"""Look up the libraries of a lock in the lists of known vulnerabilities. Exit code 1 when one of them has any.

    python scripts/audit.py requirements-dev.lock

PyPI is asked, and OSV where PyPI does not tell. Where neither can be reached this is said and is no failure: it says
nothing about the libraries. Everything else that stops pip-audit is one.
"""

# ruff: noqa: T201

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

SERVICES = ("pypi", "osv")
UNREACHABLE = ("ConnectionError", "Timeout", "network may be blocking", "HTTPError")
COMMAND = "-m pip_audit --disable-pip --require-hashes --progress-spinner off --format json"


def main(lock: str) -> int:
    """Ask one service after the other until one answers."""
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
    print(f"audit: neither of {', '.join(SERVICES)} can be reached from here; the libraries were NOT looked up")
    return 0


def judge(found: list[dict[str, Any]], service: str) -> int:
    """Tell what a service knows of the libraries."""
    holes = [(library, hole) for library in found for hole in library.get("vulns", ())]
    for library, hole in holes:
        mended = ", ".join(hole["fix_versions"]) or "no version yet"
        print(f"audit: {library['name']} {library['version']}: {hole['id']}, mended in {mended}")
    unknown = [library["name"] for library in found if "vulns" not in library]
    if unknown:
        print(f"audit: {service} does not know {', '.join(unknown)}")
    print(f"audit: {len(found) - len(unknown)} libraries looked up at {service}, {len(holes)} vulnerabilities")
    return 1 if holes else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
