"""A store in a folder: what is read back is what was committed, whatever happened in between."""

from __future__ import annotations

import errno
import os
import pickle
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import (
    RDF,
    RDFS,
    XSD,
    BNode,
    ConjunctiveGraph,
    Dataset,
    Graph,
    Literal,
    Namespace,
    URIRef,
    Variable,
)
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID, QuotedGraph
from rdflib.store import NO_STORE, VALID_STORE
from rdflib.term import Node
from tests.folders import changed
from tests.strategies import examples
from tests.trust.operations import crash

from corollary.language import CorollaryError
from corollary.reasoner import folder_place, journal
from corollary.reasoner.commit_log import LOG
from corollary.reasoner.folder import Folder
from corollary.reasoner.folder_place import DATABASE
from corollary.reasoner.tuning import SECONDS_BETWEEN_ATTEMPTS
from corollary.store import CorollaryStore

EX = Namespace("http://example.org/")
TRIPLE = (EX.s, EX.p, EX.o)
State = tuple[frozenset[Any], frozenset[Any], frozenset[Any]]

subjects = st.sampled_from((EX.a, EX.b, BNode("node")))
predicates = st.sampled_from((EX.p, EX.q))
objects = st.sampled_from(
    (
        EX.a,
        BNode("node"),
        Literal("a"),
        Literal("a", datatype=XSD.string),
        Literal("a", lang="en-GB"),
        Literal("01", datatype=XSD.integer),
        Literal('ä"\n\\\u2028', datatype=EX.odd),
    )
)
graphs = st.sampled_from((DATASET_DEFAULT_GRAPH_ID, EX.g, EX.h, BNode("g")))
triples = st.tuples(subjects, predicates, objects)
steps = st.one_of(
    st.tuples(st.just("add"), triples, graphs),
    st.tuples(st.just("add"), triples, graphs),
    st.tuples(st.just("remove"), triples, graphs),
    st.tuples(st.just("remove all"), predicates, graphs),
    st.tuples(st.sampled_from(("add graph", "remove graph")), st.sampled_from((EX.g, EX.h, BNode("g")))),
    st.tuples(st.just("bind"), st.sampled_from("xyz"), st.sampled_from((EX, EX["more/"]))),
    st.tuples(st.just("update"), predicates),
    st.tuples(st.sampled_from(("read", "commit", "reopen", "crash"))),
)


def plain() -> CorollaryStore:
    return CorollaryStore(rules="none")


def quad(triple: tuple[Node, ...], graph: Node) -> Any:
    return (*triple, graph)


def opened(place: Path, *, create: bool = False) -> Dataset:
    data = Dataset(plain())
    assert data.open(str(place), create=create) == VALID_STORE
    return data


def quads(data: Dataset) -> frozenset[Any]:
    return frozenset((s, p, o, graph or DATASET_DEFAULT_GRAPH_ID) for s, p, o, graph in data.quads())


def state(data: Dataset) -> State:
    names = frozenset(graph.identifier for graph in data.graphs())
    return quads(data), names, frozenset(data.namespaces())


def memory(kept: State) -> Dataset:
    """A dataset of rdflib's own with that state."""
    data = Dataset("Memory", default_union=False)
    data.namespace_manager.reset()
    for name in kept[1]:
        data.graph(name)
    for quad in kept[0]:
        data.add(quad)
    for prefix, namespace in kept[2]:
        data.store.bind(prefix, namespace)
    return data


def change(data: Dataset, verb: str, *what: Any) -> None:
    match verb, *what:
        case "add", triple, graph:
            data.add(quad(triple, graph))
        case "remove", triple, graph:
            data.remove(quad(triple, graph))
        case "remove all", predicate, graph:
            data.remove((None, predicate, None, graph))  # type: ignore[arg-type]
        case "add graph", name:
            data.graph(name)
        case "remove graph", name:
            data.remove_graph(name)
        case "bind", prefix, namespace:
            data.store.bind(prefix, URIRef(namespace))
        case "update", predicate:
            data.update(
                f"DELETE {{ GRAPH {EX.g.n3()} {{ ?s ?p ?o }} }} "
                f"INSERT {{ GRAPH {EX.h.n3()} {{ ?o ?p ?s }} }} "
                f"WHERE {{ GRAPH {EX.g.n3()} {{ ?s ?p ?o FILTER (?p = {predicate.n3()} && isIRI(?o)) }} }}"
            )
        case "read", *_:
            len(data)


