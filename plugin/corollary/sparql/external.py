"""The clauses of a query that access files or the network: SERVICE, FROM and FROM NAMED.

Access is refused before a file or socket is opened. ``SILENT`` changes the result, not the access.

Redirects are followed to http and https only, so that access to the network does not give access to files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from urllib.request import Request

import rdflib.plugins.sparql as settings
from rdflib.plugins.sparql import evaluate
from rdflib.plugins.sparql.parserutils import CompValue
from rdflib.plugins.sparql.sparql import Query
from rdflib.term import Node, URIRef

from corollary.sparql.access import ExternalAccessRefused, is_allowed, refuse


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
