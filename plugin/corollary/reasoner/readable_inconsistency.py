"""Inconsistencies, in the terms of the reasoner's owner: triples that contradict each other by a rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from corollary.evaluate import Materialisation
from corollary.program.compile import is_virtual
from corollary.reasoner.term_format import TermView


@dataclass(frozen=True, slots=True, repr=False)
class Inconsistency:
    """Triples that contradict each other by a rule.

    ``conditions`` are what lists and literals' values add: ``PAIR(list, item, item)`` and the like, as the
    rule language has them, in N-Triples terms.
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
    """The inconsistencies of a materialisation; ``text`` prints a term."""
    for found in result.inconsistencies:
        triples = tuple((terms[s], terms[p], terms[o]) for s, p, o in found.facts if not is_virtual(p))
        conditions = tuple(found.conditions(terms.dictionary))
        parts = (*(" ".join(map(text, triple)) for triple in triples), *conditions)
        yield Inconsistency(found.rule, triples, conditions, ", ".join(parts))
