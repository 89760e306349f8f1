"""Which graph shows what: the rows of the table in docs/store.md, and any changes against a model."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rdflib import BNode, ConjunctiveGraph, Dataset, Graph, Literal, Namespace, URIRef
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID
from rdflib.term import IdentifiedNode, Node
from tests.strategies import thorough

from corollary.language import parse_program
from corollary.store import INFERRED, CorollaryStore, InferredTripleWarning

EX = Namespace("http://example.org/")
Triple = tuple[Node, Node, Node]

TRANSITIVE = parse_program(f"[?x, <{EX.p}>, ?z] :- [?x, <{EX.p}>, ?y], [?y, <{EX.p}>, ?z] .")

AB, BC, CD = ((EX[s], EX.p, EX[o]) for s, o in ("ab", "bc", "cd"))
AC, BD, AD = ((EX[s], EX.p, EX[o]) for s, o in ("ac", "bd", "ad"))

TRIG = f"@prefix : <{EX}> . :data {{ :b :p :c }} :a :p :b . _:other {{ :c :p :d }}"
"""One edge in a graph with a name, one in none, and one in a graph with a blank node for a name."""


def store(inferred: str = "show") -> CorollaryStore:
    return CorollaryStore(rules=TRANSITIVE, inferred=inferred)


def check(graph: Graph, expected: Iterable[Triple]) -> None:
    """However a graph is read, it shows these triples."""
    shown = set(expected)
    assert len(list(graph)) == len(graph) == len(shown)
    assert set(graph) == shown
    terms = [EX.a, EX.b, EX.c, EX.d]
    for ends in itertools.product(terms, terms):
        triple = ends[0], EX.p, ends[1]
        assert (triple in graph) == (triple in shown)
    for s, p, o in itertools.product((None, EX.a, EX.d), (None, EX.p), (None, EX.b, EX.d)):
        found = list(graph.triples((s, p, o)))
        assert len(found) == len(set(found))
        assert set(found) == {
            t for t in shown if s in (None, t[0]) and p in (None, t[1]) and o in (None, t[2])
        }
    assert {tuple(row) for row in graph.query("SELECT ?s ?p ?o { ?s ?p ?o }")} == shown  # type: ignore[arg-type]
    count = "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }"
    assert [int(row[0]) for row in graph.query(count)] == [len(shown)]  # type: ignore[index, arg-type]
    with_middle = {(s, o) for s, _, m in shown for n, _, o in shown if m == n}
    joined = graph.query("SELECT DISTINCT ?s ?o { ?s ?p ?m . ?m ?p ?o }")
    assert {tuple(row) for row in joined} == with_middle  # type: ignore[arg-type]


def blank_graphs(of: CorollaryStore, *, but: Graph) -> list[Graph]:
    """The graphs with blank nodes for names, without one of them."""
    graphs = [graph for graph in of.contexts() if isinstance(graph.identifier, BNode)]
    return [graph for graph in graphs if graph.identifier != but.identifier]


# The table


def test_a_nameless_graph_alone() -> None:
    graph = Graph(store()).add(AB).add(BC)
    check(graph, [AB, BC, AC])


def test_nameless_graphs_beside_each_other() -> None:
    one = Graph(store()).add(AB)
    two = Graph(one.store).add(BC)
    three = Graph(one.store).add(CD)
    inferred = [AC, BD, AD]
    check(one, [AB, *inferred])
    check(two, [BC, *inferred])
    check(three, [CD, *inferred])
    check(Graph(one.store), inferred)


def test_a_graph_with_a_name_alone_and_beside_others() -> None:
    named = Graph(store(), EX.g).add(AB).add(BC)
    check(named, [AB, BC, AC])
    nameless = Graph(named.store)
    check(nameless, [AC])
    check(named, [AB, BC, AC])
    nameless.add(CD)
    check(named, [AB, BC])
    check(nameless, [CD, AC, BD, AD])
    check(Graph(named.store, EX.unknown), [])


def test_trig_parsed_into_a_nameless_graph() -> None:
    graph = Graph(store())
    graph.parse(data=TRIG, format="trig")
    (other,) = blank_graphs(graph.store, but=graph)  # type: ignore[arg-type]
    inferred = [AC, BD, AD]
    check(graph, [AB, *inferred])
    check(Graph(graph.store, EX.data), [BC])
    check(other, [CD, *inferred])
    graph.add(BC)
    check(graph, [AB, BC, *inferred])


QUADS = {
    "nquads": """<http://example.org/a> <http://example.org/p> <http://example.org/b> .
