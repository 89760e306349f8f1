"""A store that loads documents and encoded data sets: what comes in, beside what is there."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import RDFS, BNode, Dataset, Graph, Literal, Namespace, URIRef
from rdflib.compare import isomorphic
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID
from rdflib.term import Node
from tests.strategies import examples

from corollary.columns import TripleIndex
from corollary.language import CorollaryError, InputError
from corollary.loaders import EncodedDataSet, load_encoded, reading, save_encoded
from corollary.store import INFERRED, CorollaryStore
from corollary.terms.dictionary import TermDictionary

EX = Namespace("http://example.org/")
SOME = (
    "<http://a> <http://b> <http://c> .\nnonsense\n<http://a> <http://b> _:x .\n<http://a> <b> <http://c> .\n"
)


def plain() -> CorollaryStore:
    return CorollaryStore(rules="none")


def store_of(graph: Graph) -> CorollaryStore:
    assert isinstance(graph.store, CorollaryStore)
    return graph.store


@pytest.fixture(params=[1 << 24, 0], ids=["small", "large"])
def size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Documents count as small, or as large."""
    monkeypatch.setattr(reading, "MIN_BYTES_TO_COMPILE", request.param)


# Documents


@pytest.mark.usefixtures("size")
def test_bad_lines_stop_a_load_or_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "data.nt"
    path.write_text(SOME)
    graph = Graph(plain())
    store = store_of(graph)
    with pytest.raises(InputError, match=f"{path}:2:1: not N-Triples") as raised:
        store.load(path)
    assert 'on_error="skip"' in str(raised.value)
    assert not len(graph)
    assert store.load(path, on_error="skip") == 2
    assert len(graph) == 2
    assert [(bad.name, bad.line, bad.text) for bad in store.bad_lines()] == [
        (str(path), 2, "nonsense"),
        (str(path), 4, "<http://a> <b> <http://c> ."),
    ]
    path.write_text(SOME.splitlines()[0])
    store.load(path)
    assert not store.bad_lines()


def test_an_unknown_way_to_handle_errors_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CorollaryError, match="on_error is 'stop' or 'skip', not 'ignore'"):
        plain().load(tmp_path, on_error="ignore")  # type: ignore[arg-type]


@pytest.mark.usefixtures("size")
def test_quads_go_to_their_graphs(tmp_path: Path) -> None:
    path = tmp_path / "data.nq"
    path.write_text(
        f"_:x <{EX.p}> _:y .\n<{EX.a}> <{EX.p}> <{EX.b}> <{EX.g}> .\n<{EX.a}> <{EX.p}> <{EX.b}> .\n"
        f"<{EX.a}> <{EX.p}> _:x <{EX.h}> .\n"
    )
    dataset = Dataset(plain())
    assert store_of(dataset).load(path) == 4
    assert set(dataset.graph(EX.g)) == {(EX.a, EX.p, EX.b)}
    ((_, _, node),) = dataset.graph(EX.h)
    assert (node, EX.p, None) in dataset.default_graph
    assert len(dataset.default_graph) == 2


def test_a_folder_is_loaded_with_all_its_documents(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "one.nt").write_text(f"<{EX.a}> <{EX.p}> <{EX.b}> .")
    (tmp_path / "below" / "two.ttl").write_text(f"@prefix ex: <{EX}> . ex:a ex:p ex:c .")
    (tmp_path / "notes.txt").write_text("not RDF")
    graph = Graph(plain())
    reported: list[tuple[str, int, float | None]] = []
    assert store_of(graph).load(tmp_path, progress=lambda *what: reported.append(what)) == 2
    assert set(graph) == {(EX.a, EX.p, EX.b), (EX.a, EX.p, EX.c)}
    assert reported[-1] == (f"reading {tmp_path / 'one.nt'}, 0 of 0 MB", 2, 1.0)
    with pytest.raises(InputError, match="a directory without RDF files"):
        store_of(graph).load(tmp_path / "below" / "..", Path(__file__).parent)


# Encoded data sets

things = st.sampled_from([EX.a, EX.b, EX.c, BNode("x"), BNode("y")])
values = things | st.sampled_from([Literal("1"), Literal("a", lang="en"), Literal(7)])
names = st.sampled_from([DATASET_DEFAULT_GRAPH_ID, EX.g, EX.h])
quads = st.lists(st.tuples(things, st.sampled_from([EX.p, RDFS.label]), values, names), max_size=12)

Quad = tuple[Node, Node, Node, URIRef]


def dataset_of(quads: Iterable[Quad]) -> Dataset:
    dataset = Dataset(plain())
    for s, p, o, name in quads:
        dataset.graph(name).add((s, p, o))
    return dataset


def flat(dataset: Dataset) -> Graph:
    """All quads as one graph of triples, to compare blank nodes across graphs."""
    graph = Graph()
    for s, p, o, name in dataset.quads():
        assert name is not None
        graph.add((s, URIRef(f"{p}/in/{name}"), o))
    return graph


