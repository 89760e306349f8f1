"""Inconsistencies in the terms of the reasoner's owner."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from corollary.evaluate import Materialisation
from corollary.program.compile import is_virtual
from corollary.reasoner.term_format import TermView


@dataclass(frozen=True, slots=True, repr=False)
class Inconsistency:
    """Triples that satisfy the body of a constraint, and so contradict each other.

    ``rule`` is the constraint's name. ``conditions`` are the body atoms that are not triples, such as
    ``PAIR(list, item, item)``, in the syntax of the rule language with N-Triples terms.
    """

    rule: str
    triples: tuple[tuple[Any, Any, Any], ...]
    conditions: tuple[str, ...] = ()
    _text: str = field(default="", compare=False)

    def __str__(self) -> str:
        return f"{self.rule}: {self._text}"

    def __repr__(self) -> str:
        return f"<Inconsistency {self}>"


def inconsistencies(
    result: Materialisation, terms: TermView, text: Callable[[Any], str]
) -> Iterator[Inconsistency]:
    """Yields the inconsistencies of a materialisation. ``text`` formats a term for display."""
    for found in result.inconsistencies:
        triples = tuple((terms[s], terms[p], terms[o]) for s, p, o in found.facts if not is_virtual(p))
        conditions = tuple(found.conditions(terms.dictionary))
        parts = (*(" ".join(map(text, triple)) for triple in triples), *conditions)
        yield Inconsistency(found.rule, triples, conditions, ", ".join(parts))
