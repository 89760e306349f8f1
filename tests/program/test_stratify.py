"""Programs with negation and aggregates: refused with the cycle named, or evaluated in order.

What is circular by the facts alone suspends the rules concerned.
"""

from __future__ import annotations

import re

import pytest
from tests.engine import Fact, close, facts_of, run
from tests.oracles import naive
from tests.oracles.integers import INTEGERS

from corollary.language import (
    IRI,
    XSD,
    Literal,
    Program,
    UnstratifiableError,
    parse_constant,
    parse_program,
)

PREFIX = "PREFIX : <http://example.org/>\n"
REMEDY = "break the cycle: derive the conclusion under another name, or negate what is given"


def facts(text: str) -> list[Fact]:
    """Facts written as rules without a body."""
    return [head.terms for rule in parse_program(PREFIX + text) for head in rule.heads]  # type: ignore[misc]


def complaint(rules: str, data: str = "") -> list[str]:
    """What is said against a program, the full names shortened."""
    with pytest.raises(UnstratifiableError) as caught:
        run(facts(data), parse_program(PREFIX + rules, "family.dlog"))
    for diagnostic in caught.value.diagnostics:
        assert diagnostic.remedy == REMEDY or diagnostic.remedy.startswith("count is not monotone")
    return [
        re.sub(r"<http://example.org/(\w+)>", r":\1", f"{diagnostic.span}: {diagnostic.message}")
        for diagnostic in caught.value.diagnostics
    ]


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        pytest.param(
            "@name odd\n:A[?x] :- :B[?x], NOT :A[?x] .",
            "family.dlog:3:1: rule odd negates what depends on its own conclusion: :A[?x] -> :A[?x]",
            id="itself",
        ),
        pytest.param(
            ":A[?x] :- :C[?x], NOT :B[?x] .\n:B[?x] :- :C[?x], NOT :A[?x] .",
            "family.dlog:2:1: rule 1 negates what depends on its own conclusion: :B[?x] -> :A[?x] -> :B[?x]",
            id="each other",
        ),
        pytest.param(
            "@name free\n:Free[?x] :- :Man[?x], NOT [?x, :tied, ?y] .\n"
            "[?x, :tied, ?y] :- [?x, :works, ?y] .\n"
            "[?x, :works, :farm] :- :Free[?x] .",
            "family.dlog:3:1: rule free negates what depends on its own conclusion: "
            ":tied -> :Free[?x] -> :works -> :tied",
            id="over other rules",
        ),
        pytest.param(
            "@name count\n[?x, :n, ?n] :- :A[?x], AGGREGATE([?x, :n, ?y] ON ?x BIND count(?y) AS ?n) .",
            "family.dlog:3:1: rule count aggregates over what depends on its own conclusion: :n -> :n",
            id="an aggregate",
        ),
        pytest.param(
            "[?x, :n, ?n] :- AGGREGATE([?x, :n, ?y] ON ?x BIND count(?y) AS ?n) .",
            "family.dlog:2:1: rule 1 aggregates over what depends on its own conclusion: :n -> :n",
            id="an aggregate and nothing else",
        ),
        pytest.param(
            ":A[:a] :- NOT :B[:a] .\n:B[:a] :- NOT :A[:a] .",
            "family.dlog:2:1: rule 1 negates what depends on its own conclusion: :B[?x] -> :A[?x] -> :B[?x]",
            id="negations and nothing else",
        ),
    ],
)
def test_cycles_are_named(rules: str, expected: str) -> None:
    """Whatever the facts are."""
    assert complaint(rules) == [expected]


def test_every_cycle_is_told_once() -> None:
    assert complaint("""
        :A[?x] :- :X[?x], NOT :A[?x], NOT [?x, :likes, ?y] .
        :B[?x] :- :X[?x], NOT :B[?x] .
    """) == [
        "family.dlog:3:9: rule 1 negates what depends on its own conclusion: :A[?x] -> :A[?x]",
        "family.dlog:4:9: rule 2 negates what depends on its own conclusion: :B[?x] -> :B[?x]",
    ]


def test_the_whole_message() -> None:
    with pytest.raises(UnstratifiableError) as caught:
        run([], parse_program(f"{PREFIX}@name odd :A[?x] :- :B[?x], NOT :A[?x] .", "family.dlog"))
    name = "<http://example.org/A>[?x]"
    assert str(caught.value).splitlines() == [
        f"family.dlog:2:11: rule odd negates what depends on its own conclusion: {name} -> {name}",
        "    @name odd :A[?x] :- :B[?x], NOT :A[?x] .",
        "              ^",
        f"  help: {REMEDY}",
    ]


