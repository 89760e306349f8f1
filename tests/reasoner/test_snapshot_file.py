"""Snapshots: a mapped file shows what the reasoner held, and is changed after it was saved to a folder."""

from __future__ import annotations

import gc
import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rdflib import BNode, Dataset, Graph, Literal, URIRef
from rdflib.namespace import OWL, RDF, RDFS, Namespace
from tests.compression import Kept, compress_all
from tests.maintain.histories import History, histories
from tests.maintain.test_transactions import ontologies
from tests.strategies import Fact, thorough

from corollary.closure import stored_closure
from corollary.columns import mapped_pairs
from corollary.generators import generate
from corollary.kernels.interrupts import uncollected
from corollary.language import CorollaryError, constant_text, parse_program
from corollary.language.errors import InputError
from corollary.reasoner import Reasoner, deriving, snapshot_file
from corollary.reasoner.snapshot_file import MappedSnapshot
from corollary.store import CorollaryStore
from corollary.terms.dictionary import BULK_KINDS

EX = Namespace("http://example.org/")


def refuse(*args: object) -> None:
    raise AssertionError("it reasoned")


def store_of(graph: Graph) -> CorollaryStore:
    assert isinstance(graph.store, CorollaryStore)
    return graph.store


@pytest.fixture(scope="module")
def university(tmp_path_factory: pytest.TempPathFactory) -> tuple[Reasoner, Path]:
    """A university of several chunks, and its snapshot."""
    folder = tmp_path_factory.mktemp("university")
    reasoner = Reasoner()
    reasoner.load(*generate(1, folder / "university"))
    reasoner.save_snapshot(folder / "university.snapshot")
    return reasoner, folder / "university.snapshot"


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of four keys, so that small relations have several."""
    for module in (mapped_pairs, snapshot_file):
        monkeypatch.setattr(module, "KEYS_PER_CHUNK", 4)


def test_the_search_for_garbage_goes_on(university: tuple[Reasoner, Path]) -> None:
    """Relations are made without it. It is on afterwards, also after a failure, unless it was off before."""
    during = uncollected(gc.isenabled)
    assert gc.isenabled() and not during
    with pytest.raises(ZeroDivisionError):
        uncollected(lambda: 1 // 0)
    assert gc.isenabled()
    gc.disable()
    try:
        MappedSnapshot(university[1])
        assert not gc.isenabled()
    finally:
        gc.enable()


def small(rules: str = "owl2rl") -> Graph:
    graph = Graph(CorollaryStore(rules=rules))
    graph.bind("ex", EX)
    graph.add((EX.Dog, RDFS.subClassOf, EX.Animal))
    graph.add((EX.rex, RDF.type, EX.Dog))
    graph.add((EX.partOf, RDF.type, OWL.TransitiveProperty))
    graph.add((EX.a, EX.partOf, EX.b))
    graph.add((EX.b, EX.partOf, EX.c))
    return graph


def in_texts(fact: Fact) -> tuple[str, str, str]:
    s, p, o = map(constant_text, fact)
    return s, p, o


def test_opening_derives_nothing(university: tuple[Reasoner, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    source, place = university
    for name in ("materialise", "maintain", "adopt"):
        monkeypatch.setattr(deriving, name, refuse)
    reasoner = Reasoner()
    reasoner.open(place)
    assert len(reasoner) == len(source)
    assert set(reasoner.match(None, None, None)) == set(source)
    assert set(reasoner.snapshot().explicit) == set(source.snapshot().explicit)
    assert set(reasoner.snapshot().inferred) == set(source.snapshot().inferred)


def test_all_look_ups_agree(university: tuple[Reasoner, Path]) -> None:
    """Every relation, in both orders, by single terms and by columns, before anything was read as a whole."""
    source, place = university
    known, index = source.settled().state.index, MappedSnapshot(place).facts
    assert sorted(index.predicates()) == sorted(known.predicates())
    for predicate, relation in known.relations():
        mapped = MappedSnapshot(place).facts.relation(predicate)
        assert len(mapped) == len(relation)
        assert mapped.legal_count() == relation.legal_count()
        assert mapped.subject_count() == relation.subject_terms().size
        assert mapped.object_count() == relation.object_terms().size
        for s in relation.subject_terms()[::97].tolist():
            assert mapped.objects(s) == relation.objects(s)
            assert mapped.has_subject(s)
            assert mapped.column_of_objects(s).tolist() == relation.objects(s)
            one = np.array([s], np.uint32)
            assert mapped.objects_of(one)[1].tolist() == relation.objects_of(one)[1].tolist()
            assert mapped.subject_counts(one) == relation.subject_counts(one)
        for o in relation.object_terms()[::97].tolist():
            assert mapped.subjects(o) == relation.subjects(o)
            assert mapped.has(mapped.subjects(o)[-1], o)
            assert mapped.column_of_subjects(o).tolist() == relation.subjects(o)
            one = np.array([o], np.uint32)
            assert mapped.subjects_of(one)[1].tolist() == relation.subjects_of(one)[1].tolist()
        assert mapped.objects(0xFFFFFFFF) == mapped.subjects(0xFFFFFFFF) == []
        inverse = MappedSnapshot(place).facts.relation(predicate).inverse()
        assert np.array_equal(inverse.pairs().keys, relation.pairs().by_object)
        assert np.array_equal(inverse.pairs().by_object, relation.pairs().keys)


def test_all_texts_are_found(university: tuple[Reasoner, Path]) -> None:
    """One by one, before the tables were read as a whole, and together; unknown texts are not found."""
    source, place = university
    known, mapped = source.snapshot().dictionary, MappedSnapshot(place).dictionary
    for kind in BULK_KINDS:
        assert mapped.count(kind) == known.count(kind)
        for number in range(0, known.count(kind), 131):
            term_id = kind << 30 | number
            text = known.decode(term_id)
            assert mapped.decode(term_id) == text
            assert mapped.find(text) == term_id
    assert mapped.find("<urn:unknown>") is None
    texts = [known.decode(number) for number in range(600)] + ["<urn:new>"]
    assert mapped.encode_all(texts) == [*range(600), known.count(BULK_KINDS[0])]
    assert mapped.decode(known.count(BULK_KINDS[0])) == "<urn:new>"
    assert mapped.decode(7) == known.decode(7)


def test_a_snapshot_is_changed_in_a_folder(tmp_path: Path, university: tuple[Reasoner, Path]) -> None:
    source, place = university
    reasoner = Reasoner()
    reasoner.open(place)
    part_of = "<https://corollary.example/university#partOf>"
    facts = sorted(source.match(None, part_of))
    with pytest.raises(
        CorollaryError, match=r"is a snapshot, which is never written: .*store\.save\(folder\)"
    ):
        reasoner.remove(facts[0])
    reasoner.save(tmp_path / "folder")
    known = reasoner.settled().state.materialisation
    assert known is not None
    known.engine.seconds = 600.0  # no slow machine makes a removal start over
    for taken in (facts[:1], facts[::50]):
        reasoner.remove(*taken)
        len(reasoner)
        report = reasoner.last_maintenance()
        assert report is not None
        assert report.strategy == "backward/forward"
        assert reasoner.verify().is_sound
        reasoner.add(*taken)
        assert reasoner.verify().is_sound
    assert set(reasoner) == set(source)
    reasoner.close()


@pytest.mark.usefixtures("small_chunks")
@thorough(40)
@given(histories(ontologies), st.sampled_from(["rdfs", "owl2rl"]))
def test_ontologies(tmp_path_factory: pytest.TempPathFactory, history: History, rules: str) -> None:
    """What follows is maintained as if it had been derived here."""
    folder = tmp_path_factory.mktemp("files")
    source = Reasoner(rules)
    source.add(*map(in_texts, history[0]))
    source.save_snapshot(folder / "one.snapshot")
    reasoner = Reasoner(rules)
    reasoner.open(folder / "one.snapshot")
    assert set(reasoner) == set(source)
    reasoner.save(folder / "store")
    for before, after in itertools.pairwise(history):
        reasoner.remove(*map(in_texts, before - after))
        reasoner.add(*map(in_texts, after - before))
        found = reasoner.verify()
        assert found.is_sound, found
    reasoner.save_snapshot(folder / "two.snapshot")
    again = Reasoner(rules)
    again.open(folder / "two.snapshot")
    assert set(again) == set(reasoner)
    assert again.verify().is_sound
    reasoner.close()


KEPT: tuple[Kept, ...] = ("intervals", "bits", "beside")


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("kept", KEPT)
@thorough(40)
@given(histories(ontologies), st.sampled_from(["rdfs", "owl2rl"]), st.data())
def test_closures_are_followed_from_what_is_stored(
    tmp_path_factory: pytest.TempPathFactory, kept: Kept, history: History, rules: str, data: st.DataObject
) -> None:
    """Compressed relations are stored, and opened again, between changes of a folder."""
    place = tmp_path_factory.mktemp("files") / "store"
    with pytest.MonkeyPatch.context() as patch:
        compress_all(patch, kept)
        reasoner = Reasoner(rules)
        reasoner.open(place, create=True)
        reasoner.add(*map(in_texts, history[0]))
        for before, after in itertools.pairwise(history):
            if data.draw(st.booleans()):
                reasoner.checkpoint()
                reasoner.close()
                reasoner = Reasoner(rules)
                reasoner.open(place)
            reasoner.remove(*map(in_texts, before - after))
            if data.draw(st.booleans()):
                len(reasoner)
            reasoner.add(*map(in_texts, after - before))
            found = reasoner.verify()
            assert found.is_sound, found
        reasoner.checkpoint()
        (snapshot,) = place.glob("*.snapshot")
        MappedSnapshot(snapshot).check_whole()
        reasoner.close()


@pytest.fixture
def chain(tmp_path: Path) -> Path:
    """A folder with a chain of 3,000 parts, of which 4.5 million facts follow, and as many equal terms."""
    reasoner = Reasoner()
    reasoner.open(tmp_path / "chain", create=True)
    reasoner.add(("<urn:p>", f"<{RDF.type}>", f"<{OWL.TransitiveProperty}>"))
    reasoner.add(*((f"<urn:{n}>", "<urn:p>", f"<urn:{n + 1}>") for n in range(3000)))
    reasoner.add(*((f"<urn:a{n}>", f"<{OWL.sameAs}>", f"<urn:a{n + 1}>") for n in range(3000)))
    reasoner.add(*((f"<urn:a{n}>", "<urn:q>", f"<urn:b{n}>") for n in range(1000)))
    assert len(reasoner) > 10_000_000
    reasoner.close()
    return tmp_path / "chain"


def test_large_closures_are_stored_without_their_facts(chain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening and counting make no index, and derive nothing. The file has no room for the facts."""
    (place,) = chain.glob("*.snapshot")
    assert place.stat().st_size < 1_000_000
    for name in ("materialise", "maintain", "adopt"):
        monkeypatch.setattr(deriving, name, refuse)
    monkeypatch.setattr(stored_closure.Generators, "made", refuse)
    reasoner = Reasoner()
    reasoner.open(chain)
    assert len(reasoner) > 4_500_000 + 9_000_000 + 3_000_000
    monkeypatch.undo()
    assert ("<urn:3>", "<urn:p>", "<urn:2999>") in reasoner.snapshot()
    assert ("<urn:3>", "<urn:p>", "<urn:2>") not in reasoner.snapshot()
    assert ("<urn:a2999>", "<urn:q>", "<urn:b7>") in reasoner.snapshot()
    assert reasoner.verify().is_sound
    reasoner.close()


