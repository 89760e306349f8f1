"""``store.compact()``: the terms that nothing uses go, and nothing else changes."""

from __future__ import annotations

import json
import sqlite3
import threading
import warnings
from pathlib import Path
from typing import Any
from weakref import ref

import pytest
from click.testing import CliRunner
from rdflib import OWL, RDF, RDFS, XSD, BNode, Dataset, Graph, Literal, Namespace, URIRef, Variable
from rdflib.graph import QuotedGraph
from tests.trust.operations import seen

from corollary.cli import main
from corollary.language import CorollaryError, parse_program
from corollary.profiles import load_rules
from corollary.reasoner.checkpoints import latest
from corollary.reasoner.folder import Folder
from corollary.reasoner.folder_place import DATABASE
from corollary.reasoner.options import Options
from corollary.store import CorollaryStore, InferredTripleWarning

EX = Namespace("http://example.org/")
MANY = 500
PREFIX = "@prefix : <http://example.org/> .\n"
LETTERS = [
    Literal("01", datatype=XSD.integer),
    Literal("Rex", lang="en-GB"),
    Literal('ä"\n\\\u2028', datatype=EX.odd),
    Literal(""),
    Literal("", datatype=XSD.string),
]


def filled(place: Path | None = None, rules: Any = "rhodf") -> CorollaryStore:
    """A store with a bit of everything, and with terms that nothing uses."""
    store = CorollaryStore(rules=rules)
    if place is not None:
        store.open(str(place), create=True)
    data = Dataset(store, default_union=False)
    home, named, formula = data.default_graph, data.graph(EX.g), QuotedGraph(store, EX.formula)
    for number in range(MANY):
        home.add((EX[f"gone{number}"], EX.gone, Literal(f"gone {number}")))
    home.add((EX.Dog, RDFS.subClassOf, EX.Animal))
    home.add((EX.rex, RDF.type, EX.Dog))
    named.add((BNode("node"), RDF.type, EX.Dog))
    for letter in LETTERS:
        named.add((EX.rex, EX.name, letter))
    data.graph(EX.empty)
    store.add((Variable("who"), EX.owns, BNode("b")), formula, True)
    store.add((EX.ann, EX.says, formula), home)
    store.bind("unused", URIRef(EX["unused#"]))
    store.commit()
    home.remove((None, EX.gone, None))
    return store


def dictionary_of(store: CorollaryStore) -> list[str]:
    dictionary = store.reasoner.versions.current().terms.dictionary
    return sorted(
        dictionary.decode(kind << 30 | number)
        for kind in range(3)
        for number in range(dictionary.count(kind))
    )


@pytest.mark.parametrize("rules", ["none", "rhodf", "owl2rl", "owl2rl-full"])
@pytest.mark.parametrize("in_folder", [False, True])
def test_only_terms_in_use_stay(rules: str, in_folder: bool, tmp_path: Path) -> None:
    store = filled(tmp_path if in_folder else None, rules)
    before = seen(store)
    size = (tmp_path / DATABASE).stat().st_size if in_folder else 0
    objects = {term.n3(): term for row in before[0] for term in row}
    assert store.compact() >= 2 * MANY
    assert seen(store) == before
    for row in seen(store)[0]:
        for term in row:
            assert term == objects[term.n3()] and type(term) is type(objects[term.n3()])
    assert {str(o) for o in Graph(store, EX.g).objects(EX.rex, EX.name)} == set(map(str, LETTERS))
    assert not any("gone" in text for text in dictionary_of(store))
    assert store.verify().is_sound
    assert store.compact() == 0
    if in_folder:
        assert (tmp_path / DATABASE).stat().st_size < size / 2
        store.add((EX.later, RDF.type, EX.Dog), Graph(store, EX.g))
        store.remove((EX.rex, EX.name, None), None)
        before = seen(store)
        store.close()
        again = CorollaryStore(rules=rules)
        again.open(str(tmp_path))
        assert seen(again)[:4] == before[:4]
        assert seen(again)[4] == before[4]
        assert again.verify().is_sound
        again.close()


def test_a_store_that_was_never_used_has_nothing_to_give_back() -> None:
    store = CorollaryStore()
    assert store.compact() == 0
    assert len(store) == 0
    store.add((EX.rex, RDF.type, EX.Dog), Graph(store, EX.g))
    assert (EX.rex, RDF.type, EX.Dog) in Graph(store, EX.g)


