"""Results of queries as chunks of bytes in the formats of SPARQL and RDF, written while they are sent.

RDF/XML and JSON-LD are written as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyoxigraph
from pyoxigraph import RdfFormat
from rdflib.query import Result

from corollary.serve.problems import Problem
from corollary.sparql.result import GraphResult, SelectResult
from corollary.sparql.result_texts import ROW_FORMATS, Chunks, answer_text, triple_lines

_SYNTAXES = {"ttl": RdfFormat.TURTLE, "rdf": RdfFormat.RDF_XML, "jsonld": RdfFormat.JSON_LD}


def bounded(chunks: Iterable[bytes], most: int) -> Chunks:
    """The chunks; raises Problem when they are more than ``most`` bytes."""
    size = 0
    for chunk in chunks:
        size += len(chunk)
        if size > most:
            detail = f"--max-result of the server allows {most:,} bytes: ask for less, with LIMIT"
            raise Problem(413, "The result is too large", detail)
        yield chunk


def written(result: Result, format: str, prefixes: Mapping[str, str], most: int) -> Chunks:
    """A result in a format of ``negotiation``. What fails while a SELECT is evaluated is raised here.

    ``most``: see ``graph_chunks``.
    """
    if result.type == "ASK":
        return iter([answer_text(bool(result.askAnswer), format)])
    if isinstance(result, GraphResult):
        return graph_chunks(triple_lines(result), format, prefixes, most)
    if not isinstance(result, SelectResult):
        len(result)  # raises the error of a ``FailedResult``
        raise NotImplementedError("a result of rdflib")
    return ROW_FORMATS[format](result)


def graph_chunks(lines: Iterable[bytes], format: str, prefixes: Mapping[str, str], most: int) -> Chunks:
    """N-Triples in another format. Turtle repeats its prefixes in each chunk.

    Raises Problem for more than ``most`` bytes that would have to be written as a whole.
    """
    if format == "nt":
        yield from lines
        return
    syntax = _SYNTAXES[format]
    known = {prefix: str(name) for prefix, name in prefixes.items()}
    parts = lines if format == "ttl" else [b"".join(bounded(lines, most))]
    is_empty = True
    for part in parts:
        is_empty = False
        yield _serialised(part, syntax, known)
    if is_empty:
        yield _serialised(b"", syntax, known)


def _serialised(lines: bytes, syntax: RdfFormat, prefixes: dict[str, str]) -> bytes:
    try:
        triples = [
            pyoxigraph.Triple(quad.subject, quad.predicate, quad.object)
            for quad in pyoxigraph.parse(lines, RdfFormat.N_TRIPLES, lenient=True)
        ]
        text = pyoxigraph.serialize(triples, format=syntax, prefixes=prefixes)
    except (ValueError, SyntaxError, OSError):
        detail = "a term, or a prefix, cannot be written in this format: accept application/n-triples"
        raise Problem(406, "Not acceptable", detail) from None
    assert text is not None
    return text