<http://example.org/b> <http://example.org/p> <http://example.org/c> <http://example.org/data> .""",
    "hext": """["http://example.org/a", "http://example.org/p", "http://example.org/b", "globalId", "", ""]
["http://example.org/b", "http://example.org/p", "http://example.org/c", "globalId", "", "http://example.org/data"]""",
    "json-ld": """{"@context": {"@vocab": "http://example.org/", "@base": "http://example.org/",
"p": {"@type": "@id"}},
"@graph": [{"@id": "data", "@graph": {"@id": "b", "p": "c"}}, {"@id": "a", "p": "b"}]}""",
}  # fmt: skip


@pytest.mark.parametrize("form", QUADS)
def test_other_formats_with_graphs(form: str) -> None:
    graph = Graph(store())
    graph.parse(data=QUADS[form], format=form)
    check(graph, [AB, AC])
    check(Graph(graph.store, EX.data), [BC])
    check(Graph(graph.store), [AC])


def test_a_dataset_made_over_a_plain_store_changes_nothing_until_it_adds_a_graph() -> None:
    graph = Graph(store()).add(AB).add(BC)
    dataset = Dataset(graph.store)
    assert {found.identifier for found in dataset.graphs()} >= {graph.identifier, DATASET_DEFAULT_GRAPH_ID}
    check(dataset.default_graph, [AC])
    dataset.serialize(format="trig")
    check(graph, [AB, BC, AC])
    dataset.graph(EX.data).add(CD)
    check(graph, [AB, BC])
    check(Graph(graph.store).add(AC), [AC])
    check(dataset.graph(EX.data), [CD])
    check(dataset.default_graph, [BD, AD])


def test_a_dataset_made_over_a_graph_with_a_name() -> None:
    graph = Graph(store(), EX.g).add(AB).add(BC)
    dataset = Dataset(graph.store)
    check(dataset.default_graph, [AC])
    assert EX.g in {found.identifier for found in dataset.graphs()}
    check(graph, [AB, BC, AC])
    dataset.graph(EX.g)
    check(graph, [AB, BC])


def test_the_blank_graphs_of_a_dataset_are_named_graphs() -> None:
    dataset = Dataset(store())
    dataset.parse(data=TRIG.replace(":data {", ": {").replace(":a :p :b .", ""), format="trig")
    dataset.default_graph.add(AB)
    dataset.graph(BNode("more")).add(AD)
    (other,) = blank_graphs(dataset.store, but=dataset.graph(BNode("more")))  # type: ignore[arg-type]
    check(other, [CD])
    check(dataset.graph(BNode("more")), [AD])
    check(dataset.default_graph, [AB, AC, BD])


def test_a_dataset_that_came_first() -> None:
    dataset = Dataset(store())
    dataset.default_graph.add(AB)
    dataset.parse(data=TRIG.replace(":a :p :b .", ""), format="trig")
    (other,) = blank_graphs(dataset.store, but=dataset.default_graph)  # type: ignore[arg-type]
    check(other, [CD])
    check(Graph(dataset.store).add(CD), [CD])
    check(dataset.default_graph, [AB, AC, BD, AD])


def test_a_conjunctive_graph() -> None:
    with pytest.warns(DeprecationWarning):
        graph = ConjunctiveGraph(store())
    graph.parse(data=TRIG, format="trig")
    assert set(graph) == {AB, BC, CD, AC, BD, AD}
    assert len(graph) == 6
    check(graph.default_context, [AB, AC, BD, AD])
    check(graph.get_context(EX.data), [BC])


def written(folder: Path) -> Path:
    path = folder / "quads.trig"
    path.write_text(TRIG)
    return path


def test_trig_loaded_beside_a_nameless_graph(tmp_path: Path) -> None:
    graph = Graph(store()).add(AD)
    graph.store.load(written(tmp_path))  # type: ignore[attr-defined]
    (other,) = blank_graphs(graph.store, but=graph)  # type: ignore[arg-type]
    check(graph, [AB, AD, AC, BD])
    check(Graph(graph.store, EX.data), [BC])
    check(other, [CD, AC, BD])
    check(Graph(graph.store), [AC, BD])


