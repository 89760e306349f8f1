"""Substitution keeps the shape of rules, and bound variables do not depend on the order of a body."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.language.strategies import bodies, rules

from corollary.language import IRI, Variable, bound_variables, parse_program, substitute, variables
from corollary.language.model import BodyElement, Rule

X, Y, Z = map(Variable, "xyz")


def rule(text: str) -> Rule:
    (only,) = parse_program(f"PREFIX : <urn:> {text}")
    return only


def test_substitute_everywhere() -> None:
    before = rule(
        ":C[?x] :- [?x, ?y, ?x], MEMBER(?x, ?y), EACH ?i IN ?x ([?i, ?y, ?x]), CHAIN(?x, ?y, ?x), "
        "NOT ([?x, a, ?y], VALUE(?x, ?y)), FILTER(?x < -?y), BIND(?x + 1 AS ?b), "
        "AGGREGATE([?x, ?y, ?w], FILTER(?w > ?y) ON ?x ?y BIND max(?w + ?y) AS ?m BIND count(*) AS ?n) ."
    )
    after = rule(
        ":C[?x] :- [?x, :p, ?x], MEMBER(?x, :p), EACH ?i IN ?x ([?i, :p, ?x]), CHAIN(?x, :p, ?x), "
        "NOT ([?x, a, :p], VALUE(?x, :p)), FILTER(?x < -(:p)), BIND(?x + 1 AS ?b), "
        "AGGREGATE([?x, :p, ?w], FILTER(?w > :p) ON ?x BIND max(?w + :p) AS ?m BIND count(*) AS ?n) ."
    )
    assert substitute(before, {Y: IRI("urn:p")}) == after


def test_substitute_at_once() -> None:
    assert substitute(rule("[?x, a, ?y] :- [?y, a, ?x] ."), {X: Y, Y: X}) == rule(
        "[?y, a, ?x] :- [?x, a, ?y] ."
    )


def test_substitute_keeps_name_and_span() -> None:
    before = rule("@name n\n:C[?x] :- :D[?x] .")
    after = substitute(before, {X: Y})
    assert (after.name, after.span) == ("n", before.span)


@given(rules)
def test_renaming_and_back(before: Rule) -> None:
    there = {variable: Variable(f"new_{variable.name}") for variable in variables(before)}
    back = {new: old for old, new in there.items()}
    after = substitute(before, there)
    assert variables(after) == set(back)
    assert substitute(after, back) == before


@given(bodies, st.randoms(use_true_random=False))
def test_order_does_not_bind(body: tuple[BodyElement, ...], random: Random) -> None:
    shuffled = list(body)
    random.shuffle(shuffled)
    assert bound_variables(shuffled) == bound_variables(body)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("[?x, ?y, ?z]", {X, Y, Z}),
        ("MEMBER(?x, ?y)", {X, Y}),
        ("EACH ?x IN ?z ([?y, ?x, 1])", {Y}),
        ("CHAIN(?x, ?y, ?z)", {Y, Z}),
        ("NOT [?x, a, ?y]", set()),
        ("FILTER(?x = 1)", set()),
        ("BIND(1 AS ?x), BIND(?x AS ?y)", {X, Y}),
        ("BIND(?x AS ?y)", set()),
        ("AGGREGATE([?x, ?y, ?w] ON ?x BIND count(*) AS ?z)", {X, Z}),
    ],
)
def test_bound_variables(body: str, expected: set[Variable]) -> None:
    assert bound_variables(rule(f"false :- {body} .").body) == expected