def leave_unfinished_line(log: Path) -> None:
    """Write a part of a line behind the others, over zeros if there are some."""
    lines = log.read_bytes().rstrip(b"\0") if log.exists() else b""
    with open(log, "r+b" if log.exists() else "wb") as file:
        file.seek(len(lines))
        file.write(b"000")


@given(st.lists(steps, max_size=40), st.sampled_from((0, 1 << 9, 1 << 18)))
@settings(max_examples=examples(150), deadline=None)
def test_any_sequence_of_changes_is_kept(script: list[tuple[Any, ...]], log: int) -> None:
    # the smallest pieces, and rewriting at every turn
    with (
        tempfile.TemporaryDirectory() as name,
        changed(MAX_BYTES_PER_ROW=32, ROW_COST_IN_FACTS=2, MIN_ROWS_TO_REWRITE=2, MAX_LOG_BYTES=log),
    ):
        place = Path(name) / "store"
        data = opened(place, create=True)
        data.commit()
        committed = state(data)
        model = memory(committed)
        for verb, *what in [*script, ("reopen",)]:
            if verb in ("commit", "reopen"):
                data.commit() if verb == "commit" else data.close()
                committed = state(model)
            if verb == "crash":
                crash(data.store)  # type: ignore[arg-type]
                leave_unfinished_line(place / LOG)
                model = memory(committed)
            if verb in ("crash", "reopen"):
                data = opened(place)
            change(data, str(verb), *what)
            change(model, str(verb), *what)
            assert state(data) == state(model)
        data.close()


def test_a_reopened_store_goes_on(tmp_path: Path) -> None:
    """Indexes that were read back take changes as those that grew."""
    data = opened(tmp_path, create=True)
    shared = [(EX[f"s{n}"], EX.p, EX[f"o{n}"]) for n in range(50)]
    for graph in (EX.g, EX.h):
        for triple in shared:
            data.add(quad(triple, graph))
    data.close()
    data = opened(tmp_path)
    for triple in shared[:20]:
        data.remove(quad(triple, EX.g))
    assert set(data.graph(EX.g)) == set(shared[20:])
    assert {quad[:3] for quad in data.quads()} == set(shared)
    for triple in shared[10:20]:
        data.remove(quad(triple, EX.h))
    assert {quad[:3] for quad in data.quads()} == {*shared[:10], *shared[20:]}
    data.close()


WRITER = """
import sys
from rdflib import Graph, URIRef
from corollary.store import CorollaryStore
graph = Graph(CorollaryStore(rules="none"))
graph.open(sys.argv[1], create=True)
def batch(number):
    for n in range(20):
        yield URIRef(f"urn:{number}:{n}"), URIRef(f"urn:p{n % 3}"), URIRef(f"urn:{number}")
for number in range(int(sys.argv[2]), 10**9):
    for triple in batch(number):
        graph.add(triple)
    for triple in batch(number - 3):
        graph.remove(triple)
    graph.commit()
    print(number, flush=True)
"""


