"""SPARQL 1.1 Update: the changes of an operation are computed first, then applied together.

1. The request is parsed (``sparql.parser``). ``_change`` computes what one operation removes and adds, and
   changes nothing.
2. ``_Change.apply`` writes the changes through the store: a pending row for each fact added or removed.
3. A request is one transaction: an error in any operation rolls back the whole request.

Invariant: a request that fails has changed nothing, and no other thread sees a part of a request. WHERE reads
explicit and inferred facts. Only explicit facts are changed and copied.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, Any, cast

from rdflib.graph import DATASET_DEFAULT_GRAPH_ID, Graph
from rdflib.term import BNode, IdentifiedNode, Identifier, Node, URIRef, Variable

from corollary.kernels.limits import check
from corollary.language import CorollaryError
from corollary.reasoner.state import View
from corollary.sparql.access import ExternalAccessRefused, refuse
from corollary.sparql.algebra import (
    Clear,
    Create,
    DeleteData,
    Drop,
    InsertData,
    Load,
    Modify,
    Quad,
    Transfer,
    UpdateOperation,
)
from corollary.sparql.from_rdflib import is_prepared, update_of
from corollary.sparql.parser import parse_update
from corollary.sparql.query_errors import refuses_deep_nesting
from corollary.sparql.rdflib_settings import default_graph_is_union, loads_graphs
from corollary.store.loading import UnreadableDocument, read_iri
from corollary.store.rdflib_compat import default_graph_of_caller
from corollary.store.update_scope import Row, Scope, is_there
from corollary.store.where_solutions import Original, solutions

if TYPE_CHECKING:
    from rdflib.plugins.sparql.sparql import Update

    from corollary.store.graph_store import GraphStore


class UpdateError(CorollaryError):
    """An operation cannot be carried out on its graphs. SILENT suppresses this error."""


@refuses_deep_nesting
def run_update(
    store: GraphStore,
    request: str | Update | tuple[UpdateOperation, ...],
    prefixes: Mapping[str, Any],
    bindings: Mapping[str, Identifier],
    query_graph: str | None,
    caller: FrameType | None,
    base: str | None = None,
) -> None:
    """Carry out a request. If one of its operations fails, none takes effect.

    ``query_graph`` names the default graph; the other graphs of the store are the named graphs. With
    ``"__UNION__"`` the default graph shows all graphs: INSERT adds to the caller's default graph, DELETE
    removes from every graph. ``caller`` is the frame in which this default graph is looked up. Raises
    NotImplementedError for a text that does not parse, so that rdflib tries it.
    """
    operations, originals = _parsed(store, request, prefixes, bindings, base)
    for name, value in bindings.items():
        if not isinstance(value, Node):
            raise CorollaryError(f"initBindings: {name} is {value!r}, which is no RDF term; try Literal(...)")
    initial: Row = {Variable(name): value for name, value in bindings.items()}
    union = query_graph == "__UNION__"
    default = default_graph_of_caller(store, caller) if union or query_graph is None else _name(query_graph)
    scope = Scope(default, union and default_graph_is_union())
    for _ in store.reasoner.versions.steps():
        for number, operation in enumerate(operations):
            try:
                change = _change(store, operation, scope, initial, partial(originals, number))
            except (UpdateError, UnreadableDocument, ExternalAccessRefused):
                if not getattr(operation, "is_silent", False):
                    raise
            except NotImplementedError as error:  # rdflib would evaluate the request again by itself
                name = type(operation).__name__
                raise CorollaryError(f"{name} cannot be carried out: {error}") from error
            else:
                change.apply(store)


def _parsed(
    store: GraphStore,
    request: Any,
    prefixes: Mapping[str, Any],
    bindings: Mapping[str, Identifier],
    base: str | None,
) -> tuple[tuple[UpdateOperation, ...], Callable[[int], Any]]:
    """The operations of a request: parsed, prepared, text, bytes, or a file. Also rdflib's form of each."""
    if isinstance(request, tuple):
        return request, _no_form_of_rdflib
    if is_prepared(request, "Update"):
        return update_of(request), lambda number: request.algebra[number]
    if hasattr(request, "read"):
        request = request.read()
    if isinstance(request, bytes):
        request = request.decode("utf-8")
    if not isinstance(request, str):
        raise NotImplementedError("an update that is no text")
    bound = {**dict(store.namespaces()), **prefixes}
    names = {prefix or "": str(namespace) for prefix, namespace in bound.items()}
    found = parse_update(request, names, base or "", [Variable(name) for name in bindings])

    def original(number: int) -> Any:
        from rdflib.plugins.sparql.processor import prepareUpdate

        return prepareUpdate(request, names, base).algebra[number]

    return found, original


