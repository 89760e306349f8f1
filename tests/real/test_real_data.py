"""Real ontologies and data: the engine's closure is owlrl's, up to the listed clutter.

owlrl takes from a second to a minute for each of these; where it would take longer, the building
comes with the part of the ontology that its terms lead to.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import pyoxigraph
import pytest

from corollary.language import IRI, RDF, BlankNode, Constant, parse_constant
from corollary.profiles import load_profile
from tests.engine import Fact, close, run
from tests.oracles.naive import visible
from tests.oracles.peers import is_clutter, is_reflexive, owlrl_closure

pytestmark = pytest.mark.corpus

VOCABULARIES = (
    "crm", "dcat", "dcterms", "foaf", "org", "owl", "prov", "rdf", "rdfs", "skos", "sosa", "ssn"
)  # fmt: skip


def read(*paths: Path) -> set[Fact]:
    """The facts of N-Triples files, the blank nodes of each kept apart."""
    facts: set[Fact] = set()
    for number, path in enumerate(paths):

        def constant(term: object, prefix: str = f"f{number}") -> Constant:
            made = parse_constant(str(term))
            return BlankNode(prefix + made.label) if isinstance(made, BlankNode) else made

        import gzip

        with gzip.open(path) as file:
            for triple in pyoxigraph.parse(file, format=pyoxigraph.RdfFormat.N_TRIPLES):
                facts.add((constant(triple.subject), constant(triple.predicate), constant(triple.object)))
    return facts


def reachable(ontology: Iterable[Fact], start: Iterable[Fact]) -> set[Fact]:
    """What the ontology says of the terms in ``start``, of the terms in that, and so on."""
    about: defaultdict[Constant, list[Fact]] = defaultdict(list)
    for fact in ontology:
        about[fact[0]].append(fact)
    terms = {term for fact in start for term in fact}
    waiting = list(terms)
    found: set[Fact] = set()
    while waiting:
        for fact in about[waiting.pop()]:
            found.add(fact)
            new = {term for term in fact if term not in terms}
            terms |= new
            waiting += new
    return found


def assert_agreement(facts: set[Fact]) -> None:
    theirs, messages = owlrl_closure(facts)
    closed, names = close(facts, load_profile("owl2rl"))
    ours = visible(closed)
    assert {fact for fact in theirs - ours if not is_clutter(fact)} == set()
    assert {fact for fact in ours - theirs if not is_reflexive(fact)} == set()
    assert bool(names) == bool(messages)
