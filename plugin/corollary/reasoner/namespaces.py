"""Prefixes and namespaces, always inverse to each other."""

from __future__ import annotations

from collections.abc import Iterator


class Namespaces:
    """A one-to-one table of prefixes and namespaces; a value. Namespaces may be of a subclass of ``str``."""

    __slots__ = ("_namespaces", "_prefixes")

    def __init__(self) -> None:
        self._namespaces: dict[str, str] = {}
        self._prefixes: dict[str, str] = {}

    def bound(self, prefix: str, namespace: str, override: bool = True) -> Namespaces:
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

    def of_type(self, kind: type[str]) -> Namespaces:
        """The same table, with namespaces of a subclass of ``str``."""
        table = Namespaces()
        table._namespaces = {prefix: kind(namespace) for prefix, namespace in self}
        table._prefixes = {namespace: prefix for prefix, namespace in table}
        return table

    def namespace(self, prefix: str) -> str | None:
        return self._namespaces.get(prefix)

    def prefix(self, namespace: str) -> str | None:
        return self._prefixes.get(namespace)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self._namespaces.items())
