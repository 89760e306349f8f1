"""Every public operation of a store, on a small one, and what must hold after it was interrupted.

The state seen afterwards is that before the operation or that after it; what follows is what a naive
evaluator derives from the explicit facts; a rollback brings back what was committed, which is also what the
folder holds; and the store goes on.
"""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from rdflib import RDF, RDFS, XSD, Dataset, Graph, Literal, Namespace, URIRef
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID, QuotedGraph
from rdflib.term import Node
from tests.oracles import naive
from tests.oracles.integers import INTEGERS
from tests.trust.injection import Interrupted

from corollary.language import CorollaryError, Program, constant_text, parse_constant, parse_program
from corollary.profiles import load_profile
from corollary.reasoner.folder import Folder
from corollary.sparql.rdf_terms import _term, text_of
from corollary.store import CorollaryStore

EX = Namespace("http://example.org/")

STRATA = parse_program(
    """
PREFIX : <http://example.org/>
PREFIX owl: <http://www.w3.org/2002/07/owl#>
[?x, :over, ?z] :- [?x, :over, ?y], [?y, :over, ?z] .
[?x, owl:sameAs, ?y] :- [?x, :is, ?y] .
[?y, owl:sameAs, ?x] :- [?x, owl:sameAs, ?y] .
[?y, :owns, ?o] :- [?x, owl:sameAs, ?y], [?x, :owns, ?o] .
[?s, :owns, ?y] :- [?x, owl:sameAs, ?y], [?s, :owns, ?x] .
:Top[?x] :- [?x, :over, ?y], NOT EXISTS ?z IN ([?z, :over, ?x]) .
[?x, :below, ?n] :- AGGREGATE([?x, :over, ?y] ON ?x BIND count(?y) AS ?n) .
"""
)
"""Recursion, equality, negation and an aggregate."""

PROGRAMS = {"rhodf": load_profile("rhodf"), "strata": STRATA, "owl2rl": load_profile("owl2rl")}

OTHER = parse_program("[?x, ?p, ?z] :- [?x, ?p, ?y], [?y, ?p, ?z], [?p, a, <http://example.org/Dog>] .")

MORE = "PREFIX : <http://example.org/> [?y, :under, ?x] :- [?x, :over, ?y] ."

BEGUN = [
    (EX.Dog, RDFS.subClassOf, EX.Animal),
    (EX.Animal, RDFS.subClassOf, EX.Thing),
    (EX.owns, RDFS.domain, EX.Person),
    (EX.rex, RDF.type, EX.Dog),
    (EX.a, EX.over, EX.b),
    (EX.b, EX.over, EX.c),
    (EX.rex, EX["is"], EX.max),
    (EX.ann, EX.owns, EX.rex),
]
NAMED = [(EX.rex, EX.name, Literal("Rex", lang="en")), (EX.rex, RDF.type, EX.Dog)]
NEW = [
    (EX.c, EX.over, EX.d),
    (EX.tom, RDF.type, EX.Dog),
    (EX.x, EX.value, Literal("01", datatype=XSD.integer)),
]

Seen = tuple[frozenset[Any], frozenset[Any], frozenset[Any], frozenset[Any], frozenset[Any]]
"""Quads, names of graphs, prefixes, rules, inferred triples."""

Work = Callable[[], object]


@dataclass
class Case:
    """A store that is to be interrupted, and where its folder and documents are."""

    store: CorollaryStore
    place: Path | None
    documents: Path

    def __post_init__(self) -> None:
        """Make the graphs, which bind rdflib's prefixes one by one."""
        self.data = Dataset(self.store, default_union=False)
        self.home = Graph(self.store, DATASET_DEFAULT_GRAPH_ID)
        self.named = Graph(self.store, EX.g)
        self.graphs = [graph.namespace_manager for graph in (self.data, self.home, self.named)]


def begin(program: Program, place: Path | None, documents: Path) -> Case:
    """A store with something committed, something that was read since, and something that waits."""
    store = CorollaryStore(rules=program)
    if place is not None:
        store.open(str(place), create=True)
    case = Case(store, place, documents)
    home, named = case.home, case.named
    for triple in BEGUN[:-1]:
        home.add(triple)
    named.addN((*triple, named) for triple in NAMED)
    store.bind("ex", URIRef(EX))
    store.add((EX.f, EX.p, EX.o), QuotedGraph(store, EX.formula), True)
    store.add_graph(Graph(store, EX.empty))
    store.commit()
    home.remove(BEGUN[1])
    len(store)
    home.add(BEGUN[-1])
    named.remove(NAMED[1])
    return case