@pytest.mark.parametrize("first", ["nameless", "named", "blank"])
def test_trig_loaded_before_any_graph_is_used(tmp_path: Path, first: str) -> None:
    """Whatever graph is read first: the next nameless one shows what was loaded into none."""
    loaded = store()
    graph = Graph(loaded)
    loaded.load(written(tmp_path))
    (other,) = blank_graphs(loaded, but=graph)
    inferred = [AC, BD, AD]
    rows: dict[str, Callable[[], None]] = {
        "nameless": lambda: check(graph, [AB, *inferred]),
        "named": lambda: check(Graph(loaded, EX.data), [BC]),
        "blank": lambda: check(other, [CD, *inferred]),
    }
    for row in (rows.pop(first), *rows.values()):
        row()
    check(Graph(loaded), inferred)


def test_what_is_loaded_after_trig_was_parsed_goes_where_the_graph_looks(tmp_path: Path) -> None:
    """A graph with a name that the document mentions first is not taken for the one it is parsed into."""
    path = tmp_path / "more.nt"
    path.write_text(f"<{EX.b}> <{EX.p}> <{EX.d}> .")
    for text in (TRIG, TRIG.replace(":a :p :b . _:other { :c :p :d }", "")):
        graph = Graph(store())
        graph.parse(data=text, format="trig")
        graph.store.load(path)  # type: ignore[attr-defined]
        graph.add(AB)
        assert BD in graph
        graph.remove(BD)
        explicit = {t for t, _ in graph.store.triples((None, None, None), graph.store.explicit())}  # type: ignore[attr-defined]
        assert BD not in explicit, "it was this graph's own"


def test_a_store_in_a_folder(tmp_path: Path) -> None:
    graph = Graph(store())
    graph.open(str(tmp_path / "store"), create=True)
    graph.add(AB)
    graph.store.load(written(tmp_path), graph=graph)  # type: ignore[attr-defined]
    second = Graph(graph.store).add(AD)
    check(graph, [AB, AC, BD])
    check(second, [AD, AC, BD])
    graph.close()

    again = Graph(store())
    again.open(str(tmp_path / "store"))
    check(again, [AB, AC, BD])
    check(Graph(again.store, second.identifier), [AD, AC, BD])
    check(Graph(again.store), [AC, BD])
    check(Graph(again.store, EX.data), [BC])
    again.close()

    dataset = Dataset(store())
    dataset.open(str(tmp_path / "store"))
    check(dataset.default_graph, [AB, AC, BD])
    check(dataset.get_context(second.identifier), [AD])
    dataset.close()


def test_a_nameless_graph_that_stands_for_a_named_one_that_a_folder_has(tmp_path: Path) -> None:
    named = Graph(store(), EX.g)
    named.open(str(tmp_path), create=True)
    named.add(AB).add(BC)
    named.close()
    graph = Graph(store())
    graph.open(str(tmp_path))
    check(graph, [AB, BC, AC])
    other = Graph(graph.store, EX.other).add(CD)
    check(other, [CD])
    for same in (graph, Graph(graph.store, EX.g)):
        check(same, [AB, BC, AC, BD, AD])
    with pytest.warns(InferredTripleWarning):
        graph.update("DELETE WHERE { :b :p ?o }", initNs={"": EX})
    check(graph, [AB])
    graph.close()


def test_a_transaction_that_is_rolled_back() -> None:
    graph = Graph(store()).add(AB).add(BC)
    transaction = graph.store.transaction()  # type: ignore[attr-defined]
    with pytest.raises(ZeroDivisionError), transaction:
        Dataset(graph.store).graph(EX.data).add(CD)
        check(graph, [AB, BC])
        raise ZeroDivisionError
    check(graph, [AB, BC, AC])
    other = Graph(graph.store)
    with pytest.raises(ZeroDivisionError), graph.store.transaction():  # type: ignore[attr-defined]
        other.add(CD)
        check(other, [CD, AC, BD, AD])
        raise ZeroDivisionError
    check(other, [AC])
    check(graph, [AB, BC, AC])


def test_apart_every_graph_shows_its_own() -> None:
    graph = Graph(store("apart"))
    graph.parse(data=TRIG, format="trig")
    (other,) = blank_graphs(graph.store, but=graph)  # type: ignore[arg-type]
    check(graph, [AB])
    check(other, [CD])
    check(Graph(graph.store, EX.data), [BC])
    check(Graph(graph.store, INFERRED), [AC, BD, AD])
    graph.open("inferred=show")
    check(graph, [AB, AC, BD, AD])


# Details of it


