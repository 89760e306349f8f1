"""Real ontologies and data: the engine's closure is owlrl's, up to the listed clutter.

owlrl takes from a second to a minute for each of these; where it would take longer, the building
comes with the part of the ontology that its terms lead to.
"""

from __future__ import annotations

import gzip
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import pyoxigraph
import pytest
from tests.engine import Fact, close, run
from tests.oracles.naive import visible
from tests.oracles.peers import is_clutter, is_reflexive, owlrl_closure
from tests.strategies import MORE_EXAMPLES

from corollary.language import BlankNode, Constant, parse_constant
from corollary.profiles import load_profile

pytestmark = pytest.mark.corpus

VOCABULARIES = ("crm", "dcat", "dcterms", "foaf", "org", "prov", "skos", "sosa")
"""Not rdf, rdfs and owl: what these say of the built-in terms makes clutter lead to more of it."""


def read(*paths: Path) -> set[Fact]:
    """The facts of N-Triples files, the blank nodes of each kept apart."""
    facts: set[Fact] = set()
    for number, path in enumerate(paths):

        def constant(term: object, prefix: str = f"f{number}") -> Constant:
            made = parse_constant(str(term))
            return BlankNode(prefix + made.label) if isinstance(made, BlankNode) else made

        text = gzip.decompress(path.read_bytes())
        for triple in pyoxigraph.parse(text, format=pyoxigraph.RdfFormat.N_TRIPLES):
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


def lubm(corpus: Path) -> set[Fact]:
    folder = corpus / "lubm"
    return read(folder / "univ-bench.nt.gz", folder / "lubm-1.nt.gz")


def test_lubm_under_rhodf_has_the_published_size(corpus: Path) -> None:
    assert len(run(lubm(corpus), load_profile("rhodf")).index) == 126_760


@pytest.mark.slow
def test_lubm(corpus: Path) -> None:
    """The facts of a tenth of all subjects, unless the run is long: owlrl needs minutes for a university."""
    ontology = read(corpus / "lubm" / "univ-bench.nt.gz")
    data = sorted(lubm(corpus) - ontology, key=str)
    assert_agreement({*ontology, *data[: len(data) if MORE_EXAMPLES > 1 else len(data) // 10]})


@pytest.mark.parametrize("name", VOCABULARIES)
def test_vocabulary(corpus: Path, name: str) -> None:
    assert_agreement(read(corpus / "real" / "vocabularies" / f"{name}.nt.gz"))


def test_sensor_vocabulary_with_the_classes_it_uses(corpus: Path) -> None:
    """ssn restricts classes that only sosa declares."""
    folder = corpus / "real" / "vocabularies"
    assert_agreement(read(folder / "ssn.nt.gz", folder / "sosa.nt.gz"))


@pytest.mark.slow
def test_relation_ontology(corpus: Path) -> None:
    """168 property chains, 45 transitive properties."""
    assert_agreement(read(corpus / "real" / "ro" / "ro.nt.gz"))


SLOW = pytest.mark.skipif(MORE_EXAMPLES == 1, reason="owlrl needs minutes: set MORE_EXAMPLES to more than 1")


@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param("ACAD", marks=SLOW), "ARC", "ART", "BIXB"])
def test_building(corpus: Path, name: str) -> None:
    """A building with what Brick says of its terms; with all of Brick, owlrl would need minutes for some."""
    building = read(corpus / "real" / "brick-buildings" / f"{name}.nt.gz")
    brick = read(corpus / "real" / "brick" / "Brick-1.1.nt.gz")
    assert_agreement(building | reachable(brick, building))
