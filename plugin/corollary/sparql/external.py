"""What a query or update may reach outside of the store: files, the network, or neither.

``SERVICE`` asks the network, ``LOAD`` reads a document, and ``FROM`` and ``FROM NAMED`` let rdflib read the
graphs that the store has not. A stranger's query shall do none of that unless the store allows it. What is
not allowed is refused before a file or socket is touched; ``SILENT`` changes the result, and not the access.

Redirects are followed to http and https alone: what may use the network is not led to a file.
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
    """A query or update asks for a file or an address, and the store does not allow that."""


def kind_of(address: str) -> str:
    """``files`` or ``network``: what an IRI is read from. One without a scheme is a path for rdflib."""
    scheme = urlsplit(address).scheme.lower()
    return "files" if scheme in ("", "file") or len(scheme) == 1 else "network"  # one letter is a drive


def is_allowed(address: str, access: str) -> bool:
    """Whether an IRI may be read."""
    return access in ("all", kind_of(address))


def refuse(what: str, address: Node, access: str) -> None:
    """Raise ``ExternalAccessRefused`` unless an IRI may be read."""
    if not is_allowed(str(address), access):
        kind = kind_of(str(address))
        hint = Hint.ALLOW_FILES if kind == "files" else Hint.ALLOW_NETWORK
        complaint = f"{what} {address.n3()}: queries and updates reach no {kind} here"
        raise ExternalAccessRefused(Diagnostic(complaint, hint=hint))


def refuse_clauses(query: Query, has_graph: Callable[[Node], bool], access: str) -> None:
    """Raise ``ExternalAccessRefused`` if FROM or FROM NAMED would let rdflib read what may not be read."""
    if settings.SPARQL_LOAD_GRAPHS:
        for clause in query.algebra.datasetClause or ():
            graph = clause.default or clause.named
            if not has_graph(graph):
                refuse("FROM" if clause.default else "FROM NAMED", graph, access)


def refuse_services(part: object, access: str) -> list[CompValue]:
    """Raise ``ExternalAccessRefused`` for a SERVICE that may not be asked; SILENT ones are the result."""
    silenced = []
    for service in services(part):
        address = service.term
        if not isinstance(address, URIRef):  # a variable: rdflib asks none
            address = URIRef("http://?")
        if not is_allowed(str(address), access):
            if not service.silent:
                refuse("SERVICE", address, access)
            silenced.append(service)
        else:
            guard_services()
    return silenced


def services(part: object) -> Iterator[CompValue]:
    """The SERVICE patterns in a query, wherever they stand."""
    if isinstance(part, CompValue):
        if part.name == "ServiceGraphPattern":
            yield part
        for value in part.values():
            yield from services(value)
    elif isinstance(part, list | tuple):
        for value in part:
            yield from services(value)


def guard_services() -> None:
    """Let rdflib, which asks services with ``urlopen``, follow redirects to http and https only.

    rdflib has no argument for that. Its name for ``urlopen`` is replaced, when a query first needs it.
    """
    from corollary.loaders.fetching import RedirectRefused, opened

    def open_service(request: Request) -> Any:
        try:
            return opened(request)
        except RedirectRefused as error:
            raise ExternalAccessRefused(f"SERVICE: {error}") from None

    evaluate.urlopen = open_service  # type: ignore[assignment, attr-defined]
