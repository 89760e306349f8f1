"""The groups that a change touches: all whose matches differ, and not simply all there are."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests import strategies as some
from tests.engine import load
from tests.oracles.naive import Facts, solve
from tests.strategies import Fact, thorough

from corollary.language import Aggregate, Constant, Rule, Variable, parse_constant, parse_program
from corollary.modules.groups import touched
from corollary.program.compile import compile_rule
from corollary.terms.dictionary import TermDictionary

Group = tuple[Constant, ...]
Match = frozenset[tuple[Variable, Constant]]


def matches(aggregate: Aggregate, facts: frozenset[Fact]) -> dict[Group, set[Match]]:
    """All ways to satisfy the inner body, by group."""
    found: dict[Group, set[Match]] = {}
    for binding in solve(aggregate.body, Facts(facts, {}), {}, set()):
        group = tuple(binding[variable] for variable in aggregate.group)
        found.setdefault(group, set()).add(frozenset(binding.items()))
    return found


def touched_groups(rule: Rule, before: frozenset[Fact], after: frozenset[Fact]) -> set[Group]:
    dictionary = TermDictionary()
    (grouping,) = compile_rule(rule, 0, dictionary).groupings
    groups: set[Group] = set()
    for facts, changed in ((before, before - after), (after, after - before)):
        batch = touched(grouping, load(facts, dictionary), load(changed, dictionary))
        columns = [batch.columns[variable].tolist() if batch.size else [] for variable in grouping.group]
        rows = zip(*columns, strict=True) if columns else [()] * batch.size
        groups |= {tuple(parse_constant(dictionary.decode(term)) for term in row) for row in rows}
    return groups


@thorough(200)
@given(some.number_fact_sets, some.number_fact_sets, some.rules_with_aggregate(), st.booleans())
def test_every_group_with_other_matches_is_touched(
    before: frozenset[Fact], after: frozenset[Fact], rule: Rule, is_small: bool
) -> None:
    if is_small:
        after = before | frozenset(sorted(after, key=str)[:2])
    (aggregate,) = (element for element in rule.body if isinstance(element, Aggregate))
    earlier, later = matches(aggregate, before), matches(aggregate, after)
    different = {g for g in earlier.keys() | later.keys() if earlier.get(g) != later.get(g)}
    found = touched_groups(rule, before, after)
    assert different <= found
    if before == after:
        assert not found


def facts_of(text: str) -> frozenset[Fact]:
    program = parse_program(f"PREFIX : <http://example.org/>\n{text}")
    return frozenset(head.terms for rule in program for head in rule.heads)  # type: ignore[misc]


def test_other_groups_are_left_alone() -> None:
    rule = parse_program(
        """
        PREFIX : <http://example.org/>
        [?d, :payroll, ?n] :- AGGREGATE([?e, :worksFor, ?d], [?e, :salary, ?s] ON ?d BIND sum(?s) AS ?n) .
        """
    ).rules[0]
    before = facts_of("[:a, :worksFor, :x] . [:b, :worksFor, :y] . [:a, :salary, 1] . [:b, :salary, 2] .")
    (x,), (y,) = (facts_of(f"[:a, :worksFor, :{name}] .") for name in "xy")
    raised = before | facts_of("[:a, :salary, 5] .")
    assert touched_groups(rule, before, raised) == {(x[2],)}
    moved = before - {x} | {y}
    assert touched_groups(rule, before, moved) == {(x[2],), (y[2],)}
    unpaid = before | facts_of("[:c, :salary, 5] .")
    assert touched_groups(rule, before, unpaid) == set()
