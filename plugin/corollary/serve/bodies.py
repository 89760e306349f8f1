"""Bodies and parameters of requests, within limits of size and time."""

from __future__ import annotations

import asyncio
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from email import message_from_bytes
from email.message import Message
from urllib.parse import parse_qsl

from rdflib.term import URIRef
from starlette.requests import ClientDisconnect, Request

from corollary.serve.problems import Problem
from corollary.serve.tuning import MAX_BYTES_OF_HEAD, MAX_FIELDS_OF_FORM, MAX_PARTS_OF_FORM, SECONDS_FOR_BODY

_ABSOLUTE = re.compile(r'[A-Za-z][A-Za-z0-9+.-]*:(?:[^\x00-\x20<>"{}|\\^`%]|%[0-9A-Fa-f]{2})*')

FORM = "application/x-www-form-urlencoded"


def is_absolute(text: str) -> bool:
    """Whether a text is an absolute IRI, by its characters."""
    return _ABSOLUTE.fullmatch(text) is not None


@dataclass(frozen=True)
class Part:
    """A document in a request: its media type, and its bytes."""

    media_type: str
    content: bytes


class Parameters:
    """The parameters of a request, in order, each with all its values."""

    def __init__(self, pairs: Sequence[tuple[str, str]]) -> None:
        self.pairs = pairs

    @staticmethod
    async def of_form(text: bytes) -> Parameters:
        """As ``parsed``, in a thread: a large form takes seconds."""
        return await asyncio.to_thread(Parameters.parsed, text)

    @staticmethod
    def parsed(text: bytes) -> Parameters:
        """The parameters of a query string or a form. Raises Problem for what is malformed, or no UTF-8."""
        try:
            pairs = parse_qsl(
                text.decode("utf-8"),
                keep_blank_values=True,
                errors="strict",
                max_num_fields=MAX_FIELDS_OF_FORM,
            )
        except ValueError:
            raise Problem(400, "Malformed parameters", "write them percent-encoded, in UTF-8") from None
        return Parameters(pairs)

    def __add__(self, other: Parameters) -> Parameters:
        return Parameters([*self.pairs, *other.pairs])

    def all(self, name: str) -> list[str]:
        """The values of a parameter."""
        return [value for key, value in self.pairs if key == name]

    def one(self, name: str) -> str | None:
        """The value of a parameter; None without it. Raises Problem if there are several."""
        found = self.all(name)
        if len(found) > 1:
            raise Problem(400, "Repeated parameter", f"{name}= may stand once")
        return found[0] if found else None

    def needed(self, name: str) -> str:
        """As ``one``. Raises Problem without the parameter, too."""
        found = self.one(name)
        if found is None:
            raise Problem(400, "Missing parameter", f"{name}= is needed")
        return found

    def iris(self, name: str) -> list[URIRef]:
        """The values of a parameter, which are absolute IRIs."""
        for value in self.all(name):
            if not is_absolute(value):
                raise Problem(400, "Bad parameter", f"{name}= is an absolute IRI")
        return [URIRef(value) for value in self.all(name)]

    def number(self, name: str, default: int, most: int) -> int:
        """The value of a parameter as a number from 1 to ``most``."""
        text = self.one(name)
        if text is None:
            return default
        if not text.isascii() or not text.isdigit() or len(text) > 9 or not 1 <= int(text) <= most:
            raise Problem(400, "Bad parameter", f"{name}= is a number from 1 to {most:,}")
        return int(text)


def address_of(request: Request) -> str:
    """The URL of a request without its query: the base of relative IRIs."""
    return f"{request.scope['scheme']}://{request.headers['host']}{request.scope['path']}"


def in_url(request: Request) -> Parameters:
    """The parameters in the URL."""
    return Parameters.parsed(request.scope["query_string"])


def media_type_of(request: Request) -> str:
    """The media type of the body: see ``media_type_in``."""
    return media_type_in(request.headers.get("content-type", ""))


