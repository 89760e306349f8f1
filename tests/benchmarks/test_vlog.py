"""Programs in VLog's syntax: over names, over triples, and the numbers of their rules."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.vlog import over_triples, program_of, recursive_rules, without_equality

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


def test_recursive_rules() -> None:
    program = over_triples(TEXT)
    assert recursive_rules(program) == 4
    assert recursive_rules(without_equality(program)) == 3
    chain = over_triples(TEXT.replace("A(Y) :- p(X,Y)\n", ""))
    assert recursive_rules(chain) == 2


@pytest.mark.corpus
def test_claros_le_has_the_rules_of_the_paper_but_two(corpus: Path) -> None:
    """Hu, Motik, Horrocks (2019), table 1: 1,031 nonrecursive and 306 recursive rules."""
    program = over_triples((corpus / "programs" / "Claros_LE.dlog").read_text())
    assert (len(program), recursive_rules(program)) == (2223, 2021)
    part = without_equality(program)
    assert (len(part) - recursive_rules(part), recursive_rules(part)) == (1033, 306)
