"""Facts drawn for a program: its classes and properties, some much more popular than others."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.vlog import SAME, over_triples
from benchmarks.workloads.dbpedia import by_popularity, drawn, functional, vocabulary

PROGRAM = over_triples("""
A(X) :- TE(X,rdf:type,<urn:A>)
B(X) :- TE(X,rdf:type,<urn:B>)
p(X,Y) :- TE(X,<urn:p>,Y)
no(X,Y) :- TE(X,<http://www.w3.org/2003/11/swrlb#notInValueSpace>,Y)
same(X,Y) :- TE(X,<http://www.w3.org/2002/07/owl#sameAs>,Y)
B(X) :- A(X)
A(X) :- p(X,Y)
A(X) :- no(Y,<urn:D>),p(X,Y)
A(Y) :- A(X),same(X,Y)
""")


def test_the_vocabulary_is_what_rules_read() -> None:
    assert vocabulary(PROGRAM) == (["urn:A"], ["urn:p"])


def test_facts_use_the_vocabulary() -> None:
    facts = drawn(PROGRAM, 500, 300)
    names = facts.dictionary.decode_all([int(p) for p in np.unique(facts.columns[1])])
    type_text = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
    assert set(names) == {type_text, "<urn:p>", f"<{SAME}>"}
    rows = np.stack(facts.columns, axis=1)
    assert len(np.unique(rows, axis=0)) == len(rows)
    closed = facts.close(PROGRAM)
    assert len(closed.index) > len(rows)


def test_a_functional_property_has_one_object_for_each_subject() -> None:
    program = over_triples("""
    p(X,Y) :- TE(X,<urn:p>,Y)
    q(X,Y) :- TE(X,<urn:q>,Y)
    same(X,Y) :- TE(X,<http://www.w3.org/2002/07/owl#sameAs>,Y)
    same(Y,Z) :- p(X,Y),p(X,Z)
    same(X,Z) :- same(X,Y),same(Y,Z)
    same(X,Z) :- q(X,Y),q(Z,Y)
    """)
    assert functional(program) == {"urn:p"}
    facts = drawn(program, 2_000, 30)
    p, q = (facts.dictionary.find(f"<urn:{name}>") for name in "pq")
    subjects = {name: facts.columns[0][facts.columns[1] == name] for name in (p, q)}
    assert len(set(subjects[p].tolist())) == subjects[p].size > 10
    assert len(set(subjects[q].tolist())) < subjects[q].size


@pytest.mark.parametrize("seed", [0, 1])
def test_popularity_falls_with_the_rank(seed: int) -> None:
    ranks = by_popularity(100, 10_000, np.random.default_rng(seed))
    counts = np.bincount(ranks, minlength=100)
    assert counts.size == 100
    assert counts[0] > 3 * counts[9] > 0
