"""The clauses of a query that access files or the network: SERVICE, FROM and FROM NAMED.

Access is refused before a file or socket is opened. ``SILENT`` changes the result, not the access.

Redirects are followed to http and https only, so that access to the network does not give access to files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any
from urllib.request import Request

from rdflib.term import Node, URIRef

from corollary.sparql.access import ExternalAccessRefused, is_allowed, refuse
from corollary.sparql.algebra import Query, Service
from corollary.sparql.rdflib_settings import loads_graphs


def refuse_clauses(query: Query, has_graph: Callable[[Node], bool], access: str) -> None:
    """Raise ``ExternalAccessRefused`` if FROM or FROM NAMED has an unknown graph that may not be read."""
    if query.clauses and loads_graphs():
        for clause in query.clauses:
            if clause.is_loaded and not has_graph(clause.graph):
                refuse("FROM NAMED" if clause.is_named else "FROM", clause.graph, access)


def refuse_services(services: Iterable[Service], access: str) -> list[Service]:
    """The SILENT services that ``access`` excludes. Raises ExternalAccessRefused for others that it excludes.

    If a service may be called, rdflib's SERVICE is guarded first (``guard_services``).
    """
    silenced = []
    for service in services:
        address = service.name
        if not isinstance(address, URIRef):  # a variable: rdflib calls no such service
            address = URIRef("http://?")
        if not is_allowed(str(address), access):
            if not service.is_silent:
                refuse("SERVICE", address, access)
            silenced.append(service)
        else:
            guard_services()
    return silenced


def guard_services() -> None:
    """Make rdflib's SERVICE follow redirects to http and https only.

    rdflib calls services with ``urlopen`` and has no argument for redirects. So the name ``urlopen`` in
    rdflib's module is replaced, before the first query that calls a service.
    """
    from rdflib.plugins.sparql import evaluate

    from corollary.loaders.fetching import RedirectRefused, opened

    def open_service(request: Request) -> Any:
        try:
            return opened(request)
        except RedirectRefused as error:
            raise ExternalAccessRefused(f"SERVICE: {error}") from None

    evaluate.urlopen = open_service  # type: ignore[assignment, attr-defined]
