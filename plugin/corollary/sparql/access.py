"""Which files and addresses queries and updates may access.

``SERVICE`` calls an address, ``LOAD`` reads a document, and ``FROM`` and ``FROM NAMED`` read graphs that the
store does not have. An untrusted query must do none of these unless the store allows it.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from rdflib.term import Node

from corollary.language import CorollaryError, Diagnostic
from corollary.language.errors import Hint


class ExternalAccessRefused(CorollaryError):
    """A query or update needs a file or an address that the store's ``access`` excludes."""


def kind_of(address: str) -> str:
    """``files`` or ``network``: where an IRI is read from. For rdflib, an IRI without a scheme is a path."""
    try:
        scheme = urlsplit(address).scheme.lower()
    except ValueError:  # its authority has one bracket
        return "network"
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