@settings(deadline=None, max_examples=examples(60))
@given(quads, quads)
def test_what_is_saved_is_loaded_beside_what_is_there(
    tmp_path_factory: pytest.TempPathFactory, saved: list[Quad], there: list[Quad]
) -> None:
    path = tmp_path_factory.mktemp("encoded") / "set"
    source, expected, target = dataset_of(saved), dataset_of(there), dataset_of(there)
    store_of(source).save_encoded(path)
    apart = {node: BNode() for node in (BNode("x"), BNode("y"))}
    for s, p, o, name in saved:
        expected.graph(name).add((apart.get(s, s), p, apart.get(o, o)))  # type: ignore[call-overload]
    before = len(list(target.quads()))
    assert store_of(target).load_encoded(path) == len(list(expected.quads())) - before
    assert isomorphic(flat(target), flat(expected))


def test_a_plain_graph_shows_what_its_store_has_loaded(tmp_path: Path) -> None:
    source = Graph(CorollaryStore(rules="rdfs"), bind_namespaces="none")
    source.bind("ex", EX)
    source.add((EX.p, RDFS.domain, EX.C))
    source.add((EX.a, EX.p, Literal("x")))
    store_of(source).save_encoded(tmp_path / "set")
    data = load_encoded(tmp_path / "set")
    assert data.graphs is None
    assert data.rules == "rdfs"
    assert data.prefixes == {"ex": str(EX)}
    assert data.explicit.fact_count() == 2
    assert len(data.inferred) == len(source) - 2
    for rules, count in (("none", 2), ("rdfs", len(source))):
        graph = Graph(CorollaryStore(rules=rules), bind_namespaces="none")
        assert store_of(graph).load_encoded(tmp_path / "set") == 2
        assert len(graph) == count
        assert dict(graph.namespaces()) == {"ex": URIRef(EX)}
    named = Dataset(plain())
    store_of(named).load_encoded(tmp_path / "set", graph=EX.g)
    assert (EX.a, EX.p, Literal("x")) in named.graph(EX.g)
    assert not len(named.default_graph)


@pytest.mark.parametrize("is_new", [True, False])
def test_graphs_that_go_to_one_graph_come_together(tmp_path: Path, is_new: bool) -> None:
    """The default graph of the data set, and one that is named as the graph it is loaded into."""
    source = Dataset(plain())
    source.default_graph.add((EX.a, EX.p, EX.b))
    source.graph(EX.g).add((EX.c, EX.p, EX.d))
    store_of(source).save_encoded(tmp_path / "set")
    target = Dataset(plain())
    if not is_new:
        target.graph(EX.g).add((EX.e, EX.p, EX.f))
    assert store_of(target).load_encoded(tmp_path / "set", graph=EX.g) == 2
    loaded = {(EX.a, EX.p, EX.b), (EX.c, EX.p, EX.d)}
    assert set(target.graph(EX.g)) == loaded | (set() if is_new else {(EX.e, EX.p, EX.f)})
    assert not len(target.default_graph)


def test_a_data_set_that_is_none_changes_nothing(tmp_path: Path) -> None:
    graph = Graph(plain())
    graph.add((EX.a, EX.p, EX.b))
    with pytest.raises(InputError, match="no encoded data set is here"):
        store_of(graph).load_encoded(tmp_path)
    assert set(graph) == {(EX.a, EX.p, EX.b)}


def test_what_shows_one_side_of_a_store_is_no_graph_to_load(tmp_path: Path) -> None:
    dictionary = TermDictionary()
    fact, name = dictionary.encode(f"<{EX.a}>"), dictionary.encode(f"<{INFERRED}>")
    index = TripleIndex.from_columns(*np.full((3, 1), fact, np.uint32))
    save_encoded(tmp_path / "set", EncodedDataSet(dictionary, index, graphs={name: index}))
    store = plain()
    with pytest.raises(CorollaryError, match="cannot be changed"):
        store.load_encoded(tmp_path / "set")
    assert not len(store)


def test_a_data_set_is_no_document(tmp_path: Path) -> None:
    save_encoded(tmp_path / "set", EncodedDataSet(TermDictionary(), TripleIndex()))
    with pytest.raises(InputError, match="this is an encoded data set") as raised:
        plain().load(tmp_path / "set")
    assert "load_encoded" in str(raised.value)


def test_formulas_are_not_saved(tmp_path: Path) -> None:
    graph = Graph(plain())
    graph.parse(data="@prefix : <http://example.org/> . { :a :b :c } => { :d :e :f } .", format="n3")
    with pytest.raises(CorollaryError, match="formulas"):
        store_of(graph).save_encoded(tmp_path / "set")
    assert not (tmp_path / "set").exists()


@pytest.mark.parametrize("padding", [0, 40_000])
def test_labels_can_be_kept(padding: int, tmp_path: Path) -> None:
    """Those of a document, unless another document had them; by small documents and by large ones."""
    lines = "".join(f"_:b{number} <urn:p> <urn:o> .\n" for number in range(padding))
    for name in ("one.nt", "two.nt"):
        (tmp_path / name).write_text(f"_:x <urn:p> <urn:{name}> .\n{lines}")
    graph = Graph("Corollary")
    store_of(graph).load(tmp_path / "one.nt", tmp_path / "two.nt", labels="keep")
    first, second = (graph.value(None, URIRef("urn:p"), URIRef(f"urn:{n}")) for n in ("one.nt", "two.nt"))
    assert first == BNode("x") and isinstance(second, BNode) and second.startswith("x-")
    assert len(graph) == 2 + 2 * padding
    with pytest.raises(CorollaryError, match="they are 'new', or 'keep'"):
        store_of(graph).load(tmp_path, labels="old")  # type: ignore[arg-type]
