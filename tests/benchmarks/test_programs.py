"""Rules that come and go leave what the naive evaluator makes of the rules that are left."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks import turbines
from benchmarks.engine import Facts
from benchmarks.graphs import PREFIX
from benchmarks.measure import Settings
from benchmarks.programs import RuleTrack, without
from benchmarks.workloads import dynamic, rules
from tests.engine import Fact, facts_of
from tests.evaluate.test_against_naive import by_value
from tests.oracles import naive

from corollary.columns.pairs import firsts, seconds
from corollary.evaluate import MaterialisedView
from corollary.language import Program

SMALL = Settings(repeat=1, peers=False, slow=False, small=True)


def facts_in(result: MaterialisedView) -> set[Fact]:
    return facts_of(result.index.columns(legal=False), result.dictionary)


def closure(facts: Facts, program: Program) -> set[Fact]:
    """What the naive evaluator finds."""
    return naive.closure(facts_of(facts.columns, facts.dictionary), program)[0]


def data_for(name: str) -> Facts:
    return turbines.chain(6) if name == "RS1" else turbines.chains((3, 4, 2, 2))


GROUPS = [(name, group) for name, groups in rules.GROUPS.items() for group in groups]


@pytest.mark.parametrize(("name", "group"), GROUPS, ids=lambda value: str(value))
def test_groups_of_rules_come_and_go(name: str, group: tuple[str, ...]) -> None:
    facts, whole = data_for(name), turbines.RULE_SETS[name]
    part = without(whole, group)
    track = RuleTrack(facts, whole, part)
    for program in (part, whole, part, whole):
        track.before(program)
        track.follow(program)
        assert by_value(facts_in(track.result)) == by_value(closure(facts, program))


@pytest.mark.parametrize("name", turbines.RULE_SETS)
def test_larger_chains_end_where_starting_from_scratch_does(name: str) -> None:
    """So large that paths are composed, and predicates emptied."""
    facts = turbines.chain(100) if name == "RS1" else turbines.chains((90, 80, 5, 2))
    whole = turbines.RULE_SETS[name]
    for group in rules.GROUPS[name]:
        part = without(whole, group)
        track = RuleTrack(facts, whole, part)
        for program in (part, whole):
            track.follow(program)
            found, wanted = track.result.index.columns(), facts.close(program).index.columns()
            assert all(np.array_equal(*columns) for columns in zip(found, wanted, strict=True))


def test_rules_are_found_by_name() -> None:
    assert len(without(turbines.RULE_SET_2, ["r1", "r18"])) == len(turbines.RULE_SET_2) - 2
    with pytest.raises(AssertionError):
        without(turbines.RULE_SET_2, ["r19"])


def test_turbines_have_the_shape_of_the_paper() -> None:
    result = turbines.chains().close(turbines.RULE_SET_2)
    assert 420_000 < len(result.index) < 430_000
    dictionary = result.dictionary
    p11 = result.index.relation(dictionary.encode(f"<{PREFIX}p11>")).pairs().keys
    members = turbines.CHAINS[0] + 1
    assert p11.size == members * (members - 1)
    assert (firsts(p11) != seconds(p11)).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rules", "dynamic"])
def test_small_workloads_give_measurements(name: str) -> None:
    module = {"rules": rules, "dynamic": dynamic}[name]
    results = module.run(SMALL)
    assert all(m.workload == name and m.least > 0 for m in results.measurements)
    assert results.demands