def test_what_follows_and_is_explicit_elsewhere_is_the_other_graphs() -> None:
    graph = Graph(store()).add(AB).add(BC)
    other = Graph(graph.store).add(AC)
    check(graph, [AB, BC])
    check(other, [AC])
    assert AC not in graph.store.inferred()  # type: ignore[attr-defined]
    graph.add(AC)
    check(graph, [AB, BC, AC])
    other.remove(AC)
    graph.remove(AC)
    check(graph, [AB, BC, AC])
    check(other, [AC])


def test_the_graphs_of_a_triple() -> None:
    graph = Graph(store()).add(AB)
    other = Graph(graph.store).add(BC)
    for seen in (graph, other):
        contexts = {
            t: {g.identifier for g in found if g} for t, found in graph.store.triples((None,) * 3, seen)
        }
        own = {AB: graph, BC: other}
        assert contexts == {t: {own[t].identifier} if t in own else {INFERRED} for t in seen}


def test_what_rdf_forbids_is_shown_where_it_was_added() -> None:
    odd = (Literal("odd"), EX.q, EX.a)
    graph = Graph(store()).add(odd).add(AB)
    other = Graph(graph.store).add(BC)
    assert set(graph) == {odd, AB, AC}
    assert len(graph) == 3
    assert set(other) == {BC, AC}
    assert len(other) == 2
    assert odd not in other


@pytest.mark.parametrize(
    ("request_", "shown"),
    [
        ("INSERT DATA { GRAPH :data { :c :p :d } }", [AB, BC, AC, BD, AD]),
        ("INSERT DATA { :c :p :d }", [AB, BC, CD, AC, BD, AD]),
        ("CREATE GRAPH :data", [AB, BC, AC]),
        ("COPY DEFAULT TO :data", [AB, BC, AC]),
        ("ADD DEFAULT TO :data; DELETE DATA { :b :p :c }", [AB, AC]),
        ("MOVE DEFAULT TO :data", [AC]),
        ("INSERT { GRAPH :data { ?s ?p ?o } } WHERE { ?s ?p ?o }", [AB, BC]),
        ("DELETE WHERE { ?s ?p :c }", [AB]),
        ("CREATE GRAPH :data; DROP GRAPH :data", [AB, BC, AC]),
        ("CLEAR DEFAULT", []),
    ],
)
def test_an_update_leaves_a_plain_store_a_plain_one(request_: str, shown: list[Triple]) -> None:
    graph = Graph(store()).add(AB).add(BC)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        graph.update(request_, initNs={"": EX})
    check(graph, shown)


def test_a_created_graph_is_there_though_it_is_empty(tmp_path: Path) -> None:
    graph = Graph(store())
    graph.open(str(tmp_path), create=True)
    graph.add(AB)
    graph.update("CREATE GRAPH :data", initNs={"": EX})
    assert EX.data in {found.identifier for found in graph.store.contexts()}
    graph.close()
    graph = Graph(store())
    graph.open(str(tmp_path))
    assert EX.data in {found.identifier for found in graph.store.contexts()}
    check(graph, [AB])
    graph.close()


def test_a_query_names_other_graphs_and_never_its_own() -> None:
    graph = Graph(store()).add(AB)
    other = Graph(graph.store).add(BC)
    Graph(graph.store, EX.data).add(CD)
    rows = graph.query("SELECT ?g ?s ?o { GRAPH ?g { ?s ?p ?o } }")
    inferred = [AC, BD, AD]
    expected = {(EX.data, EX.c, EX.d), *((other.identifier, s, o) for s, _, o in [BC, *inferred])}
    assert {tuple(row) for row in rows} == expected  # type: ignore[arg-type]


def test_a_query_follows_when_a_graph_comes_to_show_less() -> None:
    graph = Graph(store()).add(AB).add(BC)
    check(graph, [AB, BC, AC])
    Dataset(graph.store).graph(EX.data)
    check(graph, [AB, BC])


def test_a_removal_through_a_graph_leaves_what_others_hold() -> None:
    graph = Graph(store()).add(AB).add(BC)
    other = Graph(graph.store).add(AB)
    other.remove((None, None, None))
    check(graph, [AB, BC, AC])
    check(other, [AC])
    graph.update("DELETE DATA { :a :p :b }", initNs={"": EX})
    check(graph, [BC])


# Any sequence of changes


def closure(edges: set[Triple]) -> set[Triple]:
    """The edges, and those that follow."""
    every = set(edges)
    while more := {(s, p, o) for s, p, m in every for n, _, o in every if m == n} - every:
        every |= more
    return every


