"""The table of prefixes and namespaces."""

from __future__ import annotations

from collections.abc import Iterator


class Namespaces:
    """An immutable one-to-one mapping of prefixes to namespaces, which may be of a subclass of ``str``."""

    __slots__ = ("_namespaces", "_prefixes")

    def __init__(self) -> None:
        self._namespaces: dict[str, str] = {}
        self._prefixes: dict[str, str] = {}

    def bound(self, prefix: str, namespace: str, override: bool = True) -> Namespaces:
        """The table in which ``prefix`` and ``namespace`` are bound to each other.

        If one of the two has another binding, ``override`` removes that binding; without ``override``, and
        if nothing changes, the result is ``self``.
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
        """The same table, its namespaces converted to ``kind``."""
        table = Namespaces()
        table._namespaces = {prefix: kind(namespace) for prefix, namespace in self}
        table._prefixes = {namespace: prefix for prefix, namespace in table}
        return table

    def namespace(self, prefix: str) -> str | None:
        return self._namespaces.get(prefix)

    def prefix(self, namespace: str) -> str | None:
        return self._prefixes.get(namespace)

    @property
    def by_prefix(self) -> dict[str, str]:
        """The namespaces by prefix. Must not be changed."""
        return self._namespaces

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self._namespaces.items())
