"""Rules as data: terms, atoms, rules, programs. Immutable, hashable, and with no engine behind them.

A rule is read ``heads :- body``: whenever every body element holds, every head holds. A rule
without heads is a constraint, written ``false :- body``: whatever satisfies its body is an
inconsistency. A rule without a body states facts.

The body is made of

* ``Triple``: a triple pattern; variables may stand anywhere, the predicate included. A class atom
  ``:C[?x]`` is the triple ``[?x, rdf:type, :C]``;
* ``Builtin``: a pattern over a virtual relation of the engine, such as ``MEMBER(?list, ?item)``;
* ``Each``, ``Chain`` and ``Pair``: patterns over a whole RDF list, rewritten before planning;
* ``Not``: no way to satisfy these atoms; its own further variables are existential;
* ``Filter``, ``Bind``, ``Aggregate``: as in SPARQL and in RDFox's rule language.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from corollary.language.errors import Span

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
OWL = "http://www.w3.org/2002/07/owl#"
XSD = "http://www.w3.org/2001/XMLSchema#"
"""The namespaces of the W3C, as text."""


@dataclass(frozen=True, slots=True, order=True)
class Variable:
    """A rule variable; ``name`` is without the question mark."""

    name: str


@dataclass(frozen=True, slots=True, order=True)
class IRI:
    """An absolute IRI, without angle brackets."""

    value: str


@dataclass(frozen=True, slots=True, order=True)
class BlankNode:
    """A blank node that the data calls ``_:label``: a constant, not a variable."""

    label: str


@dataclass(frozen=True, slots=True, order=True)
class Literal:
    """A literal, to the letter. ``datatype`` is None for a plain or language-tagged one."""

    lexical: str
    datatype: str | None = None
    language: str | None = None


Constant = IRI | BlankNode | Literal
"""A term that is no variable."""

Term = Variable | Constant
"""What stands in an atom."""

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

    ``MEMBER(?l, ?x)``: x is an item of the well-formed RDF list l. ``REPEATED(?l, ?x)``: it is so at
    two positions. ``VALUE(?v, ?d)``: the literal v, used in some fact, denotes a value of datatype d.
    ``ILL_TYPED(?v, ?d)``: its lexical form is not one of its own datatype d.
    ``SAME_VALUE(?v, ?w)`` and ``DIFFERENT_VALUE(?v, ?w)`` compare two distinct literals' values.
    """

    name: str
    arguments: tuple[Term, Term]


BUILTIN_NAMES = ("MEMBER", "REPEATED", "VALUE", "ILL_TYPED", "SAME_VALUE", "DIFFERENT_VALUE")
"""The virtual relations of the engine that rules may read."""


@dataclass(frozen=True, slots=True)
class Each:
    """``EACH ?item IN ?list (atoms)``: the atoms hold for every item of the list.

    Variables of ``atoms`` that occur nowhere else in the rule are fresh for every item... except
    that a variable shared by several atoms of one item stays shared within that item.
    """

    item: Variable
    list: Term
    atoms: tuple[Triple, ...]


@dataclass(frozen=True, slots=True)
class Chain:
    """``CHAIN(?list, ?start, ?end)``: a path from start to end along the properties in the list."""

    list: Term
    start: Term
    end: Term


@dataclass(frozen=True, slots=True)
class Pair:
    """``PAIR(?list, ?first, ?second)``: items at two different positions of the list, in either order.

    Two names of one item (owl:sameAs) stand at one position; an item listed twice stands at two.
    """

    list: Term
    first: Term
    second: Term


LIST_PATTERNS: dict[str, type[Chain | Pair]] = {"CHAIN": Chain, "PAIR": Pair}
"""The patterns over three terms, by name."""


@dataclass(frozen=True, slots=True)
class Not:
    """``NOT [..]`` or ``NOT EXISTS ?y IN ([..], [..])``."""

    atoms: tuple[Triple | Builtin, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """An operator or function of an expression: ``Call("<", (a, b))``, ``Call("abs", (a,))``."""

    function: str
    arguments: tuple[Expression, ...]


Expression = Term | Call
"""What filters and bindings compute."""


@dataclass(frozen=True, slots=True)
class Filter:
    """``FILTER(expression)``: its effective boolean value is true; an error counts as false."""

    expression: Expression


@dataclass(frozen=True, slots=True)
class Bind:
    """``BIND(expression AS ?variable)``; an error leaves no row."""

    expression: Expression
    variable: Variable


@dataclass(frozen=True, slots=True)
class AggregateBinding:
    """``function(argument) AS ?variable``; ``argument`` None is ``count(*)``."""

    function: str
    argument: Expression | None
    variable: Variable
    distinct: bool = False


@dataclass(frozen=True, slots=True)
class Aggregate:
    """``AGGREGATE(atoms ON ?x ?y BIND count(?z) AS ?n)``: one row a group."""

    body: tuple[Triple | Filter | Bind, ...]
    group: tuple[Variable, ...]
    bindings: tuple[AggregateBinding, ...]


BodyElement = Triple | Builtin | Each | Chain | Pair | Not | Filter | Bind | Aggregate
"""What the body of a rule is made of."""


@dataclass(frozen=True, slots=True)
class Rule:
    """``heads :- body``. The name and the span are not part of a rule's identity."""

    heads: tuple[Triple, ...]
    body: tuple[BodyElement, ...]
    name: str = field(default="", compare=False)
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def is_constraint(self) -> bool:
        """Whether the head is *false*."""
        return not self.heads

    def named(self, name: str) -> Rule:
        return replace(self, name=name)


@dataclass(frozen=True, slots=True)
class Program:
    """Rules in the order written, and the prefixes to print them with."""

    rules: tuple[Rule, ...]
    prefixes: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    name: str = field(default="", compare=False)

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def __len__(self) -> int:
        return len(self.rules)

    def __repr__(self) -> str:
        return f"<Program {self.name!r}: {len(self):,} {'rule' if len(self) == 1 else 'rules'}>"

    def __add__(self, other: Program) -> Program:
        """Both programs' rules, each once; the first to bind a prefix keeps it."""
        rules = tuple(dict.fromkeys(self.rules + other.rules))
        prefixes = tuple({**dict(other.prefixes), **dict(self.prefixes)}.items())
        return Program(rules, prefixes, "+".join(filter(None, (self.name, other.name))))
