"""Conformance cases as data: a premise, and what must, or must not, follow from it.

Two collections are read, each in its own form: the FZI cases (folders of N-Triples and an
index.json) and the W3C's RDF semantics tests (a manifest in Turtle). Without the corpus every list
of cases is one skipped case, so that the report says why nothing ran.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlparse

import pytest
from _pytest.mark import ParameterSet
from rdflib import RDF, Graph, Literal, Namespace, URIRef
from rdflib.collection import Collection
from rdflib.term import Node
from tests.conftest import NO_CORPUS, find_corpus

MF = Namespace("http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#")


@dataclass(frozen=True)
class Case:
    """``premise`` entails ``conclusion``, or is inconsistent if that is None; unless ``holds`` is false.

    ``recognised`` are the IRIs of the datatypes that count as known.
    """

    name: str
    premise: Path
    conclusion: Path | None
    holds: bool = True
    recognised: tuple[str, ...] = ()


def fzi_cases(suite: str, exceptions: dict[str, str]) -> list[ParameterSet]:
    """The cases of ``fzi-rdfs`` or ``fzi-owl2rl``; ``exceptions`` are names with a reason each."""
    corpus = find_corpus()
    if corpus is None:
        return [_skipped()]
    folder = corpus / "conformance" / suite
    cases = []
    for entry in json.loads((folder / "index.json").read_text("utf-8")):
        inconsistent = entry["type"] == "INCONSISTENCY"
        assert inconsistent or entry["type"] == "POSITIVE_ENTAILMENT", entry
        path = {part: folder / file["file"] for part, file in entry["files"].items()}
        premise = path["input"] if inconsistent else path["premise"]
        cases.append(Case(entry["id"].removeprefix("rdfbased-"), premise, path.get("conclusion")))
    return _parameters(cases, exceptions)


def w3c_cases(exceptions: dict[str, str]) -> list[ParameterSet]:
    """The W3C's RDF semantics tests (RDF 1.1), those of the simple regime included."""
    corpus = find_corpus()
    if corpus is None:
        return [_skipped()]
    manifest = corpus / "w3c" / "rdf11" / "rdf-mt" / "manifest.ttl"
    graph = Graph().parse(manifest, publicID=manifest.as_uri())
    cases = []
    for test in _list(graph, URIRef(manifest.as_uri()), MF.entries):
        result = graph.value(test, MF.result)
        assert result is not None, test
        kind = graph.value(test, RDF.type)
        assert kind in (MF.PositiveEntailmentTest, MF.NegativeEntailmentTest), kind
        cases.append(
            Case(
                str(graph.value(test, MF.name)),
                _file(graph.value(test, MF.action)),
                None if isinstance(result, Literal) else _file(result),
                kind == MF.PositiveEntailmentTest,
                tuple(map(str, _list(graph, test, MF.recognizedDatatypes))),
            )
        )
    return _parameters(cases, exceptions)


def _list(graph: Graph, subject: Node, predicate: Node) -> list[Node]:
    head = graph.value(subject, predicate)
    assert head is not None, f"{subject} has no {predicate}"
    return list(Collection(graph, head))


def _file(iri: Node | None) -> Path:
    return Path(unquote(urlparse(str(iri)).path))


def _parameters(cases: Iterable[Case], exceptions: dict[str, str]) -> list[ParameterSet]:
    """One test a case; an exception must fail, so that none outlives its reason."""
    return [
        pytest.param(
            case,
            id=case.name,
            marks=[pytest.mark.corpus, *_expected_failure(exceptions.get(case.name))],
        )
        for case in cases
    ]


def _expected_failure(reason: str | None) -> list[pytest.MarkDecorator]:
    return [pytest.mark.xfail(reason=reason, strict=True)] if reason else []


def _skipped() -> ParameterSet:
    return pytest.param(None, id="no corpus", marks=[pytest.mark.corpus, pytest.mark.skip(reason=NO_CORPUS)])