@dataclass
class Model:
    """What was put into which graph, which were added by a Dataset, and what each shows then.

    ``first`` is what used the store first, if it was no graph named by an IRI.
    """

    graphs: dict[Node, set[Triple]] = field(default_factory=dict)
    added: set[Node] = field(default_factory=set)
    first: str | None = None

    def copy(self) -> Model:
        return Model({name: set(own) for name, own in self.graphs.items()}, set(self.added), self.first)

    def use(self, name: Node) -> None:
        if isinstance(name, BNode):
            self.first = self.first or "graph"

    def put(self, name: Node, *triples: Triple) -> None:
        self.graphs.setdefault(name, set()).update(triples)

    def shown(self, name: Node) -> set[Triple]:
        own = self.graphs.get(name, set())
        is_alone = self.graphs.keys() <= {name}
        is_nameless = isinstance(name, BNode) and self.first != "dataset"
        if self.added or not (is_nameless or is_alone):
            return own
        return own | self.inferred()

    def inferred(self) -> set[Triple]:
        union = set().union(*self.graphs.values())
        return closure(union) - union


NAMELESS = [BNode(name) for name in "xyz"]
NAMED = [EX.g, EX.h]
names: st.SearchStrategy[IdentifiedNode] = st.sampled_from([*NAMELESS, *NAMED])
edges = st.tuples(*[st.sampled_from([EX.a, EX.b, EX.c, EX.d])] * 2).map(lambda ends: (ends[0], EX.p, ends[1]))
Step = tuple[str, IdentifiedNode, IdentifiedNode, Triple, Triple]
KINDS = [
    "add",
    "add",
    "add",
    "remove",
    "trig",
    "insert",
    "copy",
    "create",
    "drop",
    "rollback",
    "read",
    "look",
    "dataset",
]
steps = st.tuples(st.sampled_from(KINDS), names, names, edges, edges)


def take(kind: str, graph: Graph, other: IdentifiedNode, one: Triple, two: Triple, model: Model) -> None:
    """Do one thing through a graph, and to the model."""
    name = graph.identifier
    to = other if isinstance(other, URIRef) else EX.k
    first, second = (" ".join(term.n3() for term in triple) for triple in (one, two))
    if kind not in ("look", "dataset"):
        model.use(name)
    match kind:
        case "add":
            graph.add(one)
            model.put(name, one)
        case "remove":
            graph.remove(one)
            model.graphs.get(name, set()).discard(one)
        case "trig":
            graph.parse(data=f"{to.n3()} {{ {first} }} {second} .", format="trig")
            model.put(to, one)
            model.put(name, two)
        case "insert":
            graph.update(f"INSERT DATA {{ {first} GRAPH {to.n3()} {{ {second} }} }}")
            model.put(name, one)
            model.put(to, two)
        case "copy" if name != to:
            graph.update(f"COPY DEFAULT TO {to.n3()}")
            model.graphs[to] = set(model.graphs.get(name, set()))
        case "create":
            graph.update(f"CREATE SILENT GRAPH {to.n3()}")
            model.put(to)
        case "drop":
            graph.update(f"DROP SILENT GRAPH {to.n3()}")
            model.graphs.pop(to, None)
            model.added.discard(to)
        case "look":
            dataset = Dataset(graph.store)
            model.first = model.first or "dataset"
            check(dataset.default_graph, model.inferred())
            assert all({*found} >= model.graphs.get(found.identifier, set()) for found in dataset.graphs())
        case "dataset":
            Dataset(graph.store).graph(to)
            model.put(to)
            model.added.add(to)
            model.first = model.first or "dataset"


@given(st.lists(steps, min_size=1, max_size=12))
@thorough(60)
@pytest.mark.filterwarnings("ignore")
def test_any_sequence_of_changes(script: list[Step]) -> None:
    of = store()
    model = Model()

    def compare() -> None:
        for name in (*NAMED, *NAMELESS):
            model.use(name)
            check(Graph(of, name), model.shown(name))
        assert {graph.identifier for graph in of.contexts()} >= {g for g, own in model.graphs.items() if own}

    for kind, name, other, one, two in script:
        graph = Graph(of, name)
        if kind == "read":
            compare()
        elif kind == "rollback":
            model.use(name)
            trial = model.copy()
            with pytest.raises(ZeroDivisionError), of.transaction():
                for change in ("add", "insert", "dataset"):
                    take(change, graph, other, one, two, trial)
                check(graph, trial.shown(name))
                raise ZeroDivisionError
        else:
            take(kind, graph, other, one, two, model)
    compare()
