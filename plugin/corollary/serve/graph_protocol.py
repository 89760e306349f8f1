"""SPARQL 1.1 Graph Store Protocol: whole graphs, read and written.

A graph is its explicit triples: what is read and put back changes nothing. Inferred triples are the read-only
graph ``urn:x-corollary:inferred``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from uuid import uuid4

from rdflib.graph import DATASET_DEFAULT_GRAPH_ID, Graph
from rdflib.term import URIRef
from starlette.requests import Request
from starlette.responses import Response

from corollary.loaders.documents import Document
from corollary.loaders.formats import input_error, named_format
from corollary.loaders.into_reasoner import load
from corollary.reasoner.snapshot import Snapshot
from corollary.serve.bodies import Part, body_of, in_url, is_absolute, media_type_of, parts_of_form
from corollary.serve.negotiation import TRIPLES, chosen, upload_format
from corollary.serve.problems import Problem
from corollary.serve.result_streams import graph_chunks
from corollary.serve.service import Body, Service
from corollary.sparql.tuning import ROWS_WRITTEN_AT_ONCE
from corollary.store import EXPLICIT, INFERRED
from corollary.store.loading import StoreReceiver


@dataclass(frozen=True)
class OneGraph(StoreReceiver):
    """Receives the triples of a document for one graph only."""

    def refuse(self, graph: str) -> None:
        if graph != f"<{self.graph}>":
            raise input_error(f"the document has the graph {graph}", "send one graph at a time")


async def graphs(service: Service, request: Request) -> Response:
    """``/graphs?default``, ``/graphs?graph=IRI`` and ``/graphs/NAME``; ``POST /graphs`` makes a graph."""
    if request.method in ("GET", "HEAD"):
        return await _get(service, request, _name(request))
    service.authorise(request)
    if request.method == "DELETE":
        return await _delete(service, request, _name(request))
    is_new = (
        request.method == "POST" and not request.scope["query_string"] and "name" not in request.path_params
    )
    name = URIRef(f"{_base(request)}/graphs/{uuid4().hex}") if is_new else _name(request)
    return await _store(service, request, name, is_new)


def _base(request: Request) -> str:
    return f"{request.url.scheme}://{request.url.netloc}"


def _name(request: Request) -> URIRef:
    """The graph that a request names. Raises Problem for none, for several, and for a relative IRI."""
    if "name" in request.path_params:
        path = request.scope["raw_path"].decode("ascii")
        if not is_absolute(f"x:{path}"):
            raise Problem(400, "Bad path", "write characters that no IRI has percent-encoded")
        return URIRef(_base(request) + path)
    parameters = in_url(request)
    named, default = parameters.iris("graph"), parameters.all("default")
    if len(named) + len(default) != 1:
        raise Problem(400, "Which graph?", "name one by graph=IRI, or the default graph by default")
    return named[0] if named else DATASET_DEFAULT_GRAPH_ID


def _has(service: Service, name: URIRef) -> bool:
    """Whether there is a graph of this name. It may be empty."""
    if name in (DATASET_DEFAULT_GRAPH_ID, EXPLICIT, INFERRED):
        return True
    version = service.store.reasoner.settled()
    graph = version.terms.find(name)
    return graph is not None and (graph in version.quads.graphs or graph in version.named)


def _refuse_missing(service: Service, name: URIRef) -> None:
    if not _has(service, name):
        raise Problem(404, "Not found", "there is no such graph")


async def _get(service: Service, request: Request, name: URIRef) -> Response:
    media_type = chosen(request.headers.get("accept"), TRIPLES)

    def read() -> Body:
        _refuse_missing(service, name)
        now = service.store.reasoner.snapshot()
        sides = {EXPLICIT: now.explicit, INFERRED: now.inferred}
        facts = sides[name] if name in sides else now.graph(name)
        most = service.settings.bytes_of_result
        chunks = graph_chunks(_lines(facts), TRIPLES[media_type], service.prefixes(), most)
        return service.begun(chunks, media_type)

    return await service.respond(await service.read(request, read))


def _lines(facts: Snapshot) -> Iterator[bytes]:
    """N-Triples, some lines at a time. Triples that RDF forbids are left out."""
    decode = facts.dictionary.decode_all
    lines: list[str] = []
    for columns in facts.index.batches(ROWS_WRITTEN_AT_ONCE):  # at least one for each predicate
        triples = zip(*(decode(column.tolist()) for column in columns), strict=True)
        lines += [f"{s} {p} {o} .\n" for s, p, o in triples if s[0] != '"' and p[0] == "<"]
        if len(lines) >= ROWS_WRITTEN_AT_ONCE:
            yield "".join(lines).encode("utf-8", "replace")
            lines.clear()
    yield "".join(lines).encode("utf-8", "replace")


async def _delete(service: Service, request: Request, name: URIRef) -> Response:
    def delete() -> None:
        _refuse_missing(service, name)
        service.store.refuse_side(name)
        service.store.remove_graph(Graph(service.store, name))

    await service.write(request, delete)
    return Response(status_code=204)


async def _store(service: Service, request: Request, name: URIRef, is_new: bool) -> Response:
    """PUT, which replaces a graph, and POST, which adds to it."""
    media_type = media_type_of(request)
    is_form = request.method == "POST" and media_type == "multipart/form-data"
    if not is_form:
        upload_format(media_type)  # before the body is read
    body = await body_of(request, service.settings.bytes_of_body)
    header = request.headers.get("content-type", "")
    parts = parts_of_form(header, body) if is_form else [Part(media_type, body)]
    base = str(request.url) if name == DATASET_DEFAULT_GRAPH_ID else str(name)
    documents = [_document(part, base) for part in parts]

    def change() -> bool:
        is_there = _has(service, name)
        service.store.refuse_side(name)
        _put(service, name, documents, replaces=request.method == "PUT")
        return is_there

    if await service.write(request, change):
        return Response(status_code=204)
    return Response(status_code=201, headers={"Location": str(name)} if is_new else {})


def _document(part: Part, base: str) -> Document:
    format = named_format(upload_format(part.media_type))
    return Document("the body", format, "", False, base, part.content)


def _put(service: Service, name: URIRef, documents: Sequence[Document], *, replaces: bool) -> None:
    """Add documents to a graph, which is emptied first if they replace it."""
    store = service.store
    graph = Graph(store, name)
    if replaces:
        store.remove_graph(graph)
    store.add_graph(graph)
    load(store.reasoner.versions, documents, None, OneGraph(store, name))