def _no_form_of_rdflib(number: int) -> Any:
    raise CorollaryError("the WHERE clause needs rdflib: a graph of USING is missing, or there is a SERVICE")


def _name(text: str) -> IdentifiedNode:
    return text if isinstance(text, IdentifiedNode) else URIRef(text)


@dataclass
class _Change:
    """The changes of one operation. ``apply`` makes them in the order of the fields."""

    cleared: list[IdentifiedNode] = field(default_factory=list)
    removed: Sequence[Quad] = ()
    added: Sequence[Quad] = ()
    prefixes: Mapping[str, URIRef] = field(default_factory=dict)
    dropped: list[IdentifiedNode] = field(default_factory=list)
    created: list[IdentifiedNode] = field(default_factory=list)

    def apply(self, store: GraphStore) -> None:
        for name in self._graphs():
            store.refuse_side(name)  # before anything is changed
        handles: dict[Node | None, Graph] = {}

        def handle(name: Node | None) -> Graph:
            if name not in handles:
                handles[name] = Graph(store, cast(IdentifiedNode, name), bind_namespaces="none")
            return handles[name]

        for name in self.cleared:
            store.remove((None, None, None), handle(name))
        store.removeN((s, p, o, None if graph is None else handle(graph)) for s, p, o, graph in self.removed)
        store.addN((s, p, o, handle(graph)) for s, p, o, graph in self.added)
        for prefix, namespace in self.prefixes.items():
            handle(DATASET_DEFAULT_GRAPH_ID).bind(prefix, namespace)
        for name in self.dropped:
            store.remove_graph(handle(name))
        for name in self.created:
            store.create_graph(handle(name))

    def _graphs(self) -> set[Node]:
        """The names of the graphs that change. None (every graph) is left out."""
        quads = (*self.removed, *self.added)
        names = {*self.cleared, *self.dropped, *self.created, *(graph for *_, graph in quads)}
        return {name for name in names if name is not None}


def _change(
    store: GraphStore, operation: UpdateOperation, scope: Scope, initial: Row, original: Original
) -> _Change:
    """Compute what an operation changes. Does not change the store.

    Raises UpdateError, UnreadableDocument or ExternalAccessRefused, which SILENT suppresses; other
    ``CorollaryError`` for what SPARQL forbids in templates.
    """
    match operation:
        case InsertData():
            quads = _quads(operation.quads, scope.default)
            _refuse_variables(quads, initial, "INSERT DATA")
            return _Change(added=list(_filled(quads, [initial])))
        case DeleteData():
            quads = _quads(operation.quads, scope.deleted_from)
            _refuse_variables(quads, initial, "DELETE DATA")
            _refuse_blank_nodes(quads, "DELETE DATA")
            return _Change(removed=list(_filled(quads, [initial])))
        case Modify():
            return _modification(store, operation, scope, initial, original)
        case Load():
            return _loading(store, operation, scope)
        case Clear():
            return _Change(cleared=_graphs(store, operation.graphs, scope))
        case Drop():
            return _Change(dropped=_graphs(store, operation.graphs, scope))
        case Create():
            if is_there(store, operation.graph):
                raise UpdateError(
                    f"CREATE: there is a graph {operation.graph.n3()} already; CREATE SILENT does not mind"
                )
            return _Change(created=[operation.graph])
        case Transfer():
            return _transfer(store, operation, scope)
    raise NotImplementedError(f"update operation {operation}")


# Templates


def _quads(template: Iterable[Quad], default: Node | None) -> list[Quad]:
    """The quads of a template; ``default`` is the graph of triples outside of GRAPH, None every graph."""
    return [(s, p, o, default if graph is None else graph) for s, p, o, graph in template]


def _variables(quads: list[Quad]) -> list[Variable]:
    return list(dict.fromkeys(term for quad in quads for term in quad if isinstance(term, Variable)))