@pytest.mark.slow
def test_a_kill_leaves_the_last_commit(tmp_path: Path) -> None:
    chance = random.Random(4)
    last = -1
    for _ in range(4):
        arguments = [sys.executable, "-c", WRITER, str(tmp_path), str(last + 1)]
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            for _ in range(chance.randint(1, 40)):
                reported = int(writer.stdout.readline())
            writer.send_signal(signal.SIGKILL)
            reported = max([reported, *map(int, writer.stdout.read().split())])
        graph = Graph(plain())
        assert graph.open(str(tmp_path)) == VALID_STORE
        found = set(graph)
        last = max(int(str(value)[4:]) for value in graph.objects())
        assert last in (reported, reported + 1)  # the last commit may have been done, and not yet reported
        assert found == {
            (URIRef(f"urn:{number}:{n}"), URIRef(f"urn:p{n % 3}"), URIRef(f"urn:{number}"))
            for number in range(max(last - 2, 0), last + 1)
            for n in range(20)
        }
        graph.close()


def test_what_is_out_of_date_is_dropped(tmp_path: Path) -> None:
    with changed(MIN_ROWS_TO_REWRITE=4):
        data = opened(tmp_path, create=True)
        for n in range(200):
            data.add((EX[f"s{n}"], EX.p, EX.o))
            data.commit()
            data.remove((EX[f"s{n}"], EX.p, EX.o))
        data.add(quad(TRIPLE, EX.g))
        data.close()
    with sqlite3.connect(tmp_path / DATABASE) as database:
        assert database.execute("SELECT count(*) FROM changes").fetchone()[0] < 20
        assert database.execute("SELECT count(*) FROM terms").fetchone()[0] < 40
    assert quads(opened(tmp_path)) == {(*TRIPLE, EX.g)}


def test_a_commit_that_fails_is_made_up_for_by_the_next(tmp_path: Path) -> None:
    data = opened(tmp_path, create=True)
    data.add(quad(TRIPLE, EX.g))
    full = sqlite3.OperationalError("disk is full")
    with (
        patch.object(journal, "checksum_of", side_effect=[0, 0, full]),
        pytest.raises(CorollaryError, match="disk is full"),
    ):
        data.commit()
    data.add(quad(TRIPLE, EX.h))
    data.close()
    assert quads(opened(tmp_path)) == {(*TRIPLE, EX.g), (*TRIPLE, EX.h)}


@pytest.mark.parametrize("is_there", [False, True])
def test_a_store_that_cannot_be_made_leaves_nothing(tmp_path: Path, is_there: bool) -> None:
    """Found: on a full disk an empty database stayed, and the next ``save`` refused the folder."""
    place = tmp_path / "store"
    if is_there:
        place.mkdir()
        (place / "other").touch()
    store = CorollaryStore(rules="none")
    store.add(TRIPLE, Graph(store, EX.g))
    with (
        patch.object(journal, "_TABLES", ("CREATE TABLE one (n)", "nonsense")),
        pytest.raises(CorollaryError, match="nothing was changed there"),
    ):
        store.save(place)
    assert [path.name for path in tmp_path.rglob("*")] == (["store", "other"] if is_there else [])
    store.save(place)
    store.close()
    assert quads(opened(place)) == {(*TRIPLE, EX.g)}


def test_an_empty_database_is_no_store(tmp_path: Path) -> None:
    (tmp_path / DATABASE).touch()
    store = CorollaryStore(rules="none")
    store.save(tmp_path)
    store.close()
    opened(tmp_path).close()


def test_a_store_that_cannot_be_removed(tmp_path: Path) -> None:
    data = opened(tmp_path, create=True)
    data.close()
    denied = PermissionError(errno.EACCES, "Permission denied")
    with (
        patch.object(Path, "unlink", side_effect=denied),
        pytest.raises(CorollaryError, match="Permission denied:"),
    ):
        CorollaryStore().destroy(str(tmp_path))
    opened(tmp_path).close()


def test_an_update_that_fails_leaves_nothing_in_the_folder(tmp_path: Path) -> None:
    data = opened(tmp_path, create=True)
    with pytest.raises(Exception, match="CREATE"):
        data.update("INSERT DATA { <urn:a> <urn:b> <urn:c> }; CREATE GRAPH <urn:g>; CREATE GRAPH <urn:g>")
    data.close()
    assert not quads(opened(tmp_path))


