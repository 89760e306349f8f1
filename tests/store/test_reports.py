"""What a store reports about itself: at a glance, in numbers, its rules, its plans, what is inconsistent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rdflib import OWL, RDF, RDFS, XSD, Graph, Literal, Namespace

import corollary.reasoner.deriving as module
from corollary.language import Program, UnknownProfileError, parse_program
from corollary.store import CorollaryStore

EX = Namespace("http://example.org/")


def family() -> Graph:
    graph = Graph(CorollaryStore(rules="rdfs"), EX.g)
    graph.bind("ex", EX)
    graph.add((EX.A, RDFS.subClassOf, EX.B))
    graph.add((EX.x, RDF.type, EX.A))
    graph.add((EX.x, EX.name, Literal("x")))
    return graph


def store_of(graph: Graph) -> CorollaryStore:
    assert isinstance(graph.store, CorollaryStore)
    return graph.store


# At a glance


def test_looking_does_not_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def reason(*_: object) -> None:
        raise AssertionError

    for name in ("materialise", "maintain"):
        monkeypatch.setattr(module, name, reason)
    store = store_of(family())
    assert repr(store) == "<CorollaryStore rdfs: 0 explicit, 3 changes wait for the next read>"
    assert "known at the next read" in store._repr_html_()
    assert "<th>changes waiting</th><td>3</td>" in store._repr_html_()


def test_the_summary_names_rules_explicit_and_inferred() -> None:
    graph = family()
    store = store_of(graph)
    inferred = len(graph) - 3
    assert repr(store) == f"<CorollaryStore rdfs: 3 explicit, {inferred:,} inferred>"
    assert "<th>rules</th><td>rdfs</td>" in store._repr_html_()
    assert f"<th>inferred</th><td>{inferred:,}</td>" in store._repr_html_()
    graph.add((EX.y, RDF.type, EX.A))
    assert repr(store) == "<CorollaryStore rdfs: 3 explicit, 1 change waits for the next read>"
    assert len(store.inferred()) > inferred
    assert repr(store) == f"<CorollaryStore rdfs: 4 explicit, {len(store.inferred()):,} inferred>"


@pytest.mark.parametrize(
    ("rules", "title"),
    [
        (["rdfs", "<rules>.dlog"], "rdfs+<rules>.dlog"),
        (Path("family.dlog"), "family.dlog"),
        (parse_program("[?y, a, ?x] :- [?x, a, ?y] ."), "1 rule"),
    ],
)
def test_rules_are_named_and_not_read(
    rules: object, title: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They have to be there."""
    monkeypatch.chdir(tmp_path)
    for name in ("<rules>.dlog", "family.dlog"):
        (tmp_path / name).write_text("no rules")
    store = CorollaryStore(rules=rules)  # type: ignore[arg-type]
    assert repr(store) == f"<CorollaryStore {title}: 0 explicit, reasoning waits for the next read>"
    assert title.replace("<", "&lt;").replace(">", "&gt;") in store._repr_html_()


def test_without_rules_nothing_waits_to_be_inferred() -> None:
    graph = Graph(CorollaryStore(rules="none"), EX.g)
    assert repr(graph.store) == "<CorollaryStore no rules: 0 explicit, 0 inferred>"
    graph.add((EX.x, RDF.type, EX.A))
    assert repr(graph.store) == "<CorollaryStore no rules: 0 explicit, 1 change waits for the next read>"


# Rules


def test_the_program() -> None:
    program = CorollaryStore(rules="rdfs").program()
    assert isinstance(program, Program)
    assert repr(program) == f"<Program 'rdfs': {len(program)} rules>"
    assert repr(parse_program("[?y, a, ?x] :- [?x, a, ?y] .")) == "<Program '': 1 rule>"
    assert CorollaryStore(rules="none").program() is None
    both = CorollaryStore("rules=rhodf; rules=owl2rl").program()
    assert both is not None
    assert both.name == "rhodf+owl2rl"


def test_rule_files_are_given_as_paths(tmp_path: Path) -> None:
    path = tmp_path / "mine.dlog"
    path.write_text("PREFIX : <http://example.org/>\n:B[?x] :- :A[?x] .")
    graph = Graph(CorollaryStore(rules=[path]), EX.g)
    graph.add((EX.x, RDF.type, EX.A))
    assert (EX.x, RDF.type, EX.B) in graph


def test_unknown_rules_are_refused() -> None:
    with pytest.raises(UnknownProfileError, match="did you mean rdfs"):
        CorollaryStore(rules="rdf").program()


# Numbers


