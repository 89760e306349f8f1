"""Locating a document: in a file, or at an address, from which it is fetched.

Invariant: a document has been fetched completely before parsing begins.
"""

from __future__ import annotations

import os
import re
import urllib.request
from copy import copy
from http.client import HTTPException, HTTPMessage
from typing import IO, Any
from urllib.parse import urljoin, urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, Request, build_opener, url2pathname

from pyoxigraph import RdfFormat

from corollary.language.errors import Diagnostic, Hint, InputError
from corollary.loaders.documents import Document, size_of
from corollary.loaders.formats import AMBIGUOUS, FileKind, format_of, input_error, named_format
from corollary.loaders.tuning import SECONDS_PER_NETWORK_OPERATION

FETCHED = ("http", "https")

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+(?=:)")
"""The scheme of an address: two letters or more, because one letter is a Windows drive."""

_ACCEPT = (
    "text/turtle, application/n-triples, application/n-quads, application/trig, application/rdf+xml;q=0.9, "
    "application/ld+json;q=0.8, */*;q=0.1"
)
_VAGUE = ("text/plain", "text/xml", "application/xml", "application/json")
"""Unspecific media types, which servers also send for RDF: the suffix takes precedence over these."""

_MAGIC = {"gz": b"\x1f\x8b", "bz2": b"BZh", "zst": b"\x28\xb5\x2f\xfd"}
"""The first bytes of compressed content. A reply may be compressed or not, whatever the suffix."""


class RedirectRefused(InputError):
    """An address redirects to a scheme that is not fetched, such as ``file``."""


class _Redirects(HTTPRedirectHandler):
    """Follows redirects to http and https only."""

    def http_error_302(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage
    ) -> Any:  # signature of the base class
        target = urljoin(req.full_url, headers.get("Location") or headers.get("URI") or "")
        if urlsplit(target).scheme.lower() not in FETCHED:
            complaint = f"{req.full_url} redirects to {target}, which is not fetched"
            raise RedirectRefused(Diagnostic(complaint, remedy="only http and https are followed"))
        return super().http_error_302(req, fp, code, msg, headers)

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302


def opened(request: Request, timeout: float | None = None) -> Any:
    """The reply to a request. Raises RedirectRefused, and OSError or HTTPException as ``urlopen`` does."""
    return _opener().open(request, timeout=timeout)


def _opener() -> OpenerDirector:
    """The opener that ``urlopen`` would use (see ``install_opener``), with ``_Redirects`` for redirects."""
    installed: Any = getattr(urllib.request, "_opener", None)
    if installed is None:
        return build_opener(_Redirects)
    opener = OpenerDirector()
    opener.addheaders = installed.addheaders
    for handler in installed.handlers:  # copies, because a handler refers to its opener
        opener.add_handler(_Redirects() if isinstance(handler, HTTPRedirectHandler) else copy(handler))
    return opener


def look_for(name: str) -> None:
    """Raise InputError if ``name`` names a file that does not exist. Addresses are not checked."""
    scheme = _SCHEME.match(name)
    if scheme is None or os.path.exists(name):
        size_of(name)
    elif scheme[0].lower() == "file":
        size_of(url2pathname(urlsplit(name).path))


def document_at(
    source: str | os.PathLike[str], format: str | None = None, *, otherwise: str | None = None
) -> Document:
    """The document in a file, or at an ``http``, ``https`` or ``file`` address. Fetches http and https.

    The format is ``format`` if given, else that of the server's media type or of the suffix, else
    ``otherwise``. Raises InputError if the file or the address does not exist, or the format cannot be
    determined.
    """
    name = os.fspath(source)
    scheme = _SCHEME.match(name)
    if scheme is None or os.path.exists(name):
        size_of(name)
        return Document.in_file(name, format) if format else Document.declared_by_content(name, otherwise)
    if scheme[0].lower() == "file":
        return document_at(url2pathname(urlsplit(name).path), format, otherwise=otherwise)
    if scheme[0].lower() not in FETCHED:
        raise input_error(f"{name}: nothing is known of '{scheme[0]}:'", "fetch it, and load the file")
    return fetched(name, format, otherwise)


def fetched(address: str, format: str | None = None, otherwise: str | None = None) -> Document:
    """As ``document_at``, for an http or https address."""
    try:
        with opened(Request(address, headers={"Accept": _ACCEPT}), SECONDS_PER_NETWORK_OPERATION) as reply:
            content, place, media_type = reply.read(), reply.geturl(), reply.headers.get_content_type()
    except (OSError, HTTPException, ValueError) as error:  # HTTPError and URLError are OSErrors
        raise input_error(f"{address}: cannot be fetched ({error})", "look at it in a browser") from None
    place = place.partition("#")[0]
    compression = next((name for name, magic in _MAGIC.items() if content.startswith(magic)), "")
    chosen, is_doubtful = _format_of_reply(
        address, urlsplit(place).path, media_type, format, otherwise
    )  # fmt: skip
    return Document(address, chosen, compression, is_doubtful, place, content)


def _format_of_reply(
    address: str, path: str, media_type: str, format: str | None, otherwise: str | None
) -> tuple[RdfFormat, bool]:
    """The format of a reply, and whether the format is doubtful, so that the first bytes decide."""
    if format is not None:
        return named_format(format), False
    declared = RdfFormat.from_media_type(media_type)
    if declared is not None and media_type not in _VAGUE:
        return declared, False
    try:
        return format_of(path), FileKind.of(path).suffix in AMBIGUOUS
    except InputError:
        if declared is None and otherwise is not None:
            return named_format(otherwise), False
        if declared is None:
            complaint = f"{address}: neither its name nor its media type ({media_type}) tells the format"
            raise input_error(complaint, hint=Hint.NAME_FORMAT) from None
        return declared, declared == RdfFormat.RDF_XML
