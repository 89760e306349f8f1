"""What every plan must be, whatever the order: each atom read once, at the right age, conditions in time."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st
from tests import strategies as some

from corollary.language import Program, Rule
from corollary.plan.delta_plans import delta_plan, full_plan
from corollary.plan.steps import Age, AntiJoin, Distinct, Group, Join, Plan, Select
from corollary.profiles import load_profile
from corollary.program.compile import Atom, CompiledRule
from corollary.program.compiled_program import CompiledProgram
from corollary.terms.dictionary import TermDictionary

thorough = settings(max_examples=some.examples(200), deadline=None)

rules = st.one_of(
    some.positive_rules(),
    some.positive_rules(),
    some.rules_with_not(),
    some.rules_with_filter(),
    some.rules_with_bind(),
    some.rules_with_aggregate(),
)
OWL2RL = [rule for rule in CompiledProgram(load_profile("owl2rl"), TermDictionary()).rules if rule.heads]


def compiled(rule: Rule) -> CompiledRule:
    return CompiledProgram(Program((rule,)), TermDictionary()).rules[0]


def sizes(seed: int) -> Callable[[Atom], int]:
    """Some size for every relation."""
    return lambda atom: hash((seed, atom.p)) % 1000


def assert_complete(rule: CompiledRule, plan: Plan, ages: list[Age]) -> None:
    """All atoms are joined once, and whatever else there is comes once, when its variables are known."""
    joined = [(step.atom, step.age) for step in plan if isinstance(step, Join)]
    expected = list(zip(rule.atoms, ages, strict=True))
    assert sorted(joined, key=str) == sorted(expected, key=str)
    known: set[int] = set()
    for step in plan:
        match step:
            case Join(atom, _):
                known |= atom.variables
            case Distinct(_, variable):
                known.add(variable)
            case Select(condition):
                assert condition.needs <= known
                known |= {condition.target} - {None}  # type: ignore[arg-type]
            case AntiJoin(negation):
                assert negation.shared <= known
            case Group(grouping):
                known |= {*grouping.group, *grouping.targets}
    others = [step for step in plan if not isinstance(step, Join | Distinct)]
    wanted = [*map(Select, rule.conditions), *map(AntiJoin, rule.negations), *map(Group, rule.groupings)]
    assert sorted(others, key=str) == sorted(wanted, key=str)
    assert all(head.variables <= known for head in rule.heads)


def assert_plans_are_complete(rule: CompiledRule, size: Callable[[Atom], int]) -> None:
    atoms = len(rule.atoms)
    assert_complete(rule, full_plan(rule, size), [Age.ALL] * atoms)
    for trigger in range(atoms):
        plan = delta_plan(rule, trigger, size)
        ages = [Age.OLD] * trigger + [Age.RECENT] + [Age.ALL] * (atoms - trigger - 1)
        assert_complete(rule, plan.direct, ages)
        if plan.guard_probe:
            assert isinstance(plan.guard_probe[0], Distinct)
            assert_complete(rule, (*plan.guard_probe, *plan.body), ages)


@thorough
@given(rules, st.integers(0, 9))
def test_random_rules(rule: Rule, seed: int) -> None:
    assert_plans_are_complete(compiled(rule), sizes(seed))


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 99))
def test_owl2rl(seed: int) -> None:
    for rule in OWL2RL:
        assert_plans_are_complete(rule, sizes(seed))


def test_a_condition_comes_as_soon_as_it_can() -> None:
    rule = next(rule for rule in OWL2RL if rule.label == "cls-maxc2")
    steps = full_plan(rule, lambda atom: 1)
    (place,) = (
        i for i, step in enumerate(steps) if isinstance(step, Select) and len(step.condition.needs) == 1
    )
    assert isinstance(steps[place - 1], Join), "the number of a restriction is looked at before its instances"
    assert place == 1