CYCLE_OF_DATA = """
    @name plain
    :Plain[?x] :- :Thing[?x], NOT :Marked[?x] .
    @name cax-sco
    [?x, a, ?d] :- [?c, rdfs:subClassOf, ?d], [?x, a, ?c] .
"""


def suspended(rules: str, data: str) -> list[tuple[str, list[str], set[Fact]]]:
    """Which rules are left out: name, cycle, and the facts that close it. All others are applied."""
    program = parse_program(PREFIX + rules)
    result = run(facts(data), program)
    left = Program(tuple(rule for rule in program if rule not in {found.rule for found in result.suspended}))
    assert facts_of(result.index.columns(legal=False), result.dictionary) == close(facts(data), left)[0]
    return [
        (
            found.label,
            [re.sub(r"<http://example.org/(\w+)>", r":\1", node) for node in found.cycle],
            {tuple(parse_constant(result.dictionary.decode(t)) for t in fact) for fact in found.facts},  # type: ignore[misc]
        )
        for found in result.suspended
    ]


def test_a_cycle_that_comes_with_the_ontology() -> None:
    """What families do depends on their rows."""
    data = ":Thing[:a], [:Plain, rdfs:subClassOf, :Marked] ."
    (closing,) = facts("[:Plain, rdfs:subClassOf, :Marked] .")
    assert suspended(CYCLE_OF_DATA, data) == [
        ("plain", [":Marked[?x]", ":Plain[?x]", ":Marked[?x]"], {closing})
    ]


def test_only_what_is_in_the_cycle_is_suspended() -> None:
    """Another rule that negates, and one that reads what the suspended one would derive, go on."""
    rules = (
        CYCLE_OF_DATA
        + """
        @name other
        :Other[?x] :- :Thing[?x], NOT :Plain[?x] .
        @name seen
        :Seen[?x] :- :Plain[?x] .
    """
    )
    data = ":Thing[:a], :Plain[:b], :Thing[:b], [:Plain, rdfs:subClassOf, :Marked] ."
    assert [name for name, _, _ in suspended(rules, data)] == ["plain"]
    found, _ = close(facts(data), parse_program(PREFIX + rules))
    assert set(facts(":Other[:a], :Seen[:b], :Marked[:b] .")) <= found


def test_a_rule_that_closes_its_own_cycle_stays_out() -> None:
    """It derives the inclusion by which it depends on itself: without it there would be none."""
    rules = """
        @name own
        :Plain[?x], [:Plain, rdfs:subClassOf, :Marked] :- :Thing[?x], NOT :Marked[?x] .
        @name cax-sco
        [?x, a, ?d] :- [?c, rdfs:subClassOf, ?d], [?x, a, ?c] .
    """
    assert [name for name, _, _ in suspended(rules, ":Thing[:a] .")] == ["own"]


def test_an_order_that_what_is_derived_changes() -> None:
    """By the inclusion that is derived ``late`` reads what ``early`` derives: another order, and no cycle."""
    rules = """
        @name late
        :Late[?x] :- :Thing[?x], NOT :Marked[?x] .
        @name early
        :Early[?x] :- :Thing[?x], NOT :Rare[?x] .
        @name includes
        [:Early, rdfs:subClassOf, :Marked] :- :Thing[?x], NOT :Never[?x] .
        @name cax-sco
        [?x, a, ?d] :- [?c, rdfs:subClassOf, ?d], [?x, a, ?c] .
    """
    data = facts(":Thing[:a], :Thing[:b], :Rare[:b] .")
    assert not run(data, parse_program(PREFIX + rules)).suspended
    found, _ = close(data, parse_program(PREFIX + rules))
    derived = ":Late[:b], :Early[:a], :Marked[:a], [:Early, rdfs:subClassOf, :Marked] ."
    assert found == {*data, *facts(derived)}


def test_a_sum_that_is_equal_to_another_literal() -> None:
    """The sum is the same as 5, and takes its place beside it: so it would be counted itself."""
    rules = """
        @name sum
        [?x, :total, ?t] :- AGGREGATE([?x, :value, ?v] ON ?x BIND sum(?v) AS ?t) .
        @name dt-eq
        [?v, owl:sameAs, ?w] :- SAME_VALUE(?v, ?w) .
        @name eq-rep-o
        [?s, ?p, ?o2] :- [?o1, owl:sameAs, ?o2], [?s, ?p, ?o1] .
    """
    late = (IRI("http://example.org/b"), IRI("http://example.org/value"), Literal("5", XSD + "decimal"))
    assert suspended(rules, "[:a, :value, 2.0], [:a, :value, 3.0], [:b, :value, 5] .") == [
        ("sum", [], {late})
    ]
    assert suspended(rules, "[:a, :value, 2.0], [:a, :value, 3.5], [:b, :value, 5] .") == []


