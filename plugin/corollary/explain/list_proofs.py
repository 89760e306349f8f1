"""Proofs of virtual facts about RDF lists, from the rdf:first and rdf:rest facts of cells."""

from __future__ import annotations

from collections.abc import Iterator

from corollary.columns import TripleIndex
from corollary.evaluate import MaterialisedView
from corollary.explain.proof import Fact, Reading
from corollary.language import RDF

RELATIONS = frozenset(("MEMBER", "REPEATED", "READING", "CELL", "LIST", "ITEM"))
"""The virtual relations about lists, without the numbers in the names of LIST_n and ITEM_i."""


class ListReader:
    """Explains facts of MEMBER, REPEATED, READING, CELL, LIST_n and ITEM_i (see ``modules.lists``).

    The premises are among ``facts`` if possible: those are the materialisation's facts, or some of them.
    """

    def __init__(self, result: MaterialisedView, facts: TripleIndex) -> None:
        self._result = result
        self._facts = facts
        encode = result.dictionary.encode
        self._first, self._rest, self._nil = (encode(f"<{RDF}{n}>") for n in ("first", "rest", "nil"))

    def reads(self, predicate: int) -> bool:
        """Whether a virtual relation is about lists, and not about the values of literals."""
        return self._result.dictionary.decode(predicate).partition("_")[0] in RELATIONS

    def readings(self, fact: Fact) -> list[tuple[Reading, tuple[Fact, ...]]]:
        """The reasons of a virtual fact, each with its premises: one for every reading that has it.

        Empty for a virtual fact about literals.
        """
        subject, predicate, value = fact
        name, _, number = self._result.dictionary.decode(predicate).partition("_")
        if name in ("LIST", "READING"):
            return [self._whole(subject, value, {})]
        if name == "CELL":
            return [
                (Reading(subject, (value,), (self._item(value),)), ((value, self._first, self._item(value)),))
            ]
        if name == "ITEM":
            cells, position = self._result.cells[subject], int(number) - 1
            cell = cells[position]
            return [(Reading(subject, (cell,), (value,)), ((cell, self._first, value),))]
        if name not in ("MEMBER", "REPEATED"):
            return []
        return [
            self._whole(subject, reading, dict.fromkeys(positions[: 1 + (name == "REPEATED")], value))
            for reading in self._of(subject)
            if len(positions := self._positions(reading, value)) > (name == "REPEATED")
        ]

    def _of(self, head: int) -> Iterator[int]:
        """The readings of a list."""
        predicate = self._result.dictionary.find("READING")
        if predicate is not None:
            yield from self._result.index.relation(predicate).objects(head)

    def _positions(self, reading: int, item: int) -> list[int]:
        cells = self._result.cells[reading]
        relation = self._facts.relation(self._first)
        return [position for position, cell in enumerate(cells) if relation.has(cell, item)]

    def _whole(self, head: int, reading: int, wanted: dict[int, int]) -> tuple[Reading, tuple[Fact, ...]]:
        """The reason with all cells of a reading. ``wanted``: items by position, for cells with several."""
        cells = self._result.cells[reading]
        items = tuple(wanted.get(i, self._item(cell)) for i, cell in enumerate(cells))
        rests = zip(cells, (*cells[1:], self._nil), strict=True)
        facts = [
            fact
            for (cell, rest), item in zip(rests, items, strict=True)
            for fact in ((cell, self._first, item), (cell, self._rest, rest))
        ]
        return Reading(head, cells, items), tuple(facts)

    def _item(self, cell: int) -> int:
        """An item of a cell: among the facts that are read if possible, and explicit if possible."""
        first, known = self._first, self._facts.relation(self._first)
        explicit = self._result.explicit.relation(first).objects(cell)
        read = [item for item in explicit if known.has(cell, item)] or known.objects(cell)
        return (read or self._result.index.relation(first).objects(cell))[0]
