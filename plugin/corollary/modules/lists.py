"""The list module: RDF lists as virtual relations.

From rdf:first and rdf:rest it derives, for the lists that rules ask for,

    MEMBER(l, x)     x is an item of the list l
    REPEATED(l, x)   x is an item at two positions
    LIST_n(l, k)     k is a reading of l, n items long (n >= 1)
    ITEM_i(k, x)     x is item number i of the reading k

A list is well formed if it ends in rdf:nil; others have no reading. Where a cell has several firsts
or rests (data may say so, and owl:sameAs may infer it) there is one reading for each way through;
a list with just one reading is its own reading.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from corollary.algebra.execute import Candidates
from corollary.index.triples import TripleIndex
from corollary.terms.dictionary import TermDictionary

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"


class Lists:
    """Readings of all lists that hang on certain predicates."""

    name = "lists"
    is_waiting = False

    def __init__(self, dictionary: TermDictionary, leading: Iterable[int] | None) -> None:
        """``leading`` are the predicates whose objects are lists to read; None reads every cell."""
        self._dictionary = dictionary
        self._first = dictionary.encode(f"<{RDF}first>")
        self._rest = dictionary.encode(f"<{RDF}rest>")
        self._nil = dictionary.encode(f"<{RDF}nil>")
        self._member = dictionary.encode("MEMBER")
        self._repeated = dictionary.encode("REPEATED")
        self._leading = None if leading is None else frozenset(leading)
        self.lengths: set[int] = set()

    def reads(self, predicate: int) -> bool:
        """Whether facts of that predicate can make a difference."""
        return predicate in (self._first, self._rest) or (
            self._leading is not None and predicate in self._leading
        )

    def rereads(self, predicate: int) -> bool:
        """Whether its own conclusions must come back to it."""
        return False

    def add(self, facts: TripleIndex, recent: TripleIndex) -> Candidates:
        """All readings of all lists; ``lengths`` says how long they are."""
        firsts = _successors(facts, self._first)
        rests = _successors(facts, self._rest)
        found: dict[int, list[int]] = {}

        def tell(predicate: int, subject: int, value: int) -> None:
            found.setdefault(predicate, []).append(subject << 32 | value)

        for head in self._heads(facts, rests):
            readings = self._readings(head, firsts, rests)
            for number, items in enumerate(readings):
                reading = head if len(readings) == 1 else self._dictionary.encode(f"READING_{number}_{head}")
                self.lengths.add(len(items))
                tell(self._dictionary.encode(f"LIST_{len(items)}"), head, reading)
                for position, item in enumerate(items, 1):
                    tell(self._member, head, item)
                    tell(self._dictionary.encode(f"ITEM_{position}"), reading, item)
                if len(set(items)) < len(items):
                    for item in {x for x in items if items.count(x) > 1}:
                        tell(self._repeated, head, item)
        return {predicate: [np.array(keys, np.uint64)] for predicate, keys in found.items()}

    def _heads(self, facts: TripleIndex, rests: dict[int, list[int]]) -> list[int]:
        if self._leading is None:
            return list(rests)
        heads: dict[int, None] = {}
        for predicate in sorted(self._leading):
            heads.update(dict.fromkeys(facts.relation(predicate).pairs().distinct_seconds().tolist()))
        return [head for head in heads if head in rests]

    def _readings(
        self, head: int, firsts: dict[int, list[int]], rests: dict[int, list[int]]
    ) -> list[tuple[int, ...]]:
        """The distinct sequences of items from a head to rdf:nil."""
        items: list[int] = []
        cell = head
        while cell != self._nil and len(items) < len(rests):
            here, further = firsts.get(cell, ()), rests.get(cell, ())
            if len(here) != 1 or len(further) != 1:
                break
            items.append(here[0])
            cell = further[0]
        if cell == self._nil:
            return [tuple(items)]
        # cells with several ways on: sequences met at the same cell are merged
        complete: dict[tuple[int, ...], None] = {}
        frontier: dict[int, dict[tuple[int, ...], None]] = {cell: {tuple(items): None}}
        for _ in range(len(rests)):
            following: dict[int, dict[tuple[int, ...], None]] = {}
            for cell, sequences in frontier.items():
                longer = {(*sequence, item): None for sequence in sequences for item in firsts.get(cell, ())}
                for rest in rests.get(cell, ()):
                    target = complete if rest == self._nil else following.setdefault(rest, {})
                    target.update(longer)
            frontier = {cell: sequences for cell, sequences in following.items() if sequences}
            if not frontier:
                break
        return sorted(complete)


def _successors(facts: TripleIndex, predicate: int) -> dict[int, list[int]]:
    """Subject -> objects of a relation, as Python lists: lists are short and few."""
    keys = facts.relation(predicate).pairs().keys
    found: dict[int, list[int]] = {}
    for key in keys.tolist():
        found.setdefault(key >> 32, []).append(key & 0xFFFFFFFF)
    return found
