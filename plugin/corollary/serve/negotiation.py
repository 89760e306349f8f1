"""Content negotiation: the formats of responses, by Accept, and of documents, by Content-Type."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from corollary.serve.problems import Problem
from corollary.serve.tuning import MAX_HEADERS_CACHED

_QUALITY = re.compile(r"0(\.[0-9]{0,3})?|1(\.0{0,3})?")

ROWS = {
    "application/sparql-results+json": "json",
    "application/sparql-results+xml": "xml",
    "text/csv": "csv",
    "text/tab-separated-values": "tsv",
    "application/json": "json",
    "application/xml": "xml",
    "text/xml": "xml",
}
"""Media types of SELECT; the first is the default."""

ANSWERS = {name: format for name, format in ROWS.items() if format in ("json", "xml")}
"""Media types of ASK."""

TRIPLES = {
    "text/turtle": "ttl",
    "application/n-triples": "nt",
    "application/rdf+xml": "rdf",
    "application/ld+json": "jsonld",
    "application/x-turtle": "ttl",
    "text/plain": "nt",
    "application/xml": "rdf",
    "application/json": "jsonld",
}
"""Media types of triples; the first is the default."""

UPLOADS = {
    "text/turtle": "ttl",
    "application/x-turtle": "ttl",
    "application/n-triples": "nt",
    "text/plain": "nt",
    "application/rdf+xml": "rdf",
    "application/ld+json": "jsonld",
}
"""Media types of documents that are put into a graph."""


def offered(form: str) -> Mapping[str, str]:
    """The media types for the results of a form of query: SELECT, ASK, CONSTRUCT or DESCRIBE."""
    return {"SELECT": ROWS, "ASK": ANSWERS}.get(form, TRIPLES)


def chosen(accept: str | None, media_types: Mapping[str, str]) -> str:
    """The media type that an Accept header prefers; of equals, the first one of ``media_types``.

    None accepts all. Raises Problem (406) if the header accepts none of them.
    """
    best = _best(accept or "*/*", tuple(media_types))
    if best is None:
        raise Problem(406, "Not acceptable", f"there are {', '.join(media_types)}")
    return best


@lru_cache(maxsize=MAX_HEADERS_CACHED)
def _best(accept: str, media_types: tuple[str, ...]) -> str | None:
    wanted = _preferences(accept)
    best = max(media_types, key=lambda name: _quality(name, wanted))
    return best if _quality(best, wanted) > 0 else None


def accepts_gzip(accept: str) -> bool:
    """Whether an Accept-Encoding header accepts gzip: ``gzip;q=0`` and ``*`` do not."""
    return _preferences(accept).get("gzip", 0) > 0


def _preferences(accept: str) -> dict[str, float]:
    """The quality of each media range, or encoding; none if it is no number from 0 to 1."""
    found = {}
    for part in accept.lower().split(","):
        name, *parameters = (text.strip() for text in part.split(";"))
        quality = next((text[2:] for text in parameters if text.startswith("q=")), "1")
        if _QUALITY.fullmatch(quality):
            found[name] = float(quality)
    return found


def _quality(name: str, wanted: Mapping[str, float]) -> float:
    ranges = (name, f"{name.partition('/')[0]}/*", "*/*")
    return next((wanted[each] for each in ranges if each in wanted), 0.0)


def with_charset(media_type: str) -> str:
    """A media type as a Content-Type header."""
    return f"{media_type}; charset=utf-8" if media_type.startswith("text/") else media_type


def upload_format(media_type: str) -> str:
    """The format of a document that is put into a graph. Raises Problem (415) for other media types."""
    if media_type not in UPLOADS:
        raise Problem(415, "Unsupported media type", f"name one of {', '.join(UPLOADS)} by Content-Type")
    return UPLOADS[media_type]