def test_loaded_documents_are_kept(tmp_path: Path) -> None:
    document = tmp_path / "data.nt"
    document.write_text("".join(f'<urn:s{n}> <urn:p{n % 7}> "{n}" .\n' for n in range(2000)))
    graph = Graph(plain())
    graph.open(str(tmp_path / "store"), create=True)
    graph.store.load(document)  # type: ignore[attr-defined]
    found = set(graph)
    graph.close()
    again = Graph(plain())
    again.open(str(tmp_path / "store"))
    assert set(again) == found
    assert len(found) == 2000


def test_what_follows_follows_again(tmp_path: Path) -> None:
    graph = Graph(CorollaryStore(rules="rdfs"))
    graph.open(str(tmp_path), create=True)
    graph.add((EX.Dog, RDFS.subClassOf, EX.Animal))
    graph.add((EX.rex, RDF.type, EX.Dog))
    assert (EX.rex, RDF.type, EX.Animal) in graph
    graph.close()
    again = Graph(CorollaryStore())
    again.open(f"{tmp_path};rules=rdfs")
    assert (EX.rex, RDF.type, EX.Animal) in again
    again.remove((EX.rex, RDF.type, EX.Dog))
    assert (EX.rex, RDF.type, EX.Animal) not in again
    again.open("rules=none")
    again.close()


# Which graph is meant


def test_a_nameless_graph_finds_its_triples_again(tmp_path: Path) -> None:
    for expected in (set(), {TRIPLE}):
        graph = Graph("Corollary")
        graph.open(str(tmp_path), create=True)
        assert set(graph.store.explicit()) == expected  # type: ignore[attr-defined]
        assert set(graph) >= expected
        graph.add(TRIPLE)
        assert TRIPLE in graph
        graph.close()
    data = opened(tmp_path)
    assert set(data.default_graph) == {TRIPLE}
    data.close()
    # a store that opens its folder itself, and whoever comes first after that
    assert set(Graph(CorollaryStore(f"{tmp_path};rules=none"))) == {TRIPLE}


def test_a_nameless_graph_stands_for_the_only_one(tmp_path: Path) -> None:
    named = Graph(plain(), identifier=EX.g)
    named.open(str(tmp_path), create=True)
    named.add(TRIPLE)
    named.close()
    opened(tmp_path).close()  # a look at it changes nothing
    graph = Graph(plain())
    graph.open(str(tmp_path))
    assert set(graph) == {TRIPLE}
    graph.add((EX.s, EX.q, EX.o))
    graph.close()
    data = opened(tmp_path)
    assert set(data.graph(EX.g)) == {TRIPLE, (EX.s, EX.q, EX.o)}
    assert not set(data.default_graph)


def test_a_blank_name_that_is_kept_is_a_name(tmp_path: Path) -> None:
    data = opened(tmp_path, create=True)
    data.add(quad(TRIPLE, BNode("named")))
    data.add((EX.s, EX.q, EX.o))
    data.close()
    graph = Graph(plain(), BNode("named"))
    graph.open(str(tmp_path))
    assert set(graph) == {TRIPLE}
    graph.close()
    assert quads(opened(tmp_path)) == {
        (*TRIPLE, BNode("named")),
        (EX.s, EX.q, EX.o, DATASET_DEFAULT_GRAPH_ID),
    }


def test_the_default_graph_of_a_conjunctive_graph(tmp_path: Path) -> None:
    for expected in (set(), {TRIPLE}):
        with pytest.warns(DeprecationWarning):
            data = ConjunctiveGraph(plain())
        data.open(str(tmp_path), create=True)
        assert set(data.default_context) == expected
        data.add(TRIPLE)
        data.update("INSERT DATA { GRAPH <urn:g> { <urn:a> <urn:b> <urn:c> } }; DROP NAMED")
        data.close()


