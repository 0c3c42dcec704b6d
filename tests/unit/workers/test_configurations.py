"""Configurations: the values of the option -s and their meaning."""

from __future__ import annotations

import sys

import pytest

from cagematch.problems.errors import ConfigurationError
from cagematch.workers import configurations as spelled
from cagematch.workers.backends import BACKENDS, load
from cagematch.workers.backends.legacy_cp import VALUE_STRATEGIES, VARIABLE_STRATEGIES
from cagematch.workers.configurations import GROUPS, PRESETS, configuration, configurations, expanded


def refusal(word: str) -> str:
    with pytest.raises(ConfigurationError) as caught:
        configurations([word])
    return str(caught.value)


@pytest.mark.parametrize("name", BACKENDS)
def test_a_plain_backend_has_default_parameters(name):
    found = configuration(name)

    assert found.backend == name
    assert found.settings == {key: parameter.default for key, parameter in load(name).PARAMETERS.items()}


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("cp-sat", "cp-sat"),
        (" cp-sat ", "cp-sat"),
        ("cp-sat:", "cp-sat"),
        ("cp-sat:workers=4", "cp-sat"),
        ("cp-sat:encoding=BOOL,workers=1", "cp-sat:workers=1,encoding=bool"),
        ("cp-sat: workers = 1 , seed = 7", "cp-sat:workers=1,seed=7"),
        ("legacy-cp", "cp-default"),
        ("legacy-cp:var=int_var_simple,val=int_value_simple", "cp-simple"),
        (PRESETS["cp-min-size"], "cp-min-size"),
        ("cp-min-size:seed=5", PRESETS["cp-min-size"] + ",seed=5"),
        ("legacy-cp:val=ASSIGN_MAX_VALUE", "legacy-cp:val=ASSIGN_MAX_VALUE"),
    ],
)
def test_a_configuration_has_the_shortest_text(word, text):
    """Parsing this text returns the same configuration."""
    found = configuration(word)
    again = configuration(found.text)

    assert found.text == text
    assert (again.text, again.backend, again.settings) == (text, found.backend, found.settings)


def test_presets_have_the_strategies_of_their_names():
    wanted = {
        "cp-default": ("CHOOSE_FIRST_UNBOUND", "ASSIGN_MIN_VALUE"),
        "cp-simple": ("INT_VAR_SIMPLE", "INT_VALUE_SIMPLE"),
        "cp-min-size": ("CHOOSE_MIN_SIZE_LOWEST_MIN", "ASSIGN_CENTER_VALUE"),
    }

    found = {name: configuration(name).settings for name in PRESETS if name in wanted}

    assert {name: (settings["var"], settings["val"]) for name, settings in found.items()} == wanted


def test_only_presets_are_expanded():
    assert expanded("cp-simple") == "legacy-cp:var=INT_VAR_SIMPLE,val=INT_VALUE_SIMPLE"
    assert expanded("cp-sat:workers=1") == "cp-sat:workers=1"


@pytest.mark.parametrize("group", sorted(GROUPS.keys() - {"@all"}))
def test_a_group_expands_to_its_members(group):
    assert [found.text for found in configurations([group])] == list(GROUPS[group])


def test_the_group_all_contains_the_installed_backends(monkeypatch):
    monkeypatch.setattr(spelled, "version", lambda name: "1.0" if name in ("cp-sat", "scip") else None)

    assert [found.text for found in configurations(["@all"])] == ["cp-sat", "scip"]


def test_the_fast_preset_expands_to_its_parameters():
    found = configuration("cp-sat-fast")

    assert (found.text, found.threads) == ("cp-sat-fast", 1)
    assert found.settings["linearization_level"] == 0
    assert configuration(expanded("cp-sat-fast")).text == "cp-sat-fast"


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("cp-sat:linearization_level=0", "cp-sat:linearization_level=0"),
        ("cp-sat:linearization_level=1", "cp-sat"),  # the library's own default
        ("cp-sat:search_branching=fixed_search,workers=1", "cp-sat:workers=1,search_branching=FIXED_SEARCH"),
        ("cp-sat:use_lns=FALSE", "cp-sat:use_lns=false"),
        ("cp-sat:random_branches_ratio=0.25", "cp-sat:random_branches_ratio=0.25"),
        ("cp-sat:ignore_subsolvers=core+no_lp", "cp-sat:ignore_subsolvers=core+no_lp"),
        ("cp-sat:restart_algorithms=LUBY_RESTART+NO_RESTART", "cp-sat:restart_algorithms=LUBY_RESTART+NO_RESTART"),
        ("cp-sat-fast:symmetry_level=2", expanded("cp-sat-fast").replace(",symmetry_level=0", "")),
    ],
)
def test_cp_sat_fields_are_set_by_name(word, text):
    pytest.importorskip("ortools")

    found = configuration(word)

    assert (found.text, configuration(found.text).settings) == (text, found.settings)