def seen(store: CorollaryStore) -> Seen:
    """What a store shows."""
    quads: set[Any] = set()
    inferred: set[Any] = set()
    for triple, contexts in store.triples((None, None, None), None):
        names = [graph.identifier for graph in contexts if graph is not None]
        if names == [URIRef("urn:x-corollary:inferred")]:
            inferred.add(triple)
        else:
            quads.update((*triple, name) for name in names)
    graphs = list(store.contexts())
    for graph in graphs:
        if isinstance(graph, QuotedGraph):
            quads.update(
                (*triple, graph.identifier) for triple, _ in store.triples((None, None, None), graph)
            )
    return (
        frozenset(quads),
        frozenset(graph.identifier for graph in graphs) - {DATASET_DEFAULT_GRAPH_ID},  # always there
        frozenset(store.namespaces()),
        frozenset(store.rules()),
        frozenset(inferred),
    )


_closures: dict[Any, frozenset[Any]] = {}


def check_closure(found: Seen) -> None:
    """What follows is what a naive evaluator derives."""
    quads, _, _, rules, inferred = found
    explicit = frozenset((s, p, o) for s, p, o, graph in quads if graph != EX.formula)
    key = explicit, rules
    if key not in _closures:
        facts = {tuple(parse_constant(text_of(term)) for term in triple) for triple in explicit}
        closed = naive.visible(naive.closure(facts, Program(tuple(rules)), INTEGERS)[0])  # type: ignore[arg-type]
        terms = {tuple(_term(constant_text(term)) for term in fact) for fact in closed}
        _closures[key] = frozenset(terms - explicit)
    assert inferred == _closures[key], (inferred - _closures[key], _closures[key] - inferred)


# Operations


def _raising() -> Iterator[Any]:
    yield (*NEW[0], None)
    raise Interrupted


def _transaction(case: Case) -> None:
    with case.store.transaction():
        case.home.add(NEW[0])
        assert NEW[0] in case.home
        case.home.remove((None, RDF.type, None))
        with suppress(KeyError), case.store.transaction():
            case.home.add(NEW[1])
            raise KeyError
        case.named.add(NEW[2])
        case.store.bind("two", URIRef(EX["two#"]))


def _rolled_back(case: Case) -> None:
    with suppress(KeyError), case.store.transaction():
        case.home.add(NEW[0])
        len(case.store)
        case.store.add_rules(MORE)
        raise KeyError


def _update(case: Case) -> None:
    case.data.update(
        f"INSERT DATA {{ GRAPH <{EX.h}> {{ <{EX.c}> <{EX.over}> <{EX.d}> }} }} ;"
        f"DELETE {{ ?x a <{EX.Dog}> }} INSERT {{ ?x a <{EX.Cat}> }} WHERE {{ ?x a <{EX.Dog}> }} ;"
        f"CLEAR GRAPH <{EX.g}>"
    )


def _reopen(case: Case) -> None:
    assert case.place is not None
    case.store.close()
    case.store.open(str(case.place))


OPERATIONS: dict[str, Callable[[Case], object]] = {
    "add": lambda case: case.home.add(NEW[0]),
    "add to a new graph": lambda case: case.store.add(
        NEW[2], Graph(case.store, EX.new, case.home.namespace_manager)
    ),
    "add a quoted triple": lambda case: case.store.add(NEW[0], QuotedGraph(case.store, EX.formula), True),
    "addN": lambda case: case.store.addN([(*t, g) for t in NEW for g in (case.home, case.named)]),
    "removeN": lambda case: case.store.removeN([(*BEGUN[0], case.home), (*NAMED[0], None)]),
    "remove": lambda case: case.home.remove(BEGUN[0]),
    "remove by pattern": lambda case: case.home.remove((None, RDF.type, None)),
    "remove everywhere": lambda case: case.store.remove((EX.rex, None, None), None),
    "clear": lambda case: case.home.remove((None, None, None)),
    "load": lambda case: case.store.load(case.documents / "one.nt", case.documents / "two.ttl"),
    "update": _update,
    "commit": lambda case: case.store.commit(),
    "compact": lambda case: case.store.compact(),
    "rollback": lambda case: case.store.rollback(),
    "read": lambda case: list(case.store.triples((None, None, None), None)),
    "query": lambda case: list(case.home.query("SELECT ?x { ?x a ?c . FILTER(STRLEN(STR(?x)) > 1) }")),
    "explain": lambda case: case.store.explain(BEGUN[4]),
    "verify": lambda case: case.store.verify(),
    "add rules": lambda case: case.store.add_rules(MORE),
    "remove rules": lambda case: case.store.remove_rules(Program(tuple(case.store.rules())[:2])),
    "use rules": lambda case: case.store.use_rules(OTHER),
    "bind": lambda case: case.store.bind("two", URIRef(EX["two#"])),
    "add graph": lambda case: case.store.add_graph(Graph(case.store, EX.new, case.home.namespace_manager)),
    "remove graph": lambda case: case.store.remove_graph(case.named),
    "transaction": _transaction,
    "transaction that fails": _rolled_back,
}


def _commit_beside_the_log(case: Case) -> None:
    with patch("corollary.reasoner.folder.MAX_LOG_BYTES", 0):
        case.store.commit()