def test_statistics_agree_with_what_is_shown() -> None:
    graph = family()
    graph.add((Literal("odd"), EX.name, EX.x))
    statistics = store_of(graph).statistics()
    assert statistics.rules == "rdfs"
    assert statistics.explicit == len(store_of(graph).explicit()) == 4
    assert statistics.inferred == len(store_of(graph).inferred())
    assert statistics.total == len(graph)
    assert statistics.graphs == {f"<{EX.g}>": 4}
    assert statistics.seconds > 0
    counts = {p.n3(): 0 for p in graph.predicates()}
    for predicate in graph.predicates():
        counts[predicate.n3()] += 1
    assert {name: count.explicit + count.inferred for name, count in statistics.predicates.items()} == counts
    assert next(iter(statistics.predicates)) == max(counts, key=lambda name: counts[name])
    terms = {term for triple in graph for term in triple}
    assert sum(statistics.terms.values()) == len(terms)
    assert statistics.terms["literals"] == 2


def test_statistics_are_printed_and_json() -> None:
    statistics = store_of(family()).statistics()
    assert json.loads(json.dumps(statistics.as_dict()))["predicates"][f"<{EX.name}>"] == {
        "explicit": 1,
        "inferred": 0,
    }
    lines = str(statistics).splitlines()
    assert f"explicit         {statistics.explicit:,}" in lines
    assert f"predicates       {len(statistics.predicates):,}" in lines
    assert "  ..." not in lines or len(statistics.predicates) > 10


def test_statistics_are_displayed_with_prefixes() -> None:
    """``as_dict`` has N-Triples texts."""
    graph = family()
    graph.bind("ex", EX)
    statistics = store_of(graph).statistics()
    assert "  ex:name  1 explicit, 0 inferred" in str(statistics).splitlines()
    assert "<td>ex:name</td><td>1</td><td>0</td>" in statistics._repr_html_()
    assert f"<{EX.name}>" in statistics.as_dict()["predicates"]
    assert "_names" not in statistics.as_dict()


def test_statistics_of_nothing() -> None:
    statistics = CorollaryStore(rules="none").statistics()
    assert (statistics.total, statistics.inconsistencies, statistics.graphs, statistics.predicates) == (
        0,
        0,
        {},
        {},
    )


# Plans


def test_the_plan_names_modules_and_rules() -> None:
    text = store_of(family()).explain_plan()
    assert text.startswith("rdfs: ")
    assert "\nModules\n" in text
    assert "cax-sco" in text or "rdfs9" in text
    assert CorollaryStore(rules="none").explain_plan() == "no rules\n"


# Inconsistencies


def test_inconsistencies_name_the_rule_and_the_triples() -> None:
    graph = Graph(CorollaryStore(rules="owl2rl"), EX.g)
    graph.bind("ex", EX)
    store = store_of(graph)
    assert store.inconsistencies() == []
    triples = (
        (EX.A, OWL.disjointWith, EX.B),
        (EX.x, RDF.type, EX.A),
        (EX.x, RDF.type, EX.B),
    )
    for triple in triples:
        graph.add(triple)
    found = store.inconsistencies()
    assert [one.rule for one in found] == ["cax-dw"]
    assert set(found[0].triples) == set(triples)
    assert found[0].conditions == ()
    assert repr(found[0]).startswith("<Inconsistency cax-dw: ")
    for text in ("ex:A owl:disjointWith ex:B", "ex:x a ex:A"):
        assert text in str(found[0])
    assert store.statistics().inconsistencies == 1
    graph.remove(triples[0])
    assert store.inconsistencies() == []


def test_a_notebook_shows_copies_once_and_classes_by_their_definitions() -> None:
    """As ``check``: the one with the fewest inferred facts, and no label of an anonymous class."""
    graph = Graph(CorollaryStore(rules="owl2rl")).parse(
        format="turtle",
        data="""
        @prefix : <http://example.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
        :Plain owl:complementOf [ owl:onProperty :topping ; owl:someValuesFrom :Meat ] .
        :p a :Plain ; :topping :h . :h a :Meat .
        :b1 owl:sameAs :b2 ; owl:differentFrom :b2 .
        """,
    )
    found = store_of(graph).inconsistencies()
    assert [one.sentence for one in found if not one.is_copy] == [
        ":b1 and :b2 are equal, and are said to be different",
        ":p is a :Plain and a (:topping some :Meat), which are complements",
    ]
    assert (found[0].is_copy, found[0].triples) == (
        False,
        ((EX.b1, OWL.sameAs, EX.b2), (EX.b1, OWL.differentFrom, EX.b2)),
    )
    html = found._repr_html_()  # type: ignore[attr-defined]
    copies = sum(one.is_copy for one in found)
    assert f"{len(found)} inconsistencies, {copies} of them copies" in html and copies
    assert ":Plain owl:complementOf (:topping some :Meat)" in html
    assert "_:" not in html


def test_what_lists_and_values_add_is_a_condition() -> None:
    graph = Graph(CorollaryStore(rules="owl2rl"), EX.g)
    graph.add((EX.x, EX.age, Literal("old", datatype=XSD.integer)))
    found = store_of(graph).inconsistencies()
    assert len(found) == 1
    assert found[0].triples == () or found[0].triples[0][0] == EX.x
    assert any("ILL_TYPED(" in condition for condition in found[0].conditions)


def test_without_rules_nothing_is_inconsistent() -> None:
    assert CorollaryStore(rules="none").inconsistencies() == []