def test_a_field_can_be_swept():
    pytest.importorskip("ortools")

    found = configurations(["cp-sat:search_branching=*"])

    assert len(found) > 5
    assert found[0].text == "cp-sat"


def test_a_field_cannot_be_checked_without_the_library(monkeypatch):
    monkeypatch.setitem(sys.modules, "ortools.sat.sat_parameters_pb2", None)

    assert "cannot check parameter linearization_level without OR-Tools" in refusal("cp-sat:linearization_level=0")
    assert configuration("cp-sat:workers=1").text == "cp-sat:workers=1"


def test_duplicate_configurations_are_removed():
    found = configurations(["cp-sat", "@default", "cp-sat:workers=4", "cp-sat:workers=1"])

    assert [one.text for one in found] == ["cp-sat", "cp-min-size", "scip", "cbc", "cp-sat:workers=1"]


def test_a_sweep_includes_every_value_of_a_parameter():
    values = configurations(["legacy-cp:var=CHOOSE_RANDOM,val=*"])
    both = configurations(["legacy-cp:var=*,val=*"])

    assert [found.settings["val"] for found in values] == list(VALUE_STRATEGIES)
    assert len({found.text for found in both}) == len(VARIABLE_STRATEGIES) * len(VALUE_STRATEGIES)


def test_threads_equal_the_parameter_workers_or_one():
    assert configuration("cp-sat").threads == 4
    assert configuration("cp-sat:workers=2").threads == 2
    assert configuration("scip").threads == 1


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("chuffed", ["unknown backend 'chuffed'", "cp-sat", "cp-min-size", "@core"]),
        ("", ["unknown backend ''", "cp-sat"]),
        ("@all-of-them", ["unknown group '@all-of-them'", "@core", "@default"]),
        ("cp-sat:threads=4", ["no parameter 'threads'", "workers, encoding, cages, presolve, seed"]),
        ("scip:x=1", ["scip has no parameter 'x'", "its parameters: cages"]),
        ("cp-sat:workers", ["found 'workers', expected name=value"]),
        ("cp-sat:workers=", ["found 'workers=', expected name=value"]),
        ("cp-sat:=4", ["found '=4', expected name=value"]),
        ("cp-sat:workers=1,workers=2", ["workers is set twice"]),
        ("cp-sat:workers=0", ["workers is '0', expected a whole number from 1"]),
        ("cp-sat:workers=two", ["workers is 'two', expected a whole number"]),
        ("cp-sat:workers=1_0", ["workers is '1_0', expected a whole number"]),
        ("cp-sat:workers=²", ["workers is '²', expected a whole number"]),
        ("cp-sat:workers=*", ["workers is '*', expected a whole number"]),
        ("cp-sat:seed=-2", ["seed is '-2', expected a whole number from -1"]),
        ("cp-sat:seed=2147483648", ["expected a whole number from -1 to 2147483647"]),
        ("cp-sat:seed=" + "9" * 5000, ["expected a whole number from -1 to 2147483647"]),
        ("cp-sat:linearization_level=high", ["linearization_level is 'high', expected a whole number"]),
        ("cp-sat:use_lns=maybe", ["use_lns is 'maybe', expected one of true, false"]),
        ("cp-sat:random_branches_ratio=some", ["random_branches_ratio is 'some', expected a value such as 0.0"]),
        ("cp-sat:restart_algorithms=SOMETIMES", ["restart_algorithms is 'SOMETIMES'"]),
        ("cp-sat:subsolver_params=1", ["no parameter 'subsolver_params'"]),
        ("cp-sat:num_workers=8", ["num_workers cannot be set directly; use workers="]),
        ("cp-sat:max_time_in_seconds=8", ["use --timeout"]),
        ("cp-sat:encoding=float", ["encoding is 'float', expected one of int, bool, or * for all"]),
        ("legacy-cp:var=CHOOSE", ["expected one of CHOOSE_FIRST_UNBOUND"]),
    ],
)
def test_an_error_names_the_value_and_the_alternatives(word, expected):
    message = refusal(word)

    assert all(part in message for part in expected), message


@pytest.mark.parametrize("word", ["@core", "legacy-cp:var=*"])
def test_groups_and_sweeps_are_not_one_configuration(word):
    with pytest.raises(ConfigurationError, match="expected one"):
        configuration(word)