def test_it_commits() -> None:
    store = filled()
    home = Graph(store, EX.g)
    home.add((EX.tom, RDF.type, EX.Dog))
    store.compact()
    expected = seen(store)
    home.add((EX.max, RDF.type, EX.Dog))
    home.remove((None, RDF.type, None))
    assert seen(store) != expected
    store.rollback()
    assert seen(store) == expected


def test_readers_keep_their_moment() -> None:
    store = filled()
    graph = Dataset(store, default_union=True)
    rows = graph.query("SELECT ?x ?n { ?x ?p ?n } ORDER BY ?n")
    triples = store.triples((None, None, None))
    expected = {triple for triple, _ in store.triples((None, None, None))}
    first = next(triples)[0]
    store.compact()
    Graph(store, EX.g).add((EX.new, EX.new, Literal("new")))
    assert {first, *(triple for triple, _ in triples)} == expected
    assert {(row[Variable("x")], row[Variable("n")]) for row in rows.bindings} == {
        (s, o) for s, _, o in expected
    }


@pytest.mark.parametrize("rules", ["none", "rhodf"])
def test_nothing_holds_the_old_terms(rules: str) -> None:
    store = filled(rules=rules)
    len(store)
    store.query("SELECT ?x { ?x ?p ?o }", {}, {}, "__UNION__")
    store.use_rules("none")
    store.use_rules(rules)
    old = ref(store.reasoner.versions.current().terms)
    store.compact()
    assert old() is None


def test_clashes_and_explanations_are_found_afterwards() -> None:
    store = filled(rules="owl2rl")
    home = Graph(store, EX.g)
    home.add((EX.Dog, OWL.disjointWith, EX.Cat))
    home.add((EX.rex, RDF.type, EX.Cat))
    (clash,) = store.inconsistencies()
    store.compact()
    assert store.inconsistencies() == [clash]
    assert "Dog" in str(store.explain(clash))
    assert "subClassOf" in str(store.explain((EX.rex, RDF.type, EX.Animal)))
    assert store.statistics().terms["literals"] == len(LETTERS)


def test_only_what_is_inferred_is_warned_of() -> None:
    store = filled()
    home = Graph(store, EX.g)
    store.compact()
    home.add((EX.tom, RDF.type, EX.Dog))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        home.remove((EX.tom, RDF.type, EX.Cat))
    with pytest.warns(InferredTripleWarning, match="Animal"):
        home.remove((EX.rex, RDF.type, EX.Animal))


@pytest.mark.slow
def test_what_others_add_meanwhile_stays() -> None:
    store = filled()
    threads = 3
    finished = threading.Event()
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            graph = Graph(store, EX[f"graph{number}"], bind_namespaces="none")
            for turn in range(200):
                name = EX[f"x{number}.{turn}"]
                graph.add((name, RDF.type, EX.Dog))
                store.addN([(name, EX.name, Literal(f"{number} {turn}"), graph)])
                if turn % 2:
                    graph.remove((name, EX.name, None))
                if turn % 50 == 0:
                    store.add_graph(Graph(store, EX[f"empty{number}.{turn}"]))
                    assert (name, RDF.type, EX.Animal) in store.inferred()
                    str(store.statistics())
                    str(store.explain((name, RDF.type, EX.Animal)))
        except BaseException as failure:
            failures.append(failure)

    def compact() -> None:
        while not finished.is_set():
            store.compact()

    works = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    compacting = threading.Thread(target=compact)
    for thread in (*works, compacting):
        thread.start()
    for thread in works:
        thread.join(60)
    finished.set()
    compacting.join(60)
    assert not failures
    for number in range(threads):
        expected: set[Any] = set()
        for turn in range(200):
            name = EX[f"x{number}.{turn}"]
            expected.add((name, RDF.type, EX.Dog))
            if not turn % 2:
                expected.add((name, EX.name, Literal(f"{number} {turn}")))
        assert set(Graph(store, EX[f"graph{number}"])) == expected
    names = {graph.identifier for graph in store.contexts() if graph is not None}
    assert names >= {EX[f"empty{number}.{turn}"] for number in range(threads) for turn in (0, 50, 100, 150)}
    assert {s for s, _, _ in store.inferred()} == {s for s, _, o in store.explicit() if o == EX.Dog}
    assert store.verify().is_sound


