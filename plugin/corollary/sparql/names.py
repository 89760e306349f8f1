"""Terms as readable text: N-Triples, or a prefixed name if a prefix fits."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from rdflib.term import Node, URIRef

_LOCAL_NAME = re.compile(r"[^\W\d][\w-]*")


def printer(prefixes: Iterable[tuple[str, str]]) -> Callable[[Node], str]:
    """A function that prints a term, with the prefix of the longest namespace that fits."""
    longest_first = sorted(prefixes, key=lambda bound: len(bound[1]), reverse=True)

    def text(term: Node) -> str:
        if isinstance(term, URIRef):
            for prefix, namespace in longest_first:
                if term.startswith(namespace) and _LOCAL_NAME.fullmatch(term, len(namespace)):
                    return f"{prefix}:{term[len(namespace) :]}"
        return term.n3()

    return text
