"""The W3C's SPARQL 1.1 entailment tests: queries under RDF, RDFS, D and OWL's RDF-based entailment.

Every case runs once for each of its regimes that rules can serve. Blank nodes in answers are those of the
data, as the regimes ask: no rule makes new ones, and literals as subjects are not shown. What a store does
differently from the regimes' letter, without a case that asks for it:

* An answer may name a term that no triple of the graph names: ``rdf:_1`` and its axioms are there always.
* An inconsistent graph is no error. It is answered, and ``MaterialisedView.inconsistencies`` tells.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote, urlparse

import pytest
from _pytest.mark import ParameterSet
from rdflib import RDF, Graph, Namespace, URIRef
from rdflib.collection import Collection
from rdflib.query import Result
from rdflib.term import Node
from tests.conftest import NO_CORPUS, find_corpus
from tests.sparql.results import rows, same_results

from corollary.language import Program, parse_program
from corollary.profiles import load_profile
from corollary.store import CorollaryStore
from corollary.terms.values import SUPPORTED_DATATYPES

MF = Namespace("http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#")
QT = Namespace("http://www.w3.org/2001/sw/DataAccess/tests/test-query#")
SD = Namespace("http://www.w3.org/ns/sparql-service-description#")
REGIMES = Namespace("http://www.w3.org/ns/entailment/")

OUT_OF_SCOPE = {
    "OWL-Direct": "the Direct Semantics asks for a reasoner of OWL 2 DL: complex classes in queries, and "
    "individuals that must exist without a name",
    "RIF": "rules in RIF's XML are not read",
}
"""Regimes that rules over triples do not serve. What only they can answer is skipped."""

EXCEPTIONS = {
    "sparqldl-11/OWL-RDF-Based": "no rule of OWL 2 RL makes a property's domain the range of its inverse",
    "sparqldl-12/OWL-RDF-Based": "published is the Direct Semantics' answer: in RDF-based semantics the "
    "restriction, a blank node of the data, is a domain too",
}
"""What must fail, and why."""


@dataclass(frozen=True)
class Case:
    """A query over a graph under an entailment regime, and the published result."""

    regime: str
    query: Path
    data: Path
    result: Path


def cases() -> list[ParameterSet]:
    """A case for every test and each of its regimes; without the corpus one that is skipped."""
    corpus = find_corpus()
    if corpus is None:
        skip = [pytest.mark.corpus, pytest.mark.skip(reason=NO_CORPUS)]
        return [pytest.param(None, id="no corpus", marks=skip)]
    return list(read(corpus / "w3c" / "sparql" / "sparql11" / "entailment" / "manifest.ttl"))


def read(manifest: Path) -> Iterator[ParameterSet]:
    """The cases of the manifest; a test that no regime of ours can answer is one that is skipped."""
    graph = Graph().parse(manifest, publicID=manifest.as_uri())
    entries = graph.value(URIRef(manifest.as_uri()), MF.entries)
    assert entries is not None
    for test in Collection(graph, entries):
        name = str(test).rpartition("#")[2]
        action = graph.value(test, MF.action)
        assert action is not None
        files = (graph.value(action, QT.query), graph.value(action, QT.data), graph.value(test, MF.result))
        query, data, result = (Path(unquote(urlparse(str(file)).path)) for file in files)
        regimes = regimes_of(graph, action)
        for regime in [regime for regime in regimes if regime not in OUT_OF_SCOPE] or regimes:
            case_name = f"{name}/{regime}"
            marks = [pytest.mark.corpus]
            if regime in OUT_OF_SCOPE:
                marks.append(pytest.mark.skip(reason=OUT_OF_SCOPE[regime]))
            elif case_name in EXCEPTIONS:
                marks.append(pytest.mark.xfail(reason=EXCEPTIONS[case_name], strict=True))
            yield pytest.param(Case(regime, query, data, result), id=case_name, marks=marks)


def regimes_of(graph: Graph, action: Node) -> list[str]:
    """The local names of the regimes, one or a list, under which a case has its result."""
    given = graph.value(action, SD.entailmentRegime)
    assert given is not None
    found = list(Collection(graph, given)) if (given, RDF.first, None) in graph else [given]
    return [str(regime).removeprefix(REGIMES) for regime in found]


def rules_of(regime: str) -> list[str | Program]:
    """The rules that serve a regime. D is RDFS with all supported datatypes recognised."""
    if regime == "RDF":
        rdfs = load_profile("rdfs")
        own = tuple(rule for rule in rdfs.rules if rule.name in ("rdf-axiom", "rdfD2"))
        return [replace(rdfs, rules=own, name="rdf")]
    if regime == "D":
        datatype = "http://www.w3.org/2000/01/rdf-schema#Datatype"
        facts = "".join(f"[<{name}>, a, <{datatype}>] .\n" for name in sorted(SUPPORTED_DATATYPES))
        return ["rdfs", parse_program(facts)]
    return ["rdfs" if regime == "RDFS" else "owl2rl-full"]


def answer(case: Case, data: Graph, rules: list[str | Program]) -> Result:
    """The store's answer to a case's query over some data under some rules."""
    graph = Graph(store=CorollaryStore(rules=rules))
    graph += data
    return graph.query(case.query.read_text("utf-8"), base=case.query.as_uri())


@pytest.mark.parametrize("case", cases())
def test_regime(case: Case) -> None:
    data = Graph().parse(case.data, publicID=case.data.as_uri())
    found = answer(case, data, rules_of(case.regime))
    if case.regime == "OWL-RDF-Based" and found.type == "SELECT":
        # The default profile leaves clutter out, so that answers may be missing; none is too many.
        assert Counter(rows(answer(case, data, ["owl2rl"]))) <= Counter(rows(found))
    with case.result.open("rb") as file:
        assert same_results(found, Result.parse(file, format="xml"))