def media_type_in(header: str) -> str:
    """The media type in a Content-Type header, in lower case. Raises Problem for a charset but UTF-8."""
    name, _, rest = header.partition(";")
    for parameter in rest.lower().split(";"):
        key, _, value = parameter.strip().partition("=")
        if key == "charset" and value.strip('"') not in ("utf-8", "utf8", "us-ascii"):
            raise Problem(415, "Unsupported charset", "send the body in UTF-8")
    return name.strip().lower()


async def body_of(request: Request, most: int) -> bytes:
    """The body, decompressed. Raises Problem if it is larger than ``most`` bytes, or too slow.

    Never has more than ``most`` bytes, and one chunk, in memory.
    """
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "gzip"):
        raise Problem(415, "Unsupported Content-Encoding", "send the body as it is, or compressed by gzip")
    length = request.headers.get("content-length", "0")
    if length.isdigit() and int(length) > most:
        raise _too_large(most)
    try:
        async with asyncio.timeout(SECONDS_FOR_BODY):
            return await _collected(request, most, encoding == "gzip")
    except TimeoutError:
        raise Problem(408, "The body took too long", "send it in parts") from None
    except zlib.error:
        raise Problem(400, "Malformed body", "the compressed body is damaged") from None
    except ClientDisconnect:
        raise Problem(400, "The client went away") from None


async def _collected(request: Request, most: int, is_compressed: bool) -> bytes:
    parts = bytearray()
    unzip = zlib.decompressobj(wbits=31) if is_compressed else None
    async for chunk in request.stream():
        parts += unzip.decompress(chunk, most + 1 - len(parts)) if unzip else chunk
        if len(parts) > most or (unzip and unzip.unconsumed_tail):
            raise _too_large(most)
    if unzip and (not unzip.eof or unzip.unused_data):
        raise Problem(400, "Malformed body", "the compressed body is no single, complete gzip member")
    return bytes(parts)


def _too_large(most: int) -> Problem:
    return Problem(413, "The body is too large", f"the server allows {most:,} bytes")


def text_of_body(body: bytes) -> str:
    """The body as UTF-8 text. Raises Problem if it is none."""
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        raise Problem(400, "Malformed body", "the body is no UTF-8 text") from None


def parts_of_form(content_type: str, body: bytes) -> list[Part]:
    """The documents in a body of ``multipart/form-data`` (RFC 7578). Raises Problem if it is malformed.

    A boundary is a line of its own; the last one has two more hyphens. So a body that was cut off is refused.
    """
    head = Message()
    head["Content-Type"] = content_type
    boundary = head.get_boundary("").encode("latin-1", "replace")
    _, *pieces = (b"\r\n" + body).split(b"\r\n--" + boundary, MAX_PARTS_OF_FORM + 2)
    is_whole = boundary and 2 <= len(pieces) <= MAX_PARTS_OF_FORM + 1 and pieces[-1][:2] == b"--"
    if not is_whole:
        detail = f"its 1 to {MAX_PARTS_OF_FORM} parts stand between lines with the boundary"
        raise Problem(400, "Malformed form", detail)
    return [_part(piece) for piece in pieces[:-1]]


def _part(piece: bytes) -> Part:
    head, gap, content = piece.lstrip(b" \t").partition(b"\r\n\r\n")
    if not gap or head[:2] not in (b"\r\n", b"") or len(head) > MAX_BYTES_OF_HEAD:
        raise Problem(400, "Malformed form", "a part has headers, an empty line, and a document")
    headers = message_from_bytes(head[2:])
    if str(headers.get("Content-Transfer-Encoding", "binary")).lower() not in ("binary", "8bit", "7bit"):
        raise Problem(415, "Unsupported Content-Transfer-Encoding", "send the parts as they are")
    return Part(media_type_in(str(headers.get("Content-Type", "text/plain"))), content)