def test_a_large_closure_is_followed_after_opening(chain: Path) -> None:
    reasoner = Reasoner()
    reasoner.open(chain)
    size = len(reasoner)
    known = reasoner.settled().state.materialisation
    assert known is not None
    known.engine.seconds = 600.0  # no slow machine makes a removal start over
    edge = ("<urn:50>", "<urn:p>", "<urn:51>")
    reasoner.remove(edge)
    assert len(reasoner) == size - 51 * 2950
    report = reasoner.last_maintenance()
    assert report is not None
    assert report.strategy == "backward/forward"
    assert reasoner.verify().is_sound
    reasoner.add(edge)
    assert len(reasoner) == size
    assert reasoner.verify().is_sound
    reasoner.close()


def test_what_a_closure_holds_counts_not_what_it_has(chain: Path) -> None:
    """For the estimate of starting over, and for whether a folder that is closed gets another snapshot."""
    reasoner = Reasoner()
    reasoner.open(chain)
    state = reasoner.settled().state
    assert state.index.held() < 30_000
    known = state.materialisation
    assert known is not None
    assert known.engine.seconds < 0.1
    reasoner.add(*((f"<urn:n{n}>", "<urn:other>", f"<urn:n{n + 1}>") for n in range(9000)))
    assert len(reasoner) > 10_000_000
    before = {place.name for place in chain.glob("*.snapshot")}
    reasoner.close()
    assert {place.name for place in chain.glob("*.snapshot")} != before


