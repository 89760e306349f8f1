"""rdflib's terms and the dictionary's ids: the only place where the two meet.

Terms are told apart as rdflib does: literals by lexical form, datatype and lower-cased language, so
that ``"a"`` and ``"a"^^xsd:string`` are two; nothing is normalised on the way in or out. A graph's
identifier is a term like any other. What N3 adds (variables, formulas) gets ids of kind blank node,
and comes back as the object it was.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

import numpy as np
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID, Graph
from rdflib.term import BNode, Literal, Node, URIRef, Variable

from corollary.language.constants import escape, unescape
from corollary.sparql.names import printer
from corollary.terms.dictionary import KIND_SHIFT, Kind, TermDictionary

EXPLICIT = URIRef("urn:x-corollary:explicit")
INFERRED = URIRef("urn:x-corollary:inferred")
"""The graphs that show one side of all others."""

_LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"(?:@(\S+)|\^\^<(.*)>)?', re.DOTALL)


class Terms(dict[int, Node]):
    """Ids to rdflib terms, each made once; ``id_of`` and ``find`` go the other way.

    ``default``, ``explicit`` and ``inferred`` are the ids of the graphs that every store has, ``handles`` the
    ``Graph`` objects by which users know graphs.
    """

    def __init__(self, dictionary: TermDictionary) -> None:
        super().__init__()
        self.dictionary = dictionary
        self.handles: dict[int, Graph] = {}
        self.default = self.id_of(DATASET_DEFAULT_GRAPH_ID)
        self.explicit, self.inferred = self.id_of(EXPLICIT), self.id_of(INFERRED)

    def copied(self) -> Terms:
        """The terms of this moment, to which no other thread adds any; without handles."""
        copy = Terms(self.dictionary.copied())
        copy.update(dict.copy(self))  # in one step of the interpreter's
        return copy

    def renumbered(self, dictionary: TermDictionary, ids: Mapping[int, int]) -> Terms:
        """The same terms and handles over another dictionary, which gave these ids (old to new) to them."""
        terms = Terms(dictionary)
        known = dict.copy(self)  # in one step of the interpreter's
        terms.update((ids[term], known[term]) for term in ids.keys() & known.keys())
        handles = self.handles.copy()
        terms.handles.update((ids[graph], handles[graph]) for graph in ids.keys() & handles.keys())
        return terms

    def used(self) -> Iterable[int]:
        """The ids of the graphs that every store has."""
        return self.default, self.explicit, self.inferred

    def of_text(self, text: str) -> Node:
        """The term of an N-Triples text."""
        return _term(text)

    def printer(self, namespaces: Iterable[tuple[str, str]]) -> Callable[[Node], str]:
        """See ``corollary.sparql.names``."""
        return printer(namespaces)

    def __missing__(self, term_id: int) -> Node:
        term = self[term_id] = _term(self.dictionary.decode(term_id))
        return term

    def id_of(self, term: Node) -> int:
        """The id of a term, a new one if it is new. TypeError for what is no term."""
        text = _text(term)
        term_id = self.dictionary.encode(text)
        if not isinstance(term, URIRef | BNode):
            self.setdefault(term_id, term)  # to the letter, and not converted again
        return term_id

    def revive(self, formula: Callable[[Node], Graph]) -> None:
        """Give variables and formulas their objects, after their texts have been read back."""
        table = self.dictionary.tables()[Kind.BLANK_NODE]
        offsets = table.offsets()
        longer = np.flatnonzero(np.diff(offsets) > 2)  # than _:
        marks = table.content()[offsets[longer] + 2]
        for number in longer[(marks == ord("?")) | (marks == ord("{"))].tolist():
            text = table.text(number)
            term = Variable(text[3:]) if text[2] == "?" else formula(_term(text[3:-1]))
            self[Kind.BLANK_NODE << KIND_SHIFT | number] = term

    def find(self, term: Node) -> int | None:
        """The id of a term, None if it has none, or is no term: then no fact mentions it."""
        return self.dictionary.find(_text(term)) if isinstance(term, Node) else None


def _text(term: Node) -> str:
    """The dictionary's key of a term."""
    if isinstance(term, URIRef):
        return f"<{term}>"
    if isinstance(term, Literal):
        text = f'"{escape(str(term))}"'
        if term.language:
            return f"{text}@{term.language.lower()}"
        return text if term.datatype is None else f"{text}^^<{term.datatype}>"
    if isinstance(term, BNode):
        return f"_:{term}"
    if isinstance(term, Variable):
        return f"_:?{term}"
    if isinstance(term, Graph):
        return f"_:{{{_text(term.identifier)}}}"
    raise TypeError(f"{term!r} is no RDF term: expected a URIRef, BNode or Literal")


def _term(text: str) -> Node:
    """The rdflib term of a key."""
    if text[0] == "<":
        return str.__new__(URIRef, text[1:-1])  # whoever brought it has heard if it is no good IRI
    if text[0] == "_":
        return BNode(text[2:])
    match = _LITERAL.fullmatch(text)
    assert match is not None, text
    lexical, language, datatype = match.groups()
    return Literal(
        unescape(lexical),
        lang=language,
        datatype=None if datatype is None else URIRef(datatype),
        normalize=False,
    )
