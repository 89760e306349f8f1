"""The report of a maintenance run, and the store that keeps the last one."""

from __future__ import annotations

import json

from rdflib import RDF, RDFS, XSD, Graph, Literal, Namespace

from corollary.maintain import Report
from corollary.store import CorollaryStore

EX = Namespace("http://example.org/")


def a_report() -> Report:
    report = Report("backward/forward", removed=1, added=2000)
    with report.at("data", "a < b") as line:
        line.candidates, line.proved, line.deleted = 1000, 400, 600
    with report.at("data", "a < b") as line:
        line.candidates += 500
    with report.at("data", "insert") as line:
        line.inserted = 7
    return report


def test_a_module_has_one_line_a_stage() -> None:
    report = a_report()
    assert [(line.module, line.candidates) for line in report.stages] == [("a < b", 1500), ("insert", 0)]
    assert all(line.seconds > 0 for line in report.stages)


def test_as_data() -> None:
    data = json.loads(json.dumps(a_report().as_dict()))
    assert data["strategy"] == "backward/forward"
    assert data["stages"][1] | {"seconds": 0} == {
        "stage": "data", "module": "insert", "candidates": 0, "proved": 0,
        "deleted": 0, "rederived": 0, "inserted": 7, "seconds": 0,
    }  # fmt: skip


def test_as_text() -> None:
    head, headings, *rows = str(a_report()).splitlines()
    assert head == "backward/forward: 1 explicit fact removed, 2,000 added, 0.0 ms"
    assert headings.split()[:3] == ["stage", "module", "candidates"]
    assert rows[0].split()[:7] == ["data", "a", "<", "b", "1,500", "400", "600"]
    assert {len(row) for row in rows} == {len(headings)}


def test_as_html() -> None:
    html = a_report()._repr_html_()
    assert "<th>stage</th><th>module</th>" in html
    assert "<td>a &lt; b</td><td>1,500</td>" in html
    assert html.count("<tr>") == 3


def test_a_store_keeps_the_last_one() -> None:
    store = CorollaryStore(rules="rdfs")
    graph = Graph(store, EX.g)
    graph.add((EX.A, RDFS.subClassOf, EX.B))
    graph.add((EX.x, RDF.type, EX.A))
    assert store.last_maintenance() is None, "the first time everything is materialised"
    graph.remove((EX.x, RDF.type, EX.A))
    report = store.last_maintenance()
    assert report is not None and (report.removed, report.added) == (1, 0)
    len(graph)
    assert store.last_maintenance() is report, "reading is no change"
    graph.update("DELETE DATA { <urn:a> <urn:b> <urn:c> } ; INSERT DATA { <urn:x> a <http://example.org/A> }")
    report = store.last_maintenance()
    assert report is not None and (report.removed, report.added) == (0, 1)
    store.open("rules=owl2rl")
    report = store.last_maintenance()
    assert report is not None and report.strategy == "starting over", "lists and values need modules"
    assert "modules" in report.reason


def test_modules_tell_what_became_of_their_candidates() -> None:
    """Of what a module names some is proved and some goes; proofs may find more that has none."""
    graph = Graph(CorollaryStore(rules="rdfs"))
    store = graph.store
    assert isinstance(store, CorollaryStore)
    store.use_rules(
        """PREFIX : <http://example.org/>
        :B[?x] :- :A[?x] .
        :C[?x] :- :B[?x] .
        :C[?x] :- :D[?x], :E[?x] ."""
    )
    for name in (EX.x, EX.y):
        graph.add((name, RDF.type, EX.A))
    graph.add((EX.y, RDF.type, EX.D))
    graph.add((EX.y, RDF.type, EX.E))
    len(graph)
    graph.update(
        "PREFIX : <http://example.org/> DELETE DATA { :x a :A . :y a :A }",
    )
    assert set(graph.subject_objects(RDF.type)) == {(EX.y, EX.C), (EX.y, EX.D), (EX.y, EX.E)}
    report = store.last_maintenance()
    assert report is not None and report.strategy == "backward/forward"
    lines = {line.module: (line.candidates, line.proved, line.deleted) for line in report.stages}
    assert lines["explicit"] == (2, 0, 2)
    assert lines["inclusion"] == (4, 1, 3)
    assert lines["proofs"] == (0, 0, 0)


def test_what_follows_otherwise_in_one_step_is_no_candidate() -> None:
    """[x, p, y] goes: x is a B as well because x is an A. The literal stays because y has it, too."""
    graph = Graph(CorollaryStore(rules="owl2rl"))
    store = graph.store
    assert isinstance(store, CorollaryStore)
    graph.add((EX.A, RDFS.subClassOf, EX.B))
    graph.add((EX.p, RDFS.domain, EX.B))
    graph.add((EX.q, RDFS.range, XSD.string))
    for triple in (
        (EX.x, RDF.type, EX.A),
        (EX.x, EX.p, EX.y),
        (EX.x, EX.q, Literal("1")),
        (EX.y, EX.q, Literal("1")),
    ):
        graph.add(triple)
    for triple in ((EX.x, EX.p, EX.y), (EX.x, EX.q, Literal("1"))):
        assert triple in graph
        graph.remove(triple)
        assert (EX.x, RDF.type, EX.B) in graph
        report = store.last_maintenance()
        assert report is not None and report.strategy == "backward/forward"
        assert "proofs" not in [line.module for line in report.stages]
    graph.remove((EX.x, RDF.type, EX.A))
    assert (EX.x, RDF.type, EX.B) not in graph
