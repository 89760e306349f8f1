"""Anonymous classes, properties and axioms of OWL in Manchester syntax: ``(:hasTopping some :Meat)``."""

from __future__ import annotations

from collections.abc import Callable

from corollary.columns import TripleIndex
from corollary.program.tuning import MAX_ANONYMOUS_IN_A_TEXT
from corollary.terms.dictionary import TermDictionary

_OWL = "http://www.w3.org/2002/07/owl#"
_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_NIL = f"<{_RDF}nil>"

FILLERS = {"someValuesFrom": "some", "allValuesFrom": "only", "hasValue": "value"}
COUNTS = {
    "minCardinality": "min",
    "maxCardinality": "max",
    "cardinality": "exactly",
    "minQualifiedCardinality": "min",
    "maxQualifiedCardinality": "max",
    "qualifiedCardinality": "exactly",
}
LISTS = {"intersectionOf": " and ", "unionOf": " or "}
AXIOMS = {
    "AllDisjointClasses": "DisjointClasses",
    "AllDisjointProperties": "DisjointProperties",
    "AllDifferent": "DifferentIndividuals",
}
FACETS = {"minInclusive": ">=", "minExclusive": ">", "maxInclusive": "<=", "maxExclusive": "<"}
PREFIXED = {"complementOf": "not", "datatypeComplementOf": "not", "inverseOf": "inverse"}


class Manchester:
    """The texts of blank nodes that the triples of an ontology define: classes, axioms, lists.

    ``facts`` are explicit facts: inferred ones would give a node further definitions. ``name`` prints any
    other term, given as N-Triples.
    """

    def __init__(self, facts: TripleIndex, dictionary: TermDictionary, name: Callable[[str], str]) -> None:
        self._facts = facts
        self._dictionary = dictionary
        self._name = name
        self._within: list[int] = []
        self._met = 0  # blank nodes that are looked at for the present text

    def text(self, node: str) -> str | None:
        """The text of a blank node, in parentheses where it has several words; None if nothing defines it.

        A node within itself has no text there, and neither have the nodes after the first
        ``MAX_ANONYMOUS_IN_A_TEXT``. Cost: the facts of the definitions.
        """
        term = self._dictionary.find(node)
        if not self._within:
            self._met = 0
        if term is None or term in self._within or self._met >= MAX_ANONYMOUS_IN_A_TEXT:
            return None
        self._met += 1
        self._within.append(term)
        try:
            return (
                self._boolean(term)
                or self._restriction(term)
                or self._axiom(term)
                or self._range(term)
                or self._list(term)
            )
        finally:
            self._within.pop()

    def _named(self, term: int) -> str:
        text = self._dictionary.decode(term)
        return (self.text(text) if text.startswith("_:") else None) or self._name(text)

    def _value(self, term: int, predicate: str, namespace: str = _OWL) -> int | None:
        """The least object of a predicate; None without one."""
        found = self._dictionary.find(f"<{namespace}{predicate}>")
        return None if found is None else min(self._facts.relation(found).objects(term), default=None)

    def _items(self, head: int) -> list[int]:
        """The items of a list, up to a cell that is not well formed."""
        items: dict[int, int] = {}
        cell: int | None = head
        while cell is not None and cell not in items and self._dictionary.decode(cell) != _NIL:
            first = self._value(cell, "first", _RDF)
            if first is None:
                break
            items[cell] = first
            cell = self._value(cell, "rest", _RDF)
        return list(items.values())

    def _list(self, head: int) -> str | None:
        items = self._items(head)
        return f"({' '.join(map(self._named, items))})" if items else None

    def _boolean(self, term: int) -> str | None:
        for predicate, joint in LISTS.items():
            if (head := self._value(term, predicate)) is not None:
                return f"({joint.join(map(self._named, self._items(head)))})"
        if (head := self._value(term, "oneOf")) is not None:
            return f"{{{', '.join(map(self._named, self._items(head)))}}}"
        for predicate, word in PREFIXED.items():
            if (value := self._value(term, predicate)) is not None:
                return f"({word} {self._named(value)})"
        return None

    def _restriction(self, term: int) -> str | None:
        on = self._value(term, "onProperty")
        if on is None:
            return None
        for predicate, word in FILLERS.items():
            if (value := self._value(term, predicate)) is not None:
                return f"({self._named(on)} {word} {self._named(value)})"
        if self._value(term, "hasSelf") is not None:
            return f"({self._named(on)} Self)"
        for predicate, word in COUNTS.items():
            if (value := self._value(term, predicate)) is not None:
                of = self._value(term, "onClass")
                of = self._value(term, "onDataRange") if of is None else of
                number = self._dictionary.decode(value).split('"')[1:2]
                said = f"{self._named(on)} {word} {''.join(number) or self._named(value)}"
                return f"({said})" if of is None else f"({said} {self._named(of)})"
        return None

    def _axiom(self, term: int) -> str | None:
        head = self._value(term, "members")
        head = self._value(term, "distinctMembers") if head is None else head
        if head is not None:
            kind = self._value(term, "type", _RDF)
            local = "" if kind is None else self._dictionary.decode(kind).removeprefix(f"<{_OWL}")[:-1]
            return f"{AXIOMS.get(local, 'Members')}({', '.join(map(self._named, self._items(head)))})"
        ends = [self._value(term, end) for end in ("sourceIndividual", "assertionProperty")]
        value = self._value(term, "targetIndividual")
        ends.append(self._value(term, "targetValue") if value is None else value)
        parts = [self._named(end) for end in ends if end is not None]
        return f"(not {' '.join(parts)})" if len(parts) == len(ends) else None

    def _range(self, term: int) -> str | None:
        """A datatype with restrictions: ``xsd:integer[>= 5]``."""
        base, head = self._value(term, "onDatatype"), self._value(term, "withRestrictions")
        if base is None or head is None:
            return None
        facets = []
        for item in self._items(head):
            for predicate, sign in FACETS.items():
                bound = self._value(item, predicate, "http://www.w3.org/2001/XMLSchema#")
                if bound is not None:
                    facets.append(f"{sign} {self._named(bound)}")
        return f"{self._named(base)}[{', '.join(facets)}]"