@pytest.mark.usefixtures("small_chunks")
def test_graphs_prefixes_and_blank_nodes(tmp_path: Path) -> None:
    """Graphs that share facts, that are small parts of others, that are empty; and a bound prefix."""
    source = Dataset(CorollaryStore())
    source.bind("ex", EX)
    for number in range(300):
        source.default_graph.add((EX[f"x{number:03}"], EX.p, Literal(number)))
        source.graph(EX.g).add((EX[f"x{number % 150:03}"], EX.p, Literal(number % 150)))
    source.graph(EX.few).add((EX.x007, EX.p, Literal(7)))
    source.graph(EX.few).add((BNode("b"), EX.q, EX.x007))
    source.graph(EX.empty)
    store_of(source).save_snapshot(tmp_path / "x.snapshot")
    target = Dataset(CorollaryStore())
    target.store.open(str(tmp_path / "x.snapshot"))
    assert set(target.quads()) == set(source.quads())
    assert {graph.identifier for graph in target.graphs()} >= {EX.g, EX.few, EX.empty}
    assert ("ex", URIRef(str(EX))) in set(target.namespaces())
    assert store_of(target).verify().is_sound
    store_of(target).save(tmp_path / "folder")
    target.default_graph.remove((EX.x007, EX.p, Literal(7)))
    assert (EX.x007, EX.p, Literal(7)) in target.graph(EX.few)
    target.graph(EX.few).remove((None, None, None))
    target.graph(EX.g).remove((None, None, None))
    assert not set(target.triples((EX.x007, None, Literal(7))))
    assert store_of(target).verify().is_sound
    target.close()


