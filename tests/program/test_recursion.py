"""Which rules may aggregate over their own conclusions, and what is said about those that may not."""

from __future__ import annotations

import pytest
from tests.engine import Fact, facts_of, run
from tests.strategies import EXAMPLE

from corollary.language import IRI, RDF_TYPE, RDFS, XSD, Literal, UnstratifiableError, parse_program
from corollary.language.model import OWL
from corollary.profiles import load_profile

PREFIX = f"PREFIX : <{EXAMPLE}>\n"
RULE = "[?y, :p, ?d] :- AGGREGATE([?x, :p, ?v], [?x, :e, ?y], [?x, :w, ?w]{} ON ?y BIND {} AS ?d) ."
PLAIN = RULE.format("", "min(?v + ?w)")
ONLY = "among aggregates, only min and max may read their own conclusions"
FORM = "the aggregated expression is ?v, or ?v + or - an expression without it"
OTHERS = (
    "other rules that derive its predicate, and its other atoms, may not depend on its conclusions; "
    "two such rules for one predicate become one, over a predicate for all their edges"
)


@pytest.mark.parametrize(
    "rule",
    [
        PLAIN,
        RULE.format("", "max(?v)"),
        RULE.format("", "min(?w + ?v)"),
        RULE.format("", "max(?v - ?w)"),
        RULE.format("", "min(?v + 1)"),
        RULE.format("", "min(?v + abs(?w) * 2)"),
        RULE.format(", BIND(?v + ?w AS ?s)", "min(?s)"),
        RULE.format(", BIND(?w * 2 AS ?u), BIND(?v + ?u AS ?s), FILTER(?w > 0)", "min(DISTINCT ?s)"),
    ],
)
def test_accepted(rule: str) -> None:
    assert not run(frozenset(), parse_program(PREFIX + rule)).suspended


@pytest.mark.parametrize(
    ("rule", "remedy"),
    [
        *((RULE.format("", f"{name}(?v)"), f"{name} is not monotone: {ONLY}") for name in ("sum", "avg")),
        (RULE.format("", "count(*)"), f"count is not monotone: {ONLY}"),
        (RULE.format("", "min(?v * 2)"), FORM),
        (RULE.format("", "min(?w - ?v)"), FORM),
        (RULE.format("", "min(?v + ?v)"), FORM),
        (RULE.format("", "min(?v + ?w + 1)"), FORM),
        (RULE.format("", "min(?w)"), FORM),
        (
            RULE.format(", FILTER(?v < 9)", "min(?v)"),
            "the value ?v of the recursive atom may be used only in the aggregated sum",
        ),
        (
            RULE.format(", BIND(?v + 1 AS ?s), FILTER(?s < 9)", "min(?s)"),
            "the sum ?s may be used only in the aggregate",
        ),
        (
            RULE.format(", [?z, :p, ?u]", "min(?v)"),
            "the rule may read its conclusions in one atom, with a constant predicate other than rdf:type",
        ),
        (
            RULE.format("", "min(?v)").replace(":p", "a"),
            "the rule may read its conclusions in one atom, with a constant predicate other than rdf:type",
        ),
        (
            RULE.format(", [?y, :r, ?v]", "min(?v)"),
            "the value in the recursive atom is a variable that no other atom has",
        ),
        (
            RULE.format("", "min(?v) AS ?d BIND max(?v)").replace("max(?v) AS ?d", "max(?v) AS ?m"),
            "a rule that reads its own conclusions has one head, and one aggregate with one result",
        ),
        (
            PLAIN.replace(":- ", ":- :N[?y], "),
            "all atoms and filters of a rule that reads its own conclusions stand inside AGGREGATE",
        ),
        (
            PLAIN.replace("ON ?y", "ON ?y ?x"),
            "the head is [group, predicate, result], with the group variable after ON",
        ),
        (
            "[?y, :p, ?d] :- AGGREGATE([?y, :p, ?v] ON ?y BIND min(?v) AS ?d) .",
            "other atoms inside AGGREGATE have to bind the group and the subject of the recursive atom",
        ),
        (PLAIN + PLAIN.replace(":e", ":f"), OTHERS),
        (PLAIN + "[?x, :e, ?y] :- [?x, :f, ?y], [?x, :p, ?v] .", OTHERS),
        (PLAIN + "[?x, :p, ?v] :- [?x, :q, ?v] . [?x, :q, ?v] :- [?x, :p, ?v] .", OTHERS),
    ],
)
def test_refused(rule: str, remedy: str) -> None:
    with pytest.raises(UnstratifiableError) as caught:
        run(frozenset(), parse_program(PREFIX + rule))
    first = caught.value.diagnostics[0]
    assert first.remedy == remedy
    assert "rule 1 aggregates over what depends on its own conclusion: " in first.message


def test_the_whole_message() -> None:
    with pytest.raises(UnstratifiableError) as caught:
        run(frozenset(), parse_program(f"PREFIX : <{EXAMPLE}> {RULE.format('', 'sum(?v)')}"))
    p = f"<{EXAMPLE}p>"
    assert (
        str(caught.value)
        .splitlines()[0]
        .endswith(f"rule 1 aggregates over what depends on its own conclusion: {p} -> {p}")
    )
    assert str(caught.value).splitlines()[-1] == f"  help: sum is not monotone: {ONLY}"


def test_recursion_through_another_predicate_is_refused() -> None:
    around = PLAIN.replace("[?x, :p, ?v]", "[?x, :q, ?v]") + "[?x, :q, ?v] :- [?x, :p, ?v] ."
    with pytest.raises(UnstratifiableError, match="derive the conclusion under another name"):
        run(frozenset(), parse_program(PREFIX + around))


def named(name: str) -> IRI:
    return IRI(EXAMPLE + name)


ONE = Literal("1", XSD + "integer")
NETWORK: frozenset[Fact] = frozenset(
    [
        (named("a"), named("p"), ONE),
        (named("a"), named("e"), named("b")),
        (named("a"), named("w"), ONE),
    ]
)


@pytest.mark.parametrize(
    ("fact", "cycle"),
    [
        ((named("p"), RDF_TYPE, IRI(OWL + "DatatypeProperty")), None),
        ((named("q"), IRI(RDFS + "subPropertyOf"), named("p")), None),
        ((named("a"), IRI(OWL + "sameAs"), named("b")), "p> (by other rules)"),
        ((named("p"), RDF_TYPE, IRI(OWL + "SymmetricProperty")), "p> (by other rules)"),
        ((named("p"), IRI(RDFS + "subPropertyOf"), named("w")), "w> -> "),
    ],
)
def test_ontologies_may_suspend_the_rule(fact: Fact, cycle: str | None) -> None:
    """By facts that let its seeds or its edges depend on its conclusions."""
    result = run(NETWORK | {fact}, load_profile("owl2rl") + parse_program(PREFIX + PLAIN))
    found = facts_of(result.index.columns(), result.dictionary)
    two = Literal("2", XSD + "integer")
    assert ((named("b"), named("p"), two) in found) == (cycle is None)
    assert [cycle is not None and cycle in s.text(result.dictionary) for s in result.suspended] == (
        [True] if cycle else []
    )