def test_formulas_are_kept(tmp_path: Path) -> None:
    data = opened(tmp_path, create=True)
    data.parse(
        data="@prefix : <http://example.org/> . { ?x :b 1.0 } => { :d :e { :f :g :h } } .", format="n3"
    )

    def parts(data: Dataset) -> tuple[Any, ...]:
        ((left, verb, right),) = data.triples((None, None, None))
        assert isinstance(left, QuotedGraph) and isinstance(right, QuotedGraph)
        ((_, _, inner),) = right
        assert isinstance(inner, QuotedGraph)
        return left.identifier, verb, right.identifier, set(left), inner.identifier, set(inner)

    before, graphs = parts(data), state(data)[1]
    data.close()
    data = opened(tmp_path)
    assert parts(data) == before
    assert state(data)[1] == graphs
    assert Variable("x") in {subject for subject, _, _ in before[3]}


# Refused


def everything_that_uses(graph: Graph) -> list[Callable[[], object]]:
    store = graph.store
    return [
        lambda: graph.add(TRIPLE),
        lambda: graph.remove(TRIPLE),
        lambda: graph.remove((None, None, None)),
        lambda: store.remove((EX.unheard, None, None)),
        lambda: graph.addN([(*TRIPLE, graph)]),
        lambda: list(graph),
        lambda: len(graph),
        lambda: list(store.contexts()),
        lambda: graph.query("ASK {}"),
        lambda: graph.update("INSERT DATA { <urn:a> <urn:b> <urn:c> }"),
        lambda: store.bind("x", URIRef(EX)),
        lambda: list(store.namespaces()),
        lambda: store.add_graph(graph),
        lambda: store.remove_graph(graph),
        graph.commit,
        lambda: pickle.dumps(store),
    ]


def test_a_closed_store_refuses_to_be_used(tmp_path: Path) -> None:
    graph = Graph(plain())
    graph.open(str(tmp_path), create=True)
    graph.add(TRIPLE)
    graph.close()
    for use in everything_that_uses(graph):
        with pytest.raises(CorollaryError, match="is closed: open it again"):
            use()
    graph.close()
    assert (
        repr(graph.store) == f"<CorollaryStore: the store in {tmp_path} is closed: open it again to use it>"
    )
    assert str(tmp_path) in graph.store._repr_html_()  # type: ignore[attr-defined]
    assert graph.open(str(tmp_path)) == VALID_STORE
    assert set(graph) == {TRIPLE}


def test_a_folder_that_is_not_there_is_not_pretended(tmp_path: Path) -> None:
    graph = Graph(plain())
    for place in (tmp_path / "missing", tmp_path):
        with pytest.warns(UserWarning, match="create=True"):
            assert graph.open(str(place)) == NO_STORE
        assert not list(tmp_path.iterdir())
    with pytest.warns(UserWarning, match="nothing is kept there"):
        CorollaryStore(str(tmp_path))
    assert graph.open(str(tmp_path), create=True) == VALID_STORE
    graph.add(TRIPLE)
    graph.close()
    with pytest.warns(UserWarning, match="nothing is kept there"):
        assert graph.open(str(tmp_path / "missing")) == NO_STORE
    with pytest.raises(CorollaryError, match="is closed"):
        len(graph)


def test_a_store_with_triples_is_not_replaced(tmp_path: Path) -> None:
    graph = Graph(plain())
    graph.add(TRIPLE)
    with pytest.raises(CorollaryError, match="open a folder first"):
        graph.open(str(tmp_path), create=True)
    assert set(graph) == {TRIPLE}
    assert not list(tmp_path.iterdir())


def test_a_store_in_memory_is_not_closed() -> None:
    graph = Graph(plain())
    graph.add(TRIPLE)
    graph.close()
    assert TRIPLE in graph


