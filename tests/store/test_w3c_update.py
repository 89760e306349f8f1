"""The W3C's SPARQL 1.1 Update tests: the result is as the suite says, with rdflib's Memory store or not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlparse

import pytest
from _pytest.mark import ParameterSet
from rdflib import RDF, RDFS, Dataset, Graph, Namespace, URIRef
from rdflib.collection import Collection
from rdflib.compare import isomorphic
from rdflib.term import Node
from tests.conftest import NO_CORPUS, find_corpus

from corollary.store import CorollaryStore

MF = Namespace("http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#")
UT = Namespace("http://www.w3.org/2009/sparql/tests/test-update#")

Quads = dict[str | None, Path]
"""What files graphs are to hold; None is the default graph."""


@dataclass(frozen=True)
class Case:
    """A request, what is there before it, and what is there after it."""

    request: Path
    before: Quads
    after: Quads


def cases() -> list[ParameterSet]:
    """All evaluation tests of the suite; without the corpus one that is skipped."""
    corpus = find_corpus()
    if corpus is None:
        return [pytest.param(None, id="no corpus", marks=[pytest.mark.corpus, pytest.mark.skip(NO_CORPUS)])]
    folder = corpus / "w3c" / "sparql" / "sparql11"
    return [case for manifest in sorted(folder.glob("*/manifest.ttl")) for case in read(manifest)]


def read(manifest: Path) -> Iterator[ParameterSet]:
    """The cases of a manifest."""
    graph = Graph().parse(manifest, publicID=manifest.as_uri())
    for entries in graph.objects(None, MF.entries):
        for test in Collection(graph, entries):
            if (test, RDF.type, MF.UpdateEvaluationTest) in graph:
                action, result = graph.value(test, MF.action), graph.value(test, MF.result)
                assert action is not None and result is not None
                case = Case(path(graph.value(action, UT.request)), quads(graph, action), quads(graph, result))
                yield pytest.param(
                    case,
                    id=f"{manifest.parent.name}-{str(test).rpartition(chr(35))[2]}",
                    marks=pytest.mark.corpus,
                )


def quads(graph: Graph, node: Node) -> Quads:
    """The files of an action or a result."""
    default = graph.value(node, UT.data)
    found: Quads = {} if default is None else {None: path(default)}
    for data in graph.objects(node, UT.graphData):
        found[str(graph.value(data, RDFS.label))] = path(graph.value(data, UT.graph))
    return found


def path(term: Node | None) -> Path:
    assert term is not None
    return Path(unquote(urlparse(str(term)).path))


def graph_of(dataset: Dataset, name: str | None) -> Graph:
    return dataset.default_graph if name is None else dataset.graph(URIRef(name))


@pytest.mark.parametrize("case", cases())
def test_update(case: Case) -> None:
    dataset = Dataset(CorollaryStore(rules="none"))
    for name, file in case.before.items():
        graph_of(dataset, name).parse(file, publicID=file.as_uri())
    dataset.update(case.request.read_text("utf-8"))
    names = {*case.after, *(str(g.identifier) for g in dataset.graphs() if g != dataset.default_graph)}
    for name in {None, *names}:
        expected = Graph()
        if name in case.after:
            expected.parse(case.after[name], publicID=case.after[name].as_uri())
        assert isomorphic(graph_of(dataset, name), expected), name
