"""Programs in VLog's syntax: over names, over triples, and the numbers of their rules."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.rule_counts import RuleCounts, rule_counts
from benchmarks.vlog import over_triples, program_of, without_equality

from corollary.language import format_rule

TEXT = """\
A(X) :- TE(X,rdf:type,<urn:A>)
p(X,Y) :- TE(X,<urn:p>,Y)
same(X,Y) :- TE(X,<http://www.w3.org/2002/07/owl#sameAs>,Y)
A(Y) :- p(X,Y)
p(X,Z) :- p(X,Y),p(Y,Z)
p(X,Y) :- A(X),A(Y)
p(Y,X) :- p(Z,X),same(Z,Y)
"""


def test_names_become_triples() -> None:
    program = over_triples(TEXT)
    assert [format_rule(rule) for rule in program] == [
        "<urn:A>[?Y] :- [?X, <urn:p>, ?Y] .",
        "[?X, <urn:p>, ?Z] :- [?X, <urn:p>, ?Y], [?Y, <urn:p>, ?Z] .",
        "[?X, <urn:p>, ?Y] :- <urn:A>[?X], <urn:A>[?Y] .",
        "[?Y, <urn:p>, ?X] :- [?Z, <urn:p>, ?X], [?Z, owl:sameAs, ?Y] .",
    ]
    assert len(program_of(TEXT)) == 7


def test_a_name_without_triple_is_refused() -> None:
    with pytest.raises(KeyError, match="q"):
        over_triples("q(X,Y) :- q(Y,X)")


def test_numbers_of_rules_and_strata() -> None:
    program = over_triples(TEXT)
    assert rule_counts(program) == RuleCounts(0, 4, 1)
    assert rule_counts(without_equality(program)) == RuleCounts(0, 3, 1)
    without_cycle = over_triples(TEXT.replace("A(Y) :- p(X,Y)\n", ""))
    assert rule_counts(without_cycle) == RuleCounts(1, 2, 1)
    two_strata = over_triples(TEXT.replace("p(X,Y) :- A(X),A(Y)\n", ""))
    assert rule_counts(two_strata) == RuleCounts(1, 2, 2)


@pytest.mark.corpus
def test_claros_le_has_the_rules_of_the_paper_but_two(corpus: Path) -> None:
    """Hu, Motik, Horrocks (2019), table 1: 1,031 nonrecursive and 306 recursive rules in 11 strata."""
    program = over_triples((corpus / "programs" / "Claros_LE.dlog").read_text())
    counts = rule_counts(program)
    assert (counts.nonrecursive, counts.recursive) == (202, 2021)
    assert rule_counts(without_equality(program)) == RuleCounts(1033, 306, 11)