def test_a_writer_waits_for_who_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not for ever, and not for another writer."""
    opened(tmp_path, create=True).close()
    looks = list[float]()

    def look(seconds: float) -> None:
        looks.append(seconds)
        if len(looks) == 3:
            reader.close()

    monkeypatch.setattr(folder_place, "sleep", look)
    reader = Folder(tmp_path, read_only=True)
    writer = Folder(tmp_path)
    assert looks == [SECONDS_BETWEEN_ATTEMPTS] * 3
    with pytest.raises(CorollaryError, match="open already"):
        Folder(tmp_path)
    with pytest.raises(CorollaryError, match="open already"):
        Folder(tmp_path, read_only=True)
    assert len(looks) == 3
    writer.close()
    monkeypatch.setattr(folder_place, "SECONDS_FOR_READERS", 0.01)
    reader = Folder(tmp_path, read_only=True)
    for _ in range(2):  # a failed attempt releases nothing of the reader's
        with pytest.raises(CorollaryError, match="open already"):
            Folder(tmp_path)
    reader.close()
    Folder(tmp_path).close()


def test_only_one_may_open_it(tmp_path: Path) -> None:
    data = opened(tmp_path, create=True)
    data.add(TRIPLE)
    with pytest.raises(CorollaryError, match="open already"):
        opened(tmp_path)
    with pytest.raises(CorollaryError, match="close it first"):
        data.open(str(tmp_path))
    with pytest.raises(CorollaryError, match="open already"):
        plain().destroy(str(tmp_path))
    code = "import sys; from corollary.store import CorollaryStore; CorollaryStore(sys.argv[1])"
    other = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True)
    assert other.returncode == 1 and f"{tmp_path} is open already" in other.stderr
    data.close()
    assert len(opened(tmp_path)) == 1


def test_a_forked_process_does_not_write(tmp_path: Path) -> None:
    data = opened(tmp_path, create=True)
    data.add(TRIPLE)
    with patch.object(os, "getpid", return_value=-1), pytest.raises(CorollaryError, match="parent"):
        data.commit()
    data.close()
    assert len(opened(tmp_path)) == 1


def test_what_is_no_store_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("text")
    with pytest.raises(CorollaryError, match="is a file"):
        opened(file, create=True)
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    with sqlite3.connect(foreign / DATABASE) as database:
        database.execute("CREATE TABLE theirs (x)")
    database.close()
    content = (foreign / DATABASE).read_bytes()
    with pytest.raises(CorollaryError, match="no store of Corollary"):
        opened(foreign, create=True)
    assert (foreign / DATABASE).read_bytes() == content
    (foreign / DATABASE).write_text("This is not a database. " * 100)
    with pytest.raises(CorollaryError, match="is damaged"):
        opened(foreign, create=True)
    assert file.read_text() == "text"


def test_another_format_is_refused(tmp_path: Path) -> None:
    opened(tmp_path, create=True).close()
    with sqlite3.connect(tmp_path / DATABASE) as database:
        database.execute("PRAGMA user_version = 99")
    database.close()
    with pytest.raises(CorollaryError, match="is of format 99"):
        opened(tmp_path)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, State]:
    place = tmp_path_factory.mktemp("sound")
    data = opened(place, create=True)
    for n in range(300):
        graph = DATASET_DEFAULT_GRAPH_ID if n % 4 else EX.g
        data.add(quad((EX[f"s{n % 50}"], EX[f"p{n % 3}"], Literal(n)), graph))
        if n % 100 == 0:
            data.commit()
    data.graph(EX.empty)
    kept = state(data)
    data.close()
    return place / DATABASE, kept


@given(st.data())
@settings(max_examples=examples(200), deadline=None)
def test_damage_is_noticed(sound: tuple[Path, State], data: st.DataObject) -> None:
    file, kept = sound
    content = bytearray(file.read_bytes())
    if data.draw(st.booleans()):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place] ^= 1 << data.draw(st.integers(0, 7))
    else:
        del content[data.draw(st.integers(1, len(content) - 1)) :]
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / DATABASE).write_bytes(content)
        try:
            reopened = opened(Path(name))
        except CorollaryError as error:
            assert name in str(error)
        else:
            assert state(reopened) == kept  # it was where nothing is kept
            reopened.close()


def test_damaged_text_is_noticed(sound: tuple[Path, State], tmp_path: Path) -> None:
    file, _ = sound
    content = file.read_bytes()
    (tmp_path / DATABASE).write_bytes(content.replace(b"CREATE TABLE terms", b"CR\xe5ATE TABLE terms"))
    with pytest.raises(CorollaryError, match=r"is damaged .its own text is not UTF-8"):
        opened(tmp_path)


# Options, copies, and the end


def test_a_folder_and_options(tmp_path: Path) -> None:
    graph = Graph("Corollary")
    assert graph.open(f"rules=none;{tmp_path};inferred=apart", create=True) == VALID_STORE
    assert graph.store.program() is None  # type: ignore[attr-defined]
    with pytest.raises(CorollaryError, match="two places"):
        Graph("Corollary").open("here;there")
    assert not Path("here").exists()


def test_copies_are_in_memory(tmp_path: Path) -> None:
    data = opened(tmp_path, create=True)
    data.add(quad(TRIPLE, EX.g))
    for copy in (deepcopy(data), pickle.loads(pickle.dumps(data))):
        copy.add(quad((EX.s, EX.q, EX.o), EX.g))
        copy.commit()
        copy.close()
        assert len(copy.graph(EX.g)) == 2
        assert "CorollaryStore none" not in repr(copy.store)
    data.close()
    assert set(opened(tmp_path).graph(EX.g)) == {TRIPLE}


def test_destroy_takes_what_is_ours(tmp_path: Path) -> None:
    place, beside = tmp_path / "store", tmp_path / "other"
    for folder_of_ours in (place, beside):
        opened(folder_of_ours, create=True).close()
    (beside / "notes.txt").write_text("mine")
    (tmp_path / "empty").mkdir()
    store = plain()
    store.destroy(str(tmp_path / "empty"))
    store.destroy(str(tmp_path / "missing"))
    store.destroy("rules=none")
    store.destroy(f"{beside};rules=none")
    data = opened(place)
    data.destroy(str(place))
    with pytest.raises(CorollaryError, match="is destroyed"):
        data.add(TRIPLE)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["empty", "notes.txt", "other"]


def test_a_process_ends_while_a_thread_uses_the_connection(tmp_path: Path) -> None:
    """It waits for the thread: SQLite would crash if its connection were closed in the middle of a call."""
    code = """
