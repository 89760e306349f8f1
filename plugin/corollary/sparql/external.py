"""Access of queries and updates to files and to the network.

``SERVICE`` calls an address, ``LOAD`` reads a document, and ``FROM`` and ``FROM NAMED`` let rdflib read
graphs that the store does not have. An untrusted query must do none of these unless the store allows it.
Access is refused before a file or socket is opened. ``SILENT`` changes the result, not the access.

Redirects are followed to http and https only, so that access to the network does not give access to files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit
from urllib.request import Request

import rdflib.plugins.sparql as settings
from rdflib.plugins.sparql import evaluate
from rdflib.plugins.sparql.parserutils import CompValue
from rdflib.plugins.sparql.sparql import Query
from rdflib.term import Node, URIRef

from corollary.language import CorollaryError, Diagnostic
from corollary.language.errors import Hint


class ExternalAccessRefused(CorollaryError):
    """A query or update needs a file or an address that the store's ``access`` excludes."""


def kind_of(address: str) -> str:
    """``files`` or ``network``: where an IRI is read from. For rdflib, an IRI without a scheme is a path."""
    scheme = urlsplit(address).scheme.lower()
    return "files" if scheme in ("", "file") or len(scheme) == 1 else "network"  # one letter is a drive


def is_allowed(address: str, access: str) -> bool:
    """Whether an IRI may be read. ``access`` is ``all``, ``files``, ``network`` or ``none``."""
    return access in ("all", kind_of(address))


def refuse(what: str, address: Node, access: str) -> None:
    """Raise ``ExternalAccessRefused`` unless an IRI may be read."""
    if not is_allowed(str(address), access):
        kind = kind_of(str(address))
        hint = Hint.ALLOW_FILES if kind == "files" else Hint.ALLOW_NETWORK
        complaint = f"{what} {address.n3()}: queries and updates reach no {kind} here"
        raise ExternalAccessRefused(Diagnostic(complaint, hint=hint))


def refuse_clauses(query: Query, has_graph: Callable[[Node], bool], access: str) -> None:
    """Raise ``ExternalAccessRefused`` if FROM or FROM NAMED has an unknown graph that may not be read."""
    if settings.SPARQL_LOAD_GRAPHS:
        for clause in query.algebra.datasetClause or ():
            graph = clause.default or clause.named
            if not has_graph(graph):
                refuse("FROM" if clause.default else "FROM NAMED", graph, access)


def refuse_services(part: object, access: str) -> list[CompValue]:
    """The SILENT services that ``access`` excludes. ``ExternalAccessRefused`` for other excluded services."""
    silenced = []
    for service in services(part):
        address = service.term
        if not isinstance(address, URIRef):  # a variable: rdflib calls no such service
            address = URIRef("http://?")
        if not is_allowed(str(address), access):
            if not service.silent:
                refuse("SERVICE", address, access)
            silenced.append(service)
        else:
            guard_services()
    return silenced


def services(part: object) -> Iterator[CompValue]:
    """The SERVICE patterns in a query, at any depth."""
    if isinstance(part, CompValue):
        if part.name == "ServiceGraphPattern":
            yield part
        for value in part.values():
            yield from services(value)
    elif isinstance(part, list | tuple):
        for value in part:
            yield from services(value)


def guard_services() -> None:
    """Make rdflib's SERVICE follow redirects to http and https only.

    rdflib calls services with ``urlopen`` and has no argument for redirects. So the name ``urlopen`` in
    rdflib's module is replaced, before the first query that calls a service.
    """
    from corollary.loaders.fetching import RedirectRefused, opened

    def open_service(request: Request) -> Any:
        try:
            return opened(request)
        except RedirectRefused as error:
            raise ExternalAccessRefused(f"SERVICE: {error}") from None

    evaluate.urlopen = open_service  # type: ignore[assignment, attr-defined]
