"""The W3C's SPARQL 1.1 query tests: what passes with rdflib's Memory store passes with ours."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import pytest
from _pytest.mark import ParameterSet
from rdflib import RDF, Dataset, Graph, Namespace, URIRef
from rdflib.collection import Collection
from rdflib.query import Result
from rdflib.term import Node
from tests.conftest import NO_CORPUS, find_corpus
from tests.sparql.results import same_results

from corollary.store import CorollaryStore

MF = Namespace("http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#")
QT = Namespace("http://www.w3.org/2001/sw/DataAccess/tests/test-query#")

FOLDERS = [
    *(
        "aggregates",
        "bind",
        "bindings",
        "cast",
        "construct",
        "csv-tsv-res",
        "exists",
        "functions",
        "grouping",
    ),
    *("json-res", "negation", "project-expression", "property-path", "subquery"),
]

FORMATS = {".srx": "xml", ".srj": "json", ".csv": "csv", ".tsv": "tsv"}


@dataclass(frozen=True)
class Case:
    """A query over a default graph and named graphs, and the file with its result."""

    query: Path
    data: tuple[Path, ...]
    named: tuple[Path, ...]
    result: Path


def path_of(node: Node | None) -> Path:
    return Path(unquote(urlparse(str(node)).path))


def cases() -> list[ParameterSet]:
    """All query tests of the corpus; one skipped case without it."""
    corpus = find_corpus()
    if corpus is None:
        skip = [pytest.mark.corpus, pytest.mark.skip(reason=NO_CORPUS)]
        return [pytest.param(None, id="no corpus", marks=skip)]
    found = []
    for folder in FOLDERS:
        manifest = corpus / "w3c" / "sparql" / "sparql11" / folder / "manifest.ttl"
        graph = Graph().parse(manifest, publicID=manifest.as_uri())
        entries = graph.value(URIRef(manifest.as_uri()), MF.entries)
        assert entries is not None
        for test in Collection(graph, entries):
            kind, action = graph.value(test, RDF.type), graph.value(test, MF.action)
            if kind not in (MF.QueryEvaluationTest, MF.CSVResultFormatTest):
                continue
            assert action is not None
            case = Case(
                path_of(graph.value(action, QT.query)),
                tuple(map(path_of, graph.objects(action, QT.data))),
                tuple(map(path_of, graph.objects(action, QT.graphData))),
                path_of(graph.value(test, MF.result)),
            )
            name = f"{folder}/{str(test).rpartition('#')[2]}"
            found.append(pytest.param(case, id=name, marks=pytest.mark.corpus))
    return found


def loaded(case: Case, store: Any) -> Dataset:
    dataset = Dataset(store=store)
    for path in case.data:
        dataset.default_graph.parse(path, publicID=path.as_uri())
    for path in case.named:
        dataset.graph(URIRef(path.as_uri())).parse(path, publicID=path.as_uri())
    return dataset


def answer(case: Case, dataset: Dataset) -> Result:
    """The result, with everything computed that might raise."""
    result = dataset.query(case.query.read_text("utf-8"), base=case.query.as_uri())
    len(result)
    return result


def expected(case: Case, kind: str) -> Result:
    if kind == "CONSTRUCT":
        result = Result("CONSTRUCT")
        result.graph = Graph().parse(case.result)
        return result
    with case.result.open("rb") as file:
        return Result.parse(file, format=FORMATS[case.result.suffix])


@pytest.mark.parametrize("case", cases())
@pytest.mark.filterwarnings("ignore")
def test_query(case: Case) -> None:
    result = answer(case, loaded(case, CorollaryStore(rules="none")))
    try:
        published = expected(case, result.type)
    except Exception as problem:
        pytest.skip(f"rdflib cannot read the published result: {problem}")
    try:
        reference = answer(case, loaded(case, "Memory"))
    except Exception:  # rdflib cannot answer
        assert same_results(result, published)
    else:
        if same_results(reference, published) or not same_results(result, reference):
            assert same_results(result, published)