import sys, threading, time
from corollary.store import CorollaryStore
store = CorollaryStore(rules="none")
store.open(sys.argv[1], create=True)
folder = store.reasoner.versions.persistence()
threading.excepthook = lambda _: None
def write():
    while True:
        with folder._busy:
            for statement in ("BEGIN", "CREATE TABLE t AS SELECT zeroblob(200000)", "ROLLBACK"):
                folder._journal.run(statement)
threading.Thread(target=write, daemon=True).start()
time.sleep(0.3)
"""
    ended = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "store")], capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("datatype", ['http://example.org/"q', 'urn:"', 'urn:"@en', 'urn:"^^<urn:x'])
def test_a_datatype_with_quotation_marks_is_kept(tmp_path: Path, datatype: str) -> None:
    literal = Literal('x"', datatype=URIRef(datatype))
    store = CorollaryStore(rules="owl2rl")
    store.open(str(tmp_path / "store"), create=True)
    Graph(store, EX.g).add((EX.a, EX.p, literal))
    store.close()
    again = CorollaryStore(rules="owl2rl")
    again.open(str(tmp_path / "store"))
    graph = Graph(again, EX.g)
    assert literal in set(graph.objects(EX.a, EX.p))
    for rows in (1, 100):
        graph.addN((EX[f"a{n}"], EX.p, literal, graph) for n in range(rows))
        text = "SELECT DISTINCT (STR(?o) AS ?t) (DATATYPE(?o) AS ?d) { ?s <http://example.org/p> ?o }"
        assert [tuple(map(str, row)) for row in graph.query(text)] == [('x"', datatype)]  # type: ignore[arg-type]
    again.close()
