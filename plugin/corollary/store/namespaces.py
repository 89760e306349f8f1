"""Prefixes and namespaces, always inverse to each other."""

from __future__ import annotations

from collections.abc import Iterator

from rdflib.term import URIRef


class Namespaces:
    """A one-to-one table of prefixes and namespaces."""

    def __init__(self) -> None:
        self._namespaces: dict[str, URIRef] = {}
        self._prefixes: dict[URIRef, str] = {}

    def bind(self, prefix: str, namespace: URIRef, override: bool = True) -> None:
        """Bind the two. If either is bound already, ``override`` unbinds it, otherwise nothing changes."""
        if not override and (prefix in self._namespaces or namespace in self._prefixes):
            return
        old = self._namespaces.pop(prefix, None)
        if old is not None:
            del self._prefixes[old]
        former = self._prefixes.pop(namespace, None)
        if former is not None:
            del self._namespaces[former]
        self._namespaces[prefix] = namespace
        self._prefixes[namespace] = prefix

    def namespace(self, prefix: str) -> URIRef | None:
        return self._namespaces.get(prefix)

    def prefix(self, namespace: URIRef) -> str | None:
        return self._prefixes.get(namespace)

    def __iter__(self) -> Iterator[tuple[str, URIRef]]:
        yield from list(self._namespaces.items())
