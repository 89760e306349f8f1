"""Translation between rdflib's terms and the dictionary's ids. No other file translates them.

Terms are distinct if they are distinct in rdflib. Literals differ by lexical form, datatype and lower-case
language: so ``"a"`` and ``"a"^^xsd:string`` are two terms. Lexical forms are not normalised. The identifier
of a graph is an ordinary term. The variables and formulas of N3 get ids of kind blank node, and are
translated back to the same objects.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache

import numpy as np
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID, Graph
from rdflib.term import BNode, Literal, Node, URIRef, Variable

from corollary.kernels.sorted import Column
from corollary.language import CorollaryError
from corollary.language.constants import escape, unescape
from corollary.sparql.term_texts import TextColumns, parts_of
from corollary.sparql.tuning import MAX_CHARACTERS_OF_TAG_CACHED, MAX_IRIS_FOUND, MAX_LANGUAGE_TAGS_CACHED
from corollary.sparql.typed_literals import QUOTE_IN_DATATYPE, literal_as_written
from corollary.sparql.value_columns import ValueColumns
from corollary.terms.dictionary import FIRST_BLANK_NODE, KIND_SHIFT, Kind, TermDictionary, kinds

_LOCAL_NAME = re.compile(r"[^\W\d][\w-]*")

EXPLICIT = URIRef("urn:x-corollary:explicit")
INFERRED = URIRef("urn:x-corollary:inferred")
"""The virtual graphs with the explicit, or the inferred, facts of all graphs."""

_NAMES = URIRef, BNode


class Terms(dict[int, Node]):
    """A cache of rdflib terms by id; ``id_of`` and ``find`` give the ids of terms.

    ``default``, ``explicit`` and ``inferred`` are the ids of the graphs that every store has. ``handles`` are
    the users' ``Graph`` objects, by the id of the graph. ``last_graph`` caches the id of the graph that was
    changed last: the graph, the alias of the default graph, the id. ``value_columns`` and ``text_columns``
    have values and texts of terms. ``found`` caches the ids of IRIs that ``find`` has returned, ``absent``
    for other IRIs the number of the dictionary's IRIs when it did not have them. ``read_ids`` caches
    the ids of other terms that were read from here, by the ``id`` of the object. ``capitals`` has the ids of
    all cached literals whose language tags have capitals: texts have none.
    """

    def __init__(self, dictionary: TermDictionary) -> None:
        super().__init__()
        self.dictionary = dictionary
        self.handles: dict[int, Graph] = {}
        self.value_columns, self.text_columns = ValueColumns(dictionary), TextColumns(dictionary)
        self.last_graph: tuple[object, object, int] | None = None
        self.found: dict[URIRef, int] = {}
        self.absent: dict[URIRef, int] = {}
        self.read_ids: dict[int, int] = {}
        self.capitals: set[int] = set()
        self.default = self.id_of(DATASET_DEFAULT_GRAPH_ID)
        self.explicit, self.inferred = self.id_of(EXPLICIT), self.id_of(INFERRED)

    def copied(self) -> Terms:
        """A snapshot that other threads do not change; without handles."""
        copy = Terms(self.dictionary.copied())
        copy.update(dict.copy(self))  # ``dict.copy`` is atomic in the interpreter
        copy.capitals = self.capitals.copy()
        return copy

    def renumbered(self, dictionary: TermDictionary, ids: Mapping[int, int]) -> Terms:
        """The same terms and handles over another dictionary. ``ids`` maps old ids to new ids."""
        terms = Terms(dictionary)
        known = dict.copy(self)  # atomic in the interpreter
        terms.update((ids[term], known[term]) for term in ids.keys() & known.keys())
        terms.capitals = {ids[term] for term in self.capitals.copy() if term in ids}
        handles = self.handles.copy()
        terms.handles.update((ids[graph], handles[graph]) for graph in ids.keys() & handles.keys())
        return terms

    def used(self) -> Iterable[int]:
        """The ids of the graphs that every store has."""
        return self.default, self.explicit, self.inferred

    def of_text(self, text: str) -> Node:
        """The rdflib term of an N-Triples text."""
        return _term(text)

    def printer(self, namespaces: Iterable[tuple[str, str]]) -> Callable[[Node], str]:
        """A function that prints a term: see ``printer``."""
        return printer(namespaces)

    def read(self, ids: Column) -> None:
        """Cache the IRIs and literals among the ids, in less time than one by one."""
        if self.dictionary.is_young:  # no table need be made, and no kernel loaded
            kind = kinds(ids)
            named = ids[(kind == Kind.IRI) | (kind == Kind.LITERAL)].tolist()
            for term_id, text in zip(named, self.dictionary.decode_all(named), strict=True):
                self.setdefault(term_id, _term(text))
            return
        for part in parts_of(ids, self.dictionary):
            terms = map(_term, part.table.strings(part.numbers))
            for term_id, term in zip(ids[part.rows].tolist(), terms, strict=True):
                self.setdefault(term_id, term)

    def __missing__(self, term_id: int) -> Node:
        term = self[term_id] = _term(self.dictionary.decode(term_id))
        return term

    def id_of(self, term: Node) -> int:
        """The id of a term; an unknown term gets a new id. Raises TypeError if ``term`` is no RDF term."""
        term_id = self.dictionary.encode(text_of(term))
        if not isinstance(term, _NAMES):
            self._keep(term_id, term)
        return term_id

    def _keep(self, term_id: int, term: Node) -> None:
        """Make decoding return this object, unless the id has another one already."""
        language = getattr(term, "language", None)
        if language and not language.islower():
            self.capitals.add(term_id)  # before: a copy may have it without the term, and not the other way
        self.setdefault(term_id, term)

    def ids_of(self, terms: Sequence[Node]) -> list[int]:
        """The ids of terms, as ``id_of`` gives them, in less time."""
        ids = self.dictionary.encode_all(
            [f"<{term}>" if type(term) is URIRef else text_of(term) for term in terms]
        )
        for term_id, term in zip(ids, terms, strict=True):
            if term_id >= FIRST_BLANK_NODE and not isinstance(term, _NAMES):
                self._keep(term_id, term)
        return ids

    def revive(self, formula: Callable[[Node], Graph]) -> None:
        """Restore the objects of N3 variables and formulas, after the dictionary was read from a folder."""
        table = self.dictionary.tables()[Kind.BLANK_NODE]
        marks = table.bytes_at(2)  # behind "_:"
        for number in np.flatnonzero((marks == ord("?")) | (marks == ord("{"))).tolist():
            text = table.text(number)
            term = Variable(text[3:]) if text[2] == "?" else formula(_term(text[3:-1]))
            self[Kind.BLANK_NODE << KIND_SHIFT | number] = term

    def find(self, term: Node) -> int | None:
        """The id of a term. None if the term has no id, or is no RDF term: then it occurs in no fact."""
        if type(term) is not URIRef:
            return self._find_other(term)
        term_id = self.found.get(term)
        if term_id is None:
            iris = self.dictionary.count(Kind.IRI)
            if self.absent.get(term) == iris:
                return None
            term_id = self.dictionary.find(f"<{term}>")
            if len(self.found) + len(self.absent) >= MAX_IRIS_FOUND:
                self.found, self.absent = {}, {}
            if term_id is None:
                self.absent[term] = iris
            else:
                self.found[term] = term_id
        return term_id

    def _find_other(self, term: Node) -> int | None:
        """``find`` for what is no IRI."""
        known = self.read_ids.get(id(term))
        if known is not None and self.get(known) is term:
            return known
        if type(term) is not Literal and not isinstance(term, Node):  # slow: the class is abstract
            return None
        term_id = self.dictionary.find(text_of(term))
        if term_id is not None and self.get(term_id) is term:
            if len(self.read_ids) >= MAX_IRIS_FOUND:
                self.read_ids = {}
            self.read_ids[id(term)] = term_id
        return term_id


def text_of(term: Node) -> str:
    """The dictionary's key of a term. Raises TypeError for what is no RDF term."""
    if type(term) is not Literal and isinstance(term, URIRef):
        return f"<{term}>"
    if isinstance(term, Literal):
        text = f'"{escape(str(term))}"'
        language = term.language
        if language:
            return f"{text}@{language.lower()}"
        datatype = term.datatype
        if datatype is None:
            return text
        if '"' in datatype:  # no IRI, but rdflib takes it
            return text + "^^<" + datatype.replace('"', QUOTE_IN_DATATYPE) + ">"
        return f"{text}^^<{datatype}>"
    if isinstance(term, BNode):
        return f"_:{term}"
    if isinstance(term, Variable):
        return f"_:?{term}"
    if isinstance(term, Graph):
        return f"_:{{{text_of(term.identifier)}}}"
    raise TypeError(f"{term!r} is no RDF term: expected a URIRef, BNode or Literal")


