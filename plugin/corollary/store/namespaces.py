"""Prefixes and namespaces, always inverse to each other."""

from __future__ import annotations

from collections.abc import Iterator

from rdflib.term import URIRef


class Namespaces:
    """A one-to-one table of prefixes and namespaces; a value."""

    __slots__ = ("_namespaces", "_prefixes")

    def __init__(self) -> None:
        self._namespaces: dict[str, URIRef] = {}
        self._prefixes: dict[URIRef, str] = {}

    def bound(self, prefix: str, namespace: URIRef, override: bool = True) -> Namespaces:
        """The table in which the two are bound. If either is bound to another already, ``override`` unbinds
        that one; otherwise the table itself is the answer, as it is if nothing changes.
        """
        former, old = self._prefixes.get(namespace), self._namespaces.get(prefix)
        if old == namespace or (not override and (former is not None or old is not None)):
            return self
        table = Namespaces()
        table._namespaces = {p: n for p, n in self._namespaces.items() if p != prefix and p != former}
        table._prefixes = {n: p for n, p in self._prefixes.items() if n != namespace and n != old}
        table._namespaces[prefix] = namespace
        table._prefixes[namespace] = prefix
        return table

    def namespace(self, prefix: str) -> URIRef | None:
        return self._namespaces.get(prefix)

    def prefix(self, namespace: URIRef) -> str | None:
        return self._prefixes.get(namespace)

    def __iter__(self) -> Iterator[tuple[str, URIRef]]:
        return iter(self._namespaces.items())
