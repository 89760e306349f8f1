"""Who may do what: the token of writers, the Host header, headers for browsers.

A browser that shows a hostile page may send requests to a loopback address. Three checks make them harmless:
the Host header must name this server (DNS rebinding), no response may be read by other origins (CORS is off),
and a change needs a header that no form can send.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
import secrets
from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from corollary.explain.html import STYLE
from corollary.language import CorollaryError
from corollary.serve.problems import Problem, response_of
from corollary.serve.tuning import MAX_BYTES_OF_HEAD, MIN_CHARACTERS_OF_TOKEN

_PROOFS = b64encode(sha256(STYLE.removeprefix("<style>").removesuffix("</style>").encode()).digest()).decode()

POLICY = (
    f"default-src 'self'; style-src 'self' 'sha256-{_PROOFS}'; img-src 'self' data: blob:; "
    "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
"""The Content-Security-Policy of all responses: no script or style but those of the package."""

HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}

_HASHED = re.compile(r"sha256:([0-9a-f]{64})")
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^:\[\]/@\s]+)(?::[0-9]+)?", re.IGNORECASE)


@dataclass(frozen=True)
class Token:
    """A token as its SHA-256 hash: the token itself is not kept."""

    digest: bytes

    @staticmethod
    def of(text: str) -> Token:
        """The token that a file or the environment has: itself, or ``sha256:`` and its hash in hexadecimals.

        Raises CorollaryError for a token that is too short.
        """
        text = text.strip()
        hashed = _HASHED.fullmatch(text)
        if hashed:
            return Token(bytes.fromhex(hashed[1]))
        if len(text) < MIN_CHARACTERS_OF_TOKEN:
            raise CorollaryError(
                f"the token has fewer than {MIN_CHARACTERS_OF_TOKEN} characters: make one of more"
            )
        return Token(sha256(text.encode()).digest())

    @staticmethod
    def made() -> tuple[str, Token]:
        """A new token, as its text and its hash."""
        text = secrets.token_urlsafe(24)
        return text, Token.of(text)

    def fits(self, header: str | None) -> bool:
        """Whether an Authorization header has this token. The time does not depend on the token."""
        scheme, _, given = (header or "").partition(" ")
        digest = sha256(given.strip().encode("utf-8", "replace")).digest()
        return hmac.compare_digest(digest, self.digest) and scheme.lower() == "bearer"


def is_loopback(host: str) -> bool:
    """Whether a host is reached from this machine only."""
    name = host.strip("[]").lower()
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"


def host_in(header: str | None) -> str | None:
    """The host in a Host header, in lower case and without the port; None if it is malformed."""
    found = _HOST.fullmatch(header or "")
    return found[1].strip("[]").lower() if found else None


class Guard:
    """ASGI middleware: refuses other hosts and large heads, and adds ``HEADERS``."""

    def __init__(self, app: ASGIApp, hosts: Iterable[str], is_cors: bool) -> None:
        """``hosts`` are the names of this server beside those of loopback. ``is_cors``: others may read."""
        self.app = app
        self.hosts = {host.strip("[]").lower() for host in hosts}
        given = {k: v for k, v in HEADERS.items() if not (is_cors and k.startswith("Cross-Origin"))}
        self.headers = [(name.lower().encode(), value.encode()) for name, value in given.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *self.headers]
            await send(message)

        size = sum([len(name) + len(value) for name, value in scope["headers"]])
        if size + len(scope["raw_path"]) + len(scope["query_string"]) > MAX_BYTES_OF_HEAD:
            problem = Problem(431, "Request header fields too large", f"at most {MAX_BYTES_OF_HEAD:,} bytes")
            await response_of(problem)(scope, receive, guarded)
            return
        hosts = Headers(scope=scope).getlist("host")
        host = host_in(hosts[0]) if len(hosts) == 1 else None
        if host is None or not (host in self.hosts or is_loopback(host)):
            detail = "the Host header names another server; --host-name NAME allows a name"
            await response_of(Problem(421, "Misdirected request", detail))(scope, receive, guarded)
            return
        await self.app(scope, receive, guarded)