def test_a_nameless_graph(tmp_path: Path) -> None:
    graph = small()
    store_of(graph).save_snapshot(tmp_path / "x.snapshot")
    other = Graph(CorollaryStore())
    other.open(str(tmp_path / "x.snapshot"))
    assert set(other) == set(graph)
    assert (EX.a, EX.partOf, EX.c) in other
    rows = other.query("SELECT ?x { ?x a ex:Animal }")
    assert [row[0] for row in rows] == [EX.rex]  # type: ignore[index]


def test_formulas_and_variables(tmp_path: Path) -> None:
    graph = Graph(CorollaryStore(rules="none"))
    graph.parse(data="@prefix : <http://example.org/> . {?x :p :a} :q {:b :p ?x} . :c :p :d .", format="n3")
    store_of(graph).save_snapshot(tmp_path / "x.snapshot")
    other = Graph(CorollaryStore(rules="none"))
    other.open(str(tmp_path / "x.snapshot"))
    assert sorted(other.serialize(format="n3").split()) == sorted(graph.serialize(format="n3").split())


def test_facts_that_rdf_does_not_allow_are_kept(tmp_path: Path) -> None:
    """The literal is a C; when C is below D, what has it for a value is an E."""
    rules = parse_program(
        f"PREFIX : <{EX}> [?x, a, :E] :- [?x, :p, ?y], [?y, a, :D] ."
        "[?y, a, ?c] :- [?p, rdfs:range, ?c], [?x, ?p, ?y] ."
        "[?x, a, ?d] :- [?c, rdfs:subClassOf, ?d], [?x, a, ?c] ."
    )
    graph = Graph(CorollaryStore(rules=rules))
    graph.add((EX.p, RDFS.range, EX.C))
    graph.add((EX.x, EX.p, Literal("lit")))
    size = len(graph)
    store_of(graph).save_snapshot(tmp_path / "x.snapshot")
    other = Graph(CorollaryStore(rules=rules))
    other.open(str(tmp_path / "x.snapshot"))
    assert len(other) == size
    store_of(other).save(tmp_path / "folder")
    other.add((EX.C, RDFS.subClassOf, EX.D))
    assert (EX.x, RDF.type, EX.E) in other
    assert store_of(other).verify().is_sound
    other.close()


def test_other_rules_are_refused(tmp_path: Path) -> None:
    store_of(small()).save_snapshot(tmp_path / "x.snapshot")
    with pytest.raises(InputError, match=r"closed under owl2rl, by .* others .rdfs."):
        Reasoner("rdfs").open(tmp_path / "x.snapshot")
    store_of(small("none")).save_snapshot(tmp_path / "none.snapshot")
    with pytest.raises(InputError, match="does not name the rules"):
        Reasoner().open(tmp_path / "none.snapshot")
    reasoner = Reasoner("none")
    reasoner.open(tmp_path / "none.snapshot")
    assert len(reasoner) == 5


def test_explanations_and_inconsistencies_restore_the_engine(tmp_path: Path) -> None:
    graph = small()
    graph.add((EX.Dog, OWL.disjointWith, EX.Cat))
    graph.add((EX.rex, RDF.type, EX.Cat))
    store_of(graph).save_snapshot(tmp_path / "x.snapshot")
    other = Graph(CorollaryStore())
    other.open(str(tmp_path / "x.snapshot"))
    assert list(map(str, store_of(other).inconsistencies())) == list(
        map(str, store_of(graph).inconsistencies())
    )
    goal = (EX.a, EX.partOf, EX.c)
    assert str(store_of(other).explain(goal)) == str(store_of(graph).explain(goal))


def test_facts_that_are_not_closed_are_derived_anew(tmp_path: Path) -> None:
    """The snapshot says that it is closed, but it lacks a fact; the first change finds all."""
    store = store_of(small())
    contents = snapshot_file.contents_of(store.reasoner.settled())
    explicit = contents.quads.union
    wrong = snapshot_file.Contents(
        contents.dictionary, explicit, contents.quads, contents.others, contents.closed
    )
    snapshot_file.write_snapshot(tmp_path / "x.snapshot", wrong)
    reasoner = Reasoner()
    reasoner.open(tmp_path / "x.snapshot")
    assert not reasoner.verify().is_sound