def _refuse_blank_nodes(quads: list[Quad], where: str) -> None:
    for *triple, _ in quads:
        if any(isinstance(term, BNode) for term in triple):
            text = " ".join(term.n3() for term in triple)
            raise CorollaryError(f"{where} {{{text}}}: a blank node stands for no node; use a variable")


def _refuse_variables(quads: list[Quad], initial: Row, where: str) -> None:
    for variable in _variables(quads):
        if variable not in initial:
            raise CorollaryError(
                f"{where} holds the variable {variable.n3()}: bind it in initBindings, or use WHERE"
            )


def _filled(template: list[Quad], rows: Iterable[Row]) -> Iterator[Quad]:
    """Instantiate a template for every row, with new blank nodes. Quads with unbound terms are left out."""
    for row in rows:
        check()
        blank: defaultdict[Node, BNode] = defaultdict(BNode)

        def filled(term: Node, row: Row = row, blank: defaultdict[Node, BNode] = blank) -> Node | None:
            if isinstance(term, Variable):
                return row.get(term)
            return blank[term] if isinstance(term, BNode) else term

        for *triple, given in template:
            s, p, o = map(filled, triple)
            graph = row.get(given) if isinstance(given, Variable) else given
            if s is not None and p is not None and o is not None and (graph is not None or given is None):
                yield s, p, o, graph


def _is_legal(quad: Quad) -> bool:
    """Whether RDF allows a quad: no literal as subject or graph, an IRI as predicate."""
    s, p, _, graph = quad
    return isinstance(s, IdentifiedNode) and isinstance(p, URIRef) and isinstance(graph, IdentifiedNode)


def _modification(
    store: GraphStore, operation: Modify, scope: Scope, initial: Row, original: Original
) -> _Change:
    """DELETE / INSERT WHERE. All deletions come before the first insertion."""
    deleted = _quads(operation.deleted, operation.graph or scope.deleted_from)
    inserted = _quads(operation.inserted, operation.graph or scope.default)
    _refuse_blank_nodes(deleted, "DELETE")
    rows = solutions(store, operation, scope, initial, _variables(deleted + inserted), original)
    return _Change(
        removed=list(_filled(deleted, rows)),
        added=[quad for quad in _filled(inserted, rows) if _is_legal(quad)],
    )


# Whole graphs


def _graphs(store: GraphStore, which: str, scope: Scope) -> list[IdentifiedNode]:
    """The names of the graphs that DEFAULT, NAMED, ALL or an IRI denotes."""
    if which == "DEFAULT":
        return [scope.default]
    if which not in ("NAMED", "ALL"):
        return [_name(which)]
    named = [graph.identifier for graph in store.contexts() if graph.identifier != scope.default]
    return named if which == "NAMED" else [scope.default, *named]


def _transfer(store: GraphStore, operation: Transfer, scope: Scope) -> _Change:
    """ADD, COPY or MOVE of the explicit facts of one graph into another."""
    source, target = (end or scope.default for end in (operation.source, operation.target))
    if source != scope.default and not is_there(store, source):
        raise UpdateError(
            f"{operation.keyword}: there is no graph {source.n3()}; with SILENT nothing is done then"
        )
    if source == target:
        return _Change()
    return _Change(
        cleared=[] if operation.keyword == "ADD" else [target],
        added=[(s, p, o, target) for s, p, o in store.explicit_triples(source)],
        dropped=[source] if operation.keyword == "MOVE" else [],
        created=[] if target == scope.default else [target],
    )


def _loading(store: GraphStore, operation: Load, scope: Scope) -> _Change:
    """LOAD of a document's default graph; without ``SPARQL_LOAD_GRAPHS``, of a graph of the store."""
    source, target = operation.source, operation.target or scope.default
    if not loads_graphs():
        return _Change(added=[(s, p, o, target) for s, p, o in store.explicit_triples(source)])
    refuse("LOAD", source, store.external)
    terms = store.reasoner.versions.current().terms
    index, prefixes = read_iri("LOAD", source, terms)
    facts = View(index, index).match(None, None, None)
    added: list[Quad] = [(terms[s], terms[p], terms[o], target) for s, p, o in facts]
    return _Change(added=added, prefixes={prefix: URIRef(name) for prefix, name in prefixes.items()})