IN_FOLDERS: dict[str, Callable[[Case], object]] = {
    "commit beside the log": _commit_beside_the_log,
    "close": lambda case: case.store.close(),
    "close and discard": lambda case: case.store.close(discard=True),
    "close and open": _reopen,
    "checkpoint": lambda case: case.store.checkpoint(),
}


def write_documents(folder: Path) -> None:
    lines = " ".join(term.n3() for term in NEW[0])
    (folder / "one.nt").write_text(f"{lines} .\n<{EX.x}> <{EX.p}> _:b .\n")
    (folder / "two.ttl").write_text(f"@prefix t: <{EX}two#> .\n<{EX.tom}> a <{EX.Dog}> ; t:knows [] .\n")


def anonymous(found: Seen) -> Seen:
    """Blank nodes that come with a document are new ones each time: as one."""
    quads, graphs, prefixes, rules, inferred = found

    def plain(row: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple("blank" if type(term).__name__ == "BNode" else term for term in row)

    return frozenset(map(plain, quads)), graphs, prefixes, rules, frozenset(map(plain, inferred))


@dataclass(frozen=True)
class Expected:
    """What may be seen after an operation was interrupted, and what may be committed then."""

    before: Seen
    after: Seen
    committed: tuple[Seen, ...]


def expected(program: Program, place: Path | None, documents: Path, name: str) -> Expected:
    """What an operation does if nothing happens to it."""
    case = begin(program, place, documents)
    before = anonymous(seen(case.store))
    case.store.rollback()
    committed = anonymous(seen(case.store))
    end(case)
    case = begin(program, place, documents)
    perform(case, name)
    if is_closed(case):
        case.store.open(str(place))
    after = anonymous(seen(case.store))
    with suppress(CorollaryError):
        case.store.rollback()
    committed_then = anonymous(seen(case.store))
    end(case)
    return Expected(before, after, (committed, committed_then))


def perform(case: Case, name: str) -> None:
    {**OPERATIONS, **IN_FOLDERS}[name](case)


def is_closed(case: Case) -> bool:
    return repr(case.store).startswith("<CorollaryStore: the store in")


def end(case: Case) -> None:
    """Leave a folder as a process does that ends."""
    if case.place is not None:
        if not is_closed(case):
            case.store.close(discard=True)
        for file in case.place.iterdir():
            file.unlink()


def check(case: Case, wanted: Expected, number: int) -> None:
    """After an interruption, in one of three ways by turns."""
    gc.collect() if number % 64 == 0 else None
    store, place = case.store, case.place
    if is_closed(case):
        assert place is not None
        store.open(str(place))
    state = seen(store)
    assert anonymous(state) in (wanted.before, wanted.after), difference(state, wanted)
    check_closure(state)
    match number % 3:
        case 0:  # what was committed is what a rollback brings back, and what the folder holds
            store.rollback()
            state = seen(store)
            assert anonymous(state) in wanted.committed, difference(state, wanted)
            check_closure(state)
            if place is not None:
                crash(store)
                again = opened(place, store.rules())
                assert seen(again)[:3] == state[:3]
                again.close(discard=True)
        case 1:  # the store goes on
            triples = [(EX.c, EX.over, EX.e), (EX.pat, RDF.type, EX.Dog)]
            home = case.home
            for triple in triples:
                home.add(triple)
            later = seen(store)
            assert later[0] == state[0] | {(*triple, DATASET_DEFAULT_GRAPH_ID) for triple in triples}
            check_closure(later)
            for triple in triples:
                home.remove(triple)
            assert seen(store) == state
            if place is not None:
                rules = store.rules()
                store.close()
                again = opened(place, rules)
                assert seen(again)[:3] == state[:3]
                check_closure(seen(again))
                again.close(discard=True)
        case 2:
            found = store.verify()
            assert found.is_sound, str(found)


def opened(place: Path, rules: Program) -> CorollaryStore:
    store = CorollaryStore(rules=rules if len(rules) else "none")
    store.open(str(place))
    return store


def crash(store: CorollaryStore) -> None:
    """Leave a folder as a process does that is killed, while no snapshot is being written.

    A thread that writes one would go on, and use the connection while it is closed: SQLite may crash then.
    """
    folder = store.reasoner.versions.persistence()
    assert isinstance(folder, Folder)
    folder.settle()
    folder._journal.close()
    folder._lock.close()


def difference(found: Seen, wanted: Expected) -> str:
    found = anonymous(found)
    lines = []
    for name, other in (("before", wanted.before), ("after", wanted.after)):
        for kind, ours, theirs in zip(
            ("quads", "graphs", "prefixes", "rules", "inferred"), found, other, strict=True
        ):
            if ours != theirs:
                lines.append(f"{name}: {kind}: more {set(ours - theirs)}, less {set(theirs - ours)}")
    return "\n".join(lines)


def quiet() -> None:
    warnings.simplefilter("ignore")


Nodes = tuple[Node, ...]
