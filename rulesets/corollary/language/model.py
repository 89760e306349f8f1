"""Rules as data: terms, atoms, rules. All classes are immutable and hashable.

A rule is written ``heads :- body``: if all body elements hold, all heads hold. A rule without heads is a
constraint, written ``false :- body``: each match of its body is an inconsistency. A rule without a body
states facts.

The elements of a body are

* ``Triple``: a triple pattern. Variables are allowed in all three places. A class atom ``:C[?x]`` is
  ``[?x, rdf:type, :C]``;
* ``Builtin``: a pattern over a virtual relation of the engine, such as ``MEMBER(?list, ?item)``;
* ``Each``, ``Chain`` and ``Pair``: patterns over a whole RDF list, rewritten before planning;
* ``Not``: its atoms have no match. Variables that occur only in this ``Not`` are existential;
* ``Filter``, ``Bind``, ``Aggregate``: as in SPARQL and in the rule language of RDFox.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from corollary.language.errors import Span

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
OWL = "http://www.w3.org/2002/07/owl#"
XSD = "http://www.w3.org/2001/XMLSchema#"
"""Namespace IRIs of the W3C vocabularies."""


@dataclass(frozen=True, slots=True, order=True)
class Variable:
    """A rule variable; ``name`` is without the question mark."""

    name: str


@dataclass(frozen=True, slots=True, order=True)
class IRI:
    """An absolute IRI, without angle brackets."""

    value: str


@dataclass(frozen=True, slots=True, order=True)
class Reserved(IRI):
    """The name of a virtual relation, as the predicate of triples: no variable stands for it."""


@dataclass(frozen=True, slots=True, order=True)
class BlankNode:
    """The blank node with the label ``_:label`` in the data: a constant, not a variable."""

    label: str


@dataclass(frozen=True, slots=True, order=True)
class Literal:
    """A literal as written: ``1`` and ``01`` differ. ``datatype`` is None for plain and tagged literals."""

    lexical: str
    datatype: str | None = None
    language: str | None = None


Constant = IRI | BlankNode | Literal
"""A term that is not a variable."""

Term = Variable | Constant
"""An argument of an atom."""

RDF_TYPE = IRI(RDF + "type")
"""The predicate of class atoms."""


@dataclass(frozen=True, slots=True)
class Triple:
    """``[subject, predicate, object]``."""

    subject: Term
    predicate: Term
    object: Term

    @property
    def terms(self) -> tuple[Term, Term, Term]:
        return (self.subject, self.predicate, self.object)


@dataclass(frozen=True, slots=True)
class Builtin:
    """``NAME(first, second)``: a virtual relation over two terms.

    * ``MEMBER(?l, ?x)``: x is an item of the well-formed RDF list l;
    * ``REPEATED(?l, ?x)``: x is an item of l at two or more positions;
    * ``VALUE(?v, ?d)``: the literal v occurs in a fact and denotes a value of the datatype d;
    * ``ILL_TYPED(?v, ?d)``: the literal v has the datatype d, and d does not allow its lexical form;
    * ``SAME_VALUE(?v, ?w)``, ``DIFFERENT_VALUE(?v, ?w)``: distinct literals with equal, or different, values.
    """

    name: str
    arguments: tuple[Term, Term]


BUILTIN_NAMES = ("MEMBER", "REPEATED", "VALUE", "ILL_TYPED", "SAME_VALUE", "DIFFERENT_VALUE")
"""Virtual relations that rules may use."""


@dataclass(frozen=True, slots=True)
class Each:
    """``EACH ?item IN ?list (atoms)``: the atoms hold for every item of the list.

    A variable that occurs only in ``atoms`` may have another value for each item. For one item it has the
    same value in all atoms.
    """

    item: Variable
    list: Term
    atoms: tuple[Triple, ...]


@dataclass(frozen=True, slots=True)
class Chain:
    """``CHAIN(?list, ?start, ?end)``: a path from start to end; its edges are the properties in the list."""

    list: Term
    start: Term
    end: Term


@dataclass(frozen=True, slots=True)
class Pair:
    """``PAIR(?list, ?first, ?second)``: items at two different positions of the list, in either order.

    Names that owl:sameAs adds to an item have its position: with a = c, the list (a b) has no pair (a, c).
    An item listed twice has two positions: the list (a b a) has the pair (a, a).
    """

    list: Term
    first: Term
    second: Term


LIST_PATTERNS: dict[str, type[Chain | Pair]] = {"CHAIN": Chain, "PAIR": Pair}
"""Keyword -> list pattern over three terms."""


@dataclass(frozen=True, slots=True)
class Not:
    """``NOT [..]`` or ``NOT EXISTS ?y IN ([..], [..])``: the conjunction of the atoms has no match."""

    atoms: tuple[Triple | Builtin, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """A call of an operator or function: ``Call("<", (a, b))``, ``Call("abs", (a,))``."""

    function: str
    arguments: tuple[Expression, ...]


Expression = Term | Call
"""The argument of ``Filter``, ``Bind`` and the aggregate functions."""


@dataclass(frozen=True, slots=True)
class Filter:
    """``FILTER(expression)``: the effective boolean value is true. An error counts as false."""

    expression: Expression


@dataclass(frozen=True, slots=True)
class Bind:
    """``BIND(expression AS ?variable)``. An error removes the row, unlike in SPARQL."""

    expression: Expression
    variable: Variable


@dataclass(frozen=True, slots=True)
class AggregateBinding:
    """``function(argument) AS ?variable``. If ``argument`` is None: ``count(*)``."""

    function: str
    argument: Expression | None
    variable: Variable
    distinct: bool = False


@dataclass(frozen=True, slots=True)
class Aggregate:
    """``AGGREGATE(atoms ON ?x ?y BIND count(?z) AS ?n)``: one row for each group that has a match."""

    body: tuple[Triple | Filter | Bind, ...]
    group: tuple[Variable, ...]
    bindings: tuple[AggregateBinding, ...]


BodyElement = Triple | Builtin | Each | Chain | Pair | Not | Filter | Bind | Aggregate
"""An element of the body of a rule."""


@dataclass(frozen=True, slots=True)
class Rule:
    """``heads :- body``. Equality and hash ignore ``name`` and ``span``."""

    heads: tuple[Triple, ...]
    body: tuple[BodyElement, ...]
    name: str = field(default="", compare=False)
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def is_constraint(self) -> bool:
        """Whether the rule has no heads: ``false :- body``."""
        return not self.heads

    def named(self, name: str) -> Rule:
        return replace(self, name=name)
