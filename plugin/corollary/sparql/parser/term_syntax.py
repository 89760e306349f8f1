"""Terms, triples and property paths of SPARQL (rules 75 to 109 and 129 to 138 of the grammar)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from rdflib.namespace import RDF, XSD
from rdflib.paths import AlternativePath, InvPath, MulPath, NegatedPath, Path, SequencePath
from rdflib.term import BNode, Literal, Node, URIRef, Variable

from corollary.kernels.limits import check
from corollary.sparql.algebra import Parameter, Triple
from corollary.sparql.parser.cursor import SOURCE, Cursor, Names
from corollary.sparql.parser.tokens import unescaped
from corollary.sparql.typed_literals import typed_literal

NUMBERS = {"integer": XSD.integer, "decimal": XSD.decimal, "double": XSD.double}
STRINGS = ("string", "long")
BOOLEANS = {"TRUE": True, "FALSE": False}
CONSTANTS = frozenset(("iri", "name", *NUMBERS, *STRINGS))
"""The kinds of tokens that are constants."""

TERMS = frozenset(("variable", "iri", "name", "blank", *NUMBERS, *STRINGS))
"""The kinds of tokens that begin a term."""

PATHS = frozenset(("^", "!", "("))
"""Symbols that begin a path."""


class TermParser(Cursor):
    """Reads terms, and triples over them."""

    pattern: int = 0
    """The number of the present basic graph pattern."""

    def __init__(
        self, text: str, names: Names, source: str = SOURCE, parameters: set[int] | None = None
    ) -> None:
        """``parameters`` receives the places of constants, which become parameters; None: none do."""
        super().__init__(text, names, source)
        self._parameters = parameters
        self._variables: dict[str, Variable] = {}  # one object for each is found fast where it is a key
        self.blank_nodes: dict[str, int] = {}
        """By label: the number of the basic graph pattern in which a blank node stands."""

    # Terms

    def at_term(self) -> bool:
        """Whether a term begins here, ``()`` and ``[]`` included."""
        if self.kind in TERMS or self.word in BOOLEANS:
            return True
        if self.word in ("+", "-"):
            return self.kinds[self.at + 1] in NUMBERS and self.touches()
        return (self.word == "(" and self.follows(")")) or (self.word == "[" and self.follows("]"))

    def term(self) -> Node:
        """A variable, IRI, literal or blank node. ``()`` is rdf:nil."""
        kind = self.kind
        if kind == "variable":
            return self.variable()
        if kind in CONSTANTS:
            return self.constant()
        if kind == "blank":
            return self._blank_node()
        if self.word in ("(", "["):
            opening = self.advance()
            self.expect(")" if opening == "(" else "]")
            return RDF.nil if opening == "(" else BNode()
        return self.literal()

    def variable(self) -> Variable:
        """A variable."""
        if self.kind != "variable":
            self.fail_expecting("a variable")
        name = self.advance()[1:]
        return self._variables.setdefault(name, Variable(name))

    def variable_or_iri(self) -> Node:
        """A variable or an IRI."""
        return self.variable() if self.kind == "variable" else self.iri()

    def constant(self) -> Node:
        """An IRI or a literal, or a parameter in its place."""
        place, kind, word = self.at, self.kind, self.word
        term = self.iri() if kind in ("iri", "name") else self.literal()
        if self._parameters is None or kind not in CONSTANTS:
            return term
        self._parameters.add(place)
        if kind == "iri":
            return Parameter(place, lambda word: self.names.resolved(word[1:-1]))
        if kind == "name":
            namespace = self.names.namespace(word.partition(":")[0]) or ""
            return Parameter(place, lambda word: URIRef(namespace + word.partition(":")[2]))
        assert isinstance(term, Literal)
        quotes = {"string": 1, "long": 3}.get(kind, 0)
        make = partial(_literal, quotes, term.language, term.datatype)
        return Parameter(place, make)

    def literal(self) -> Literal:
        """A string, a number or a truth value."""
        if self.kind in STRINGS:
            return self._string()
        if self.word in BOOLEANS:
            return Literal(BOOLEANS[self.advance()])
        sign = ""
        if self.word in ("+", "-") and self.kinds[self.at + 1] in NUMBERS and self.touches():
            sign = self.advance()
        if self.kind not in NUMBERS:
            self.fail_expecting("a term")
        datatype = NUMBERS[self.kind]
        return Literal(sign + self.advance(), datatype=datatype)

    def text_of_string(self) -> str:
        """The characters of a string."""
        if self.kind not in STRINGS:
            self.fail_expecting("a string")
        quotes = 3 if self.kind == "long" else 1
        return unescaped(self.advance()[quotes:-quotes])

    def _string(self) -> Literal:
        text = self.text_of_string()
        if self.kind == "language":
            return Literal(text, lang=self.advance()[1:])
        return typed_literal(text, self.iri(), normalize=False) if self.accept("^^") else Literal(text)

    def _blank_node(self) -> BNode:
        """A labelled blank node. A label stands in one basic graph pattern only (section 19.6)."""
        label = self.word[2:]
        if self.blank_nodes.setdefault(label, self.pattern) != self.pattern:
            self.fail(
                f"the blank node _:{label} stands in another group of triples already",
                remedy="use a variable, which may stand anywhere",
            )
        self.advance()
        return BNode(label)

    # Triples

    def triples(self, verb: Callable[[], Any]) -> list[Triple]:
        """Triples with full stops between them: as many as there are. ``verb`` reads a predicate."""
        found: list[Triple] = []
        while self.at_term() or self.word in ("(", "["):
            check()
            self._same_subject(verb, found)
            if not self.accept("."):
                break
        return found

    def _same_subject(self, verb: Callable[[], Any], found: list[Triple]) -> None:
        if self.at_term():
            self._properties(self.term(), verb, found)
            return
        self._properties(self._node(verb, found), verb, found, is_needed=False)

    def _properties(
        self, subject: Node, verb: Callable[[], Any], found: list[Triple], *, is_needed: bool = True
    ) -> None:
        """A list of predicates with objects, after their subject."""
        if not (is_needed or self.at_verb()):
            return
        while True:
            predicate = verb()
            found.append((subject, predicate, self._node(verb, found)))
            while self.accept(","):
                found.append((subject, predicate, self._node(verb, found)))
            if self.word != ";":
                return
            while self.accept(";"):
                pass
            if not self.at_verb():
                return

    def at_verb(self) -> bool:
        """Whether a predicate or a path begins here."""
        return self.kind in ("variable", "iri", "name") or self.word == "a" or self.word in PATHS

    def _node(self, verb: Callable[[], Any], found: list[Triple]) -> Node:
        """A term, or the node of ``[...]`` or ``(...)``, whose triples are added to ``found``."""
        if self.at_term():
            return self.term()
        if self.accept("["):
            node = BNode()
            self._properties(node, verb, found)
            self.expect("]")
            return node
        if not self.accept("("):
            self.fail_expecting("a term")
        first = cell = BNode()
        found.append((cell, RDF.first, self._node(verb, found)))
        while not self.accept(")"):
            following = BNode()
            found.append((cell, RDF.rest, following))
            cell = following
            found.append((cell, RDF.first, self._node(verb, found)))
        found.append((cell, RDF.rest, RDF.nil))
        return first

    # Predicates and paths

    def simple_verb(self) -> Node:
        """A variable, an IRI or ``a``: the predicates of templates."""
        return RDF.type if self.accept("a") else self.variable_or_iri()

    def path_verb(self) -> Any:
        """A variable, or a path; a path of one IRI is the IRI."""
        return self.variable() if self.kind == "variable" else self._alternative()

    def _alternative(self) -> Path | URIRef:
        parts = [self._sequence()]
        while self.accept("|"):
            parts.append(self._sequence())
        return parts[0] if len(parts) == 1 else AlternativePath(*parts)

    def _sequence(self) -> Path | URIRef:
        parts = [self._inverse()]
        while self.accept("/"):
            parts.append(self._inverse())
        return parts[0] if len(parts) == 1 else SequencePath(*parts)

    def _inverse(self) -> Path | URIRef:
        return InvPath(self._element()) if self.accept("^") else self._element()

    def _element(self) -> Path | URIRef:
        if self.accept("("):
            path = self._alternative()
            self.expect(")")
        elif self.accept("!"):
            path = self._negated()
        else:
            path = RDF.type if self.accept("a") else self.iri()
        is_sign = self.word == "+" and self.kinds[self.at + 1] in NUMBERS and self.touches()
        if self.word not in ("?", "*", "+") or is_sign:
            return path
        modifier: Any = self.advance()
        return MulPath(path, modifier)

    def _negated(self) -> NegatedPath:
        if not self.accept("("):
            return NegatedPath(self._one_negated())
        parts: list[InvPath | URIRef] = []
        while not self.accept(")"):
            if parts:
                self.expect("|")
            parts.append(self._one_negated())
        return NegatedPath(AlternativePath(*parts))

    def _one_negated(self) -> InvPath | URIRef:
        inverse = self.accept("^")
        predicate = RDF.type if self.accept("a") else self.iri()
        return InvPath(predicate) if inverse else predicate


def _literal(quotes: int, language: str | None, datatype: URIRef | None, word: str) -> Literal:
    """The literal of a token without escapes, with a number of quotation marks.

    As in rdflib, a text keeps its lexical form, and a number without quotation marks is normalised, unless
    ``rdflib.NORMALIZE_LITERALS`` says otherwise.
    """
    text = word[quotes : len(word) - quotes]
    if language:
        return Literal(text, lang=language)
    return typed_literal(text, datatype, normalize=False if quotes else None)