def _term(text: str) -> Node:
    """The rdflib term of a dictionary key. Raises CorollaryError for another text: a file is damaged."""
    if text[0] == "<":
        return str.__new__(URIRef, text[1:-1])  # no second warning about an invalid IRI
    if text[0] == "_":
        return BNode(text[2:])
    try:
        if text[-1] == '"':
            return plain_literal(unescape(text[1:-1]))
        closing = text.rindex('"')
        lexical, suffix = unescape(text[1:closing]), text[closing + 1 :]
        if suffix[:2] == "^^":
            return literal_as_written(lexical, suffix[3:-1])
        if suffix and (len(suffix) > MAX_CHARACTERS_OF_TAG_CACHED or not _is_tag(suffix)):
            return Literal(lexical, lang=suffix[1:])  # raises the error of a wrong tag
        return plain_literal(lexical, suffix[1:] or None)
    except ValueError as error:
        raise CorollaryError(
            f"a stored text is no term ({error}): the file of the store is damaged; put back a copy of it"
        ) from error


def plain_literal(text: str, language: str | None = None) -> Literal:
    """A string with a valid language tag, or none: as ``Literal`` makes it, in a fifth of the time."""
    literal = str.__new__(Literal, text)
    literal._language, literal._datatype = language, None
    literal._value, literal._ill_typed = text, None
    return literal


@lru_cache(maxsize=MAX_LANGUAGE_TAGS_CACHED)
def _is_tag(suffix: str) -> bool:
    """Whether rdflib takes a language tag."""
    return Literal("", lang=suffix[1:]).language == suffix[1:]


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