def test_it_is_refused_in_transactions_and_where_nothing_may_be_written(tmp_path: Path) -> None:
    store = filled(tmp_path)
    with store.transaction(), pytest.raises(CorollaryError, match="inside a transaction"):
        store.compact()
    store.close()
    reader = CorollaryStore()
    reader.open(str(tmp_path), read_only=True)
    with pytest.raises(CorollaryError, match="read only"):
        reader.compact()
    reader.close()
    with pytest.raises(CorollaryError, match="closed"):
        reader.compact()


def test_a_commit_that_fails_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = filled(tmp_path)
    before, terms = seen(store), dictionary_of(store)

    def full(*_: object) -> None:
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorcode = sqlite3.SQLITE_FULL
        raise error

    with monkeypatch.context() as patch:
        patch.setattr("corollary.reasoner.folder.write_changes", full)
        with pytest.raises(CorollaryError, match="disk is full; nothing was changed there: free some space"):
            store.compact()
    assert seen(store) == before
    assert dictionary_of(store) == terms
    Graph(store, EX.g).add((EX.tom, RDF.type, EX.Dog))
    before = seen(store)
    store.commit()
    assert store.verify().is_sound
    assert store.compact() >= 2 * MANY
    assert store.verify().is_sound
    store.close(discard=True)
    again = CorollaryStore(rules="rhodf")
    again.open(str(tmp_path))
    assert seen(again)[:3] == before[:3]
    again.close()


def test_a_file_that_cannot_be_made_smaller_loses_nothing(tmp_path: Path) -> None:
    store = filled(tmp_path)
    before = seen(store)
    folder = store.reasoner.versions.persistence()
    assert isinstance(folder, Folder)
    folder._journal._connection.set_authorizer(
        lambda action, *_: sqlite3.SQLITE_DENY if action == sqlite3.SQLITE_ATTACH else sqlite3.SQLITE_OK
    )  # VACUUM attaches the new file
    with pytest.raises(CorollaryError, match="could not be made smaller"):
        store.compact()
    folder._journal._connection.set_authorizer(None)
    assert seen(store) == before
    assert store.verify().is_sound
    size = (tmp_path / DATABASE).stat().st_size
    assert store.compact() == 0
    assert (tmp_path / DATABASE).stat().st_size < size
    store.close()


def test_the_command(tmp_path: Path) -> None:
    store = filled(tmp_path / "store", "none")
    before = seen(store)
    result = CliRunner().invoke(main, ["compact", str(tmp_path / "store")])
    assert result.exit_code == 2 and "open already" in result.output
    store.close()
    result = CliRunner().invoke(main, ["compact", str(tmp_path / "store"), "--json"])
    found = json.loads(result.output)
    assert found["terms"] == 2 * MANY + 1  # and the predicate
    assert found["bytes_after"] < found["bytes_before"]
    result = CliRunner().invoke(main, ["compact", str(tmp_path / "store")])
    assert result.output.startswith("0 terms given back: ")
    store.open(str(tmp_path / "store"))
    assert seen(store) == before
    store.close()
    result = CliRunner().invoke(main, ["compact", str(tmp_path / "none")])
    assert result.exit_code == 2 and "there is no store" in result.output


@pytest.mark.parametrize("rules", ["rhodf", "[?x, :owned, true] :- [?y, :owns, ?x] ."])
def test_the_command_keeps_what_a_snapshot_has_inferred(tmp_path: Path, rules: str) -> None:
    place = tmp_path / "store"
    program = load_rules(rules) if rules == "rhodf" else parse_program(PREFIX + rules)
    store = filled(place, program)
    store.checkpoint()
    inferred = seen(store)
    store.close()
    assert CliRunner().invoke(main, ["compact", str(place)]).exit_code == 0
    snapshot = latest(place)
    assert snapshot is not None and snapshot.closed.is_under(Options(program))
    store.open(str(place))
    assert seen(store) == inferred
    store.close()


def test_the_command_without_a_usable_snapshot(tmp_path: Path) -> None:
    place = tmp_path / "store"
    store = filled(place)
    store.checkpoint()
    before = seen(store)
    store.close()
    (snapshot,) = place.glob("*.snapshot")
    snapshot.write_bytes(b"damaged" + snapshot.read_bytes()[7:])
    result = CliRunner().invoke(main, ["compact", str(place)])
    assert result.exit_code == 0, result.output
    store.open(str(place))
    assert seen(store) == before
    store.close()