def test_the_same_rules_over_another_ontology() -> None:
    data = facts(":Thing[:a], [:Plain, rdfs:subClassOf, :Dull] .")
    found, _ = close(data, parse_program(PREFIX + CYCLE_OF_DATA))
    assert found == {*data, *facts(":Plain[:a], :Dull[:a] .")}


COPY_ANY = "[?x, ?p, ?x] :- :A[?x], [?y, ?p, ?x], NOT [?x, :q, ?x] ."
COPY_OPEN = "[?x, ?p, ?x] :- :A[?x], [?p, :is, :open], [?y, ?p, ?x], NOT [?x, :q, ?x] ."


def test_a_cycle_over_any_property() -> None:
    assert suspended(COPY_ANY, ":A[:a], [:b, :q, :a] .") == [
        ("rule 1", [":q", "any property (derived)", ":q"], set())
    ]


def test_open_properties_that_the_negation_does_not_read() -> None:
    data = facts(":A[:a], :A[:b], [:b, :p, :a], [:b, :q, :b] .")
    found, _ = close(data, parse_program(PREFIX + COPY_OPEN))
    assert found == set(data), "no property is open"
    more = [*data, *facts("[:p, :is, :open] .")]
    found, _ = close(more, parse_program(PREFIX + COPY_OPEN))
    assert found == {*more, *facts("[:a, :p, :a] .")}


@pytest.mark.parametrize(
    ("rules", "data"),
    [
        pytest.param(
            ":A[?x] :- :B[?x], NOT :C[?x] .\n:C[?x] :- :D[?x] .", ":B[:a], :B[:b], :D[:b] .", id="a negation"
        ),
        pytest.param(
            ":A[?x] :- :X[?x], NOT :B[?x] .\n:B[?x] :- :X[?x], NOT :C[?x] .\n:C[?x] :- :X[?x], NOT :D[?x] .",
            ":X[:a], :X[:b], :D[:a] .",
            id="a tower, written from the top",
        ),
        pytest.param(
            ":A[?x] :- :A[?y], [?y, :next, ?x], NOT :Stop[?x] .",
            ":A[:a], [:a, :next, :b], [:b, :next, :c], [:c, :next, :d], :Stop[:d] .",
            id="recursion beside a negation",
        ),
        pytest.param(
            "[?x, :n, ?n] :- AGGREGATE([?x, :knows, ?y] ON ?x BIND count(?y) AS ?n) .\n"
            "[?x, :knows, ?y] :- [?y, :knows, ?x] .",
            "[:a, :knows, :b], [:c, :knows, :a] .",
            id="an aggregate",
        ),
        pytest.param(
            ":B[?x] :- :A[?x], NOT :C[?x] .\n"
            "[?x, :n, ?n] :- AGGREGATE(:B[?x], [?x, :knows, ?y] ON ?x BIND count(?y) AS ?n) .",
            ":A[:a], :A[:c], :C[:c], [:a, :knows, :b], [:c, :knows, :b] .",
            id="an aggregate above a negation",
        ),
        pytest.param(
            ":A[:a] :- NOT :B[:a] .\n:B[?x] :- :C[?x], NOT :D[?x] .",
            ":C[:a] .",
            id="only a negation, above one",
        ),
        pytest.param(
            ":A[:a] :- NOT :B[:a] .\n:B[?x] :- :C[?x] .", ":C[:a] .", id="only a negation, that fails"
        ),
        pytest.param(":A[:a] :- NOT :B[:a] .", "", id="only a negation, and no facts"),
        pytest.param(
            "@name clash\nfalse :- :A[?x], NOT :B[?x] .\n:B[?x] :- :C[?x], NOT :D[?x] .",
            ":A[:a], :A[:b], :C[:a], :C[:b], :D[:b] .",
            id="a constraint",
        ),
    ],
)
def test_programs_in_order(rules: str, data: str) -> None:
    program = parse_program(PREFIX + rules)
    assert close(facts(data), program) == naive.closure(facts(data), program, INTEGERS)


def test_strata_are_as_few_as_can_be() -> None:
    """Rules whose order does not matter share one."""
    rules = """
        :A1[?x] :- :X[?x], NOT :Y[?x] .
        :B[?x] :- :X[?x], NOT :A1[?x], NOT :A2[?x] .
        :A2[?x] :- :X[?x], NOT :Z[?x] .
        :C[?x] :- :B[?x] .
        :D[?x] :- :C[?x], NOT :Y[?x] .
    """
    result = run(facts(":X[:a], :X[:b], :Y[:a], :Z[:a] ."), parse_program(PREFIX + rules))
    assert [set(stratum) for stratum in result.strata.rules] == [{0, 2}, {1, 4}]
