"""Fixtures of the conformance tests: configurations, backends, and the processes to end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from conforming import LIMIT_S, RAN, SPELLED, require
from families import end, measured

from cagematch.workers.backends import BACKENDS
from cagematch.workers.configurations import Configuration, configuration
from cagematch.workers.sandbox.loop import WARM_UP

# Each run of these backends starts a program, which takes longer than the solve.
PROGRAMS = ("cbc", "pulp-", "minizinc")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the cases of the slowest backends; tests marked smoke stay, so each backend is always tested."""
    for item in items:
        callspec = getattr(item, "callspec", None)
        spelled = callspec and callspec.params.get("chosen")
        if isinstance(spelled, str) and spelled.startswith(PROGRAMS) and not item.get_closest_marker("smoke"):
            item.add_marker("slow")


@pytest.fixture(params=SPELLED, scope="module")
def chosen(request: pytest.FixtureRequest) -> Configuration:
    """A configuration of an installed backend, warmed up as in a sandbox."""
    found = configuration(request.param)
    require(found.backend)
    measured(found, WARM_UP, LIMIT_S)
    return found


@pytest.fixture(params=BACKENDS, scope="module")
def name(request: pytest.FixtureRequest) -> str:
    require(request.param)
    return request.param


@pytest.fixture(scope="module", autouse=True)
def ended() -> Iterator[None]:
    """End the solver process after the tests of each module."""
    yield
    end()


@pytest.fixture(scope="session", autouse=True)
def combinations_reported(request: pytest.FixtureRequest) -> Iterator[None]:
    """Print the number of combinations of configurations with cases, problems and tasks."""
    yield
    if RAN:
        with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
            print(f"\n{RAN.total():,} combinations of {len(RAN)} configurations with cases, problems and tasks ran")
