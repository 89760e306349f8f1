"""The facts that rdflib's graphs show: graphs, names and formulas over one version of the reasoner.

Functions of a version, and steps from a version to the next one. They change nothing, but that ``view_of``
records the first graph that is used (``DefaultGraphAlias.meet``).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rdflib.graph import ConjunctiveGraph, Graph, QuotedGraph
from rdflib.term import BNode, Node, URIRef

from corollary.columns import TripleIndex
from corollary.language import CorollaryError
from corollary.reasoner.state import View
from corollary.reasoner.version import StaleTerms, Version
from corollary.reasoner.versions import Closed
from corollary.sparql.rdf_terms import Terms
from corollary.store.default_graph import DefaultGraphAlias, reopened
from corollary.terms.dictionary import KIND_SHIFT, Kind

if TYPE_CHECKING:
    from rdflib.graph import _ContextType, _TriplePatternType

Pattern = tuple[int | None, int | None, int | None]
"""Subject, predicate, object as ids; None matches any term."""

_UNKNOWN = -1
"""An id that no graph has."""


def pattern_of(version: Version, triple: _TriplePatternType) -> Pattern | None:
    """A pattern over ids; None if a term is not in the dictionary, so that nothing matches."""
    subject, predicate, value = triple
    find = version.terms.find
    s = p = o = None
    if (
        (subject is not None and (s := find(subject)) is None)
        or (predicate is not None and (p := find(predicate)) is None)
        or (value is not None and (o := find(value)) is None)
    ):
        return None
    return s, p, o


def formula_of(version: Version, context: _ContextType | Node) -> TripleIndex | None:
    """The facts of a formula; None if ``context`` is an ordinary graph."""
    formulas = version.quads.formulas
    if not formulas and QuotedGraph not in type(context).__mro__:  # its class is abstract: slow to ask
        return None
    name = version.terms.find(identifier_of(context))
    if name is not None and name in formulas:
        return formulas[name]
    return TripleIndex() if isinstance(context, QuotedGraph) else None


def view_of(version: Version, context: _ContextType | Node | None) -> View:
    """The view that a graph shows; for None the view of the union. Precondition: the version is settled."""
    if context is None:
        return version.state.everything
    name = identifier_of(context)
    view = last_view(version, name)
    if view is None:
        view = _view_of(version, name)
        version.last_view = name, version.adapter_state.first, view
    return view


def last_view(version: Version, name_of_graph: Node) -> View | None:
    """What ``view_of`` has returned last, if it was for this graph; else None."""
    last: tuple[Node, Node | None, View] | None = version.last_view
    if last is None or last[0] is not name_of_graph or last[1] is not version.adapter_state.first:
        return None
    return last[2]


def _view_of(version: Version, name_of_graph: Node) -> View:
    """``view_of`` without its cache of the last graph."""
    terms: Terms = version.terms
    alias: DefaultGraphAlias = version.adapter_state
    state = version.state
    identifier = alias.meet(name_of_graph)
    known = terms.find(identifier)  # reads encode no new terms
    name = _UNKNOWN if known is None else known
    if name == terms.explicit:
        return state.explicit
    if name == terms.inferred:
        return state.inferred
    # The default graph shows inferred facts. In a plain store every nameless graph does, and a graph that is
    # the only one.
    is_home = name == terms.default or (
        is_plain(version) and (alias.is_nameless(identifier) or state.facts.graphs.keys() <= {name})
    )
    return state.home(name) if is_home else state.graph(name)


def adopted(before: Version | Closed, read: Version, opener: Graph | None) -> Version:
    """The version ``read`` from a folder, with the alias for ``opener``, else for the first graph before."""
    first = None if isinstance(before, Closed) else before.adapter_state.first
    if opener is not None:
        first = (opener._default_context if isinstance(opener, ConjunctiveGraph) else opener).identifier
    kept = frozenset(read.terms[graph] for graph in (*read.quads.graphs, *read.named))
    return read.changed(adapter_state=reopened(first, kept, is_alone=len(kept) == 1 and not read.named))


def refreshed(before: Version | Closed, read: Version) -> Version:
    """The version ``read`` again from the same place: the graphs of the program stand for what they did."""
    assert not isinstance(before, Closed)
    handles = before.terms.handles.copy()
    read.terms.handles.update((read.terms.id_of(before.terms[n]), graph) for n, graph in handles.items())
    alias = before.adapter_state
    names = {read.terms[graph] for graph in read.quads.graphs} - {alias.first}
    return read.changed(adapter_state=replace(alias, kept=alias.kept | names))


def is_plain(version: Version) -> bool:
    """Whether no Dataset has added a graph. The default graph, which rdflib adds for listing, is ignored."""
    return version.named <= {version.terms.default}


def with_graph(version: Version, terms: Terms, graph: int) -> Version:
    """With a graph added by a Dataset. Raises StaleTerms if ``terms`` is not ``version.terms``."""
    if version.terms is not terms:
        raise StaleTerms
    if graph not in {terms.default, *version.named, *version.quads.graphs}:
        version.to_be_written()
    alias = version.adapter_state.of_a_dataset()
    return version.changed(named=version.named | {graph}, adapter_state=alias)


def with_alias(version: Version) -> Version:
    """The version after a load without a named target: see ``DefaultGraphAlias.filled``."""
    blank = (graph for graph in version.quads.graphs if graph >> KIND_SHIFT == Kind.BLANK_NODE)
    return version.changed(
        adapter_state=version.adapter_state.filled(version.terms[graph] for graph in blank)
    )


def refuse_side(terms: Terms, graph: int) -> None:
    """Raise CorollaryError for the two read-only graphs, which show E and I - E."""
    if graph == terms.explicit or graph == terms.inferred:
        side = "explicit" if graph == terms.explicit else "inferred"
        raise CorollaryError(
            f"{terms[graph]} shows the {side} triples of all graphs and cannot be changed: add to, "
            "or remove from, the default graph or a named one"
        )


def identifier_of(context: _ContextType | Node) -> Node:
    """The name of a graph, given as its name or as a ``Graph``."""
    if type(context) is BNode or type(context) is URIRef:  # in less time than isinstance, which is Python's
        return context
    return context.identifier if isinstance(context, Graph) else context
