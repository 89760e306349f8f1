"""The algebra of SPARQL (section 18 of the recommendation): immutable plans, which threads share.

A query is a tree of *operators* over *expressions*. Variables, IRIs, literals and blank nodes are rdflib's
terms, property paths are those of ``rdflib.paths``. Tuples stand for lists. Invariant: a node never changes,
so a pass makes new nodes, see ``rewritten``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import cache, wraps
from operator import is_not
from typing import Any, TypeVar

from rdflib.term import BNode, Literal, Node, URIRef, Variable

from corollary.kernels.limits import check


class PlanNode:
    """What a plan consists of, beside terms, tuples and constants. ``found``: see ``kept``."""

    __slots__ = ("found",)
    found: dict[Callable[[Any], Any], Any]


Found = TypeVar("Found")


def kept(function: Callable[[Any], Found]) -> Callable[[Any], Found]:
    """Decorator: caches a function's result for a node in the node, beside its fields.

    Precondition: the result depends on the node alone, and is immutable. Two threads may overwrite each
    other's entries: a lost entry is computed again, and no result changes.
    """

    @wraps(function)
    def found(node: Any) -> Found:
        if not isinstance(node, PlanNode):
            return function(node)
        try:
            known = node.found
        except AttributeError:
            known = {}
            object.__setattr__(node, "found", known)
        if function not in known:
            known[function] = function(node)
        return known[function]  # type: ignore[no-any-return]

    return found


Expression = Any
"""A term, ``Call``, ``FunctionCall`` or ``Exists``."""

Triple = tuple[Node, Any, Node]
"""Subject, predicate (or path), object. A blank node is a variable of its basic graph pattern."""


@dataclass(frozen=True, slots=True, eq=False)
class Parameter(Node):
    """A constant of a query's shape: see ``plan_cache``. ``make`` makes its term from the token at ``place``.

    A plan with parameters is not evaluated.
    """

    place: int
    make: Callable[[str], Node]

    def n3(self, namespace_manager: object = None) -> str:
        """For messages."""
        return f"${self.place}"


# Expressions


@dataclass(frozen=True, slots=True)
class Call(PlanNode):
    """An operator or a built-in function: ``Call("+", (a, b))``, ``Call("STRLEN", (a,))``.

    The name is the symbol, or the keyword in upper case. ``&&`` and ``||`` have two or more operands. The
    signs before a term are ``PLUS`` and ``MINUS``. The first operand of ``IN`` and ``NOT IN`` is compared
    with the others. ``URI`` is ``IRI``, ``isURI`` is ``ISIRI``.
    """

    name: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class FunctionCall(PlanNode):
    """A call of the function that an IRI names: a cast, or a function of the user."""

    iri: URIRef
    arguments: tuple[Expression, ...]
    is_distinct: bool = False


@dataclass(frozen=True, slots=True)
class Exists(PlanNode):
    """EXISTS, or with ``is_negated`` NOT EXISTS."""

    pattern: Operator
    is_negated: bool = False


@dataclass(frozen=True, slots=True)
class Aggregate(PlanNode):
    """An aggregate of a group, whose value is the variable ``result``. The argument of COUNT(*) is None."""

    function: str
    argument: Expression | None
    result: Variable
    is_distinct: bool = False
    separator: str = " "


# Operators


class Operator(PlanNode):
    """A node that has solutions."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Triples(Operator):
    """A basic graph pattern: triple patterns and paths."""

    triples: tuple[Triple, ...] = ()


@dataclass(frozen=True, slots=True)
class Join(Operator):
    """All pairs of compatible solutions."""

    left: Operator
    right: Operator


@dataclass(frozen=True, slots=True)
class LeftJoin(Operator):
    """OPTIONAL. ``condition`` sees the variables of both sides; None is always true."""

    left: Operator
    right: Operator
    condition: Expression | None = None


@dataclass(frozen=True, slots=True)
class Union(Operator):
    """The solutions of all branches."""

    branches: tuple[Operator, ...]


@dataclass(frozen=True, slots=True)
class Minus(Operator):
    """The left solutions that are compatible with no right solution which shares a variable."""

    left: Operator
    right: Operator


@dataclass(frozen=True, slots=True)
class Filter(Operator):
    """The solutions for which a condition is true."""

    inner: Operator
    condition: Expression


@dataclass(frozen=True, slots=True)
class InGraph(Operator):
    """GRAPH: the solutions in the graph ``name``, or in each named graph if that is a variable."""

    inner: Operator
    name: Node


@dataclass(frozen=True, slots=True)
class Service(Operator):
    """SERVICE: the solutions of another service, an IRI or a variable."""

    inner: Operator
    name: Node
    is_silent: bool


@dataclass(frozen=True, slots=True)
class Extend(Operator):
    """BIND and ``(expression AS ?variable)``: the solutions with a further variable."""

    inner: Operator
    variable: Variable
    value: Expression


@dataclass(frozen=True, slots=True)
class Values(Operator):
    """A table of terms. None is UNDEF."""

    variables: tuple[Variable, ...]
    rows: tuple[tuple[Node | None, ...], ...]


@dataclass(frozen=True, slots=True)
class Subquery(Operator):
    """A SELECT within a pattern. Within EXISTS, it sees the values of those variables that it projects."""

    inner: Operator


@dataclass(frozen=True, slots=True)
class Group(Operator):
    """One solution for each group: the values of aggregates. ``keys`` None: without GROUP BY, one group."""

    inner: Operator
    keys: tuple[Expression, ...] | None
    aggregates: tuple[Aggregate, ...]


@dataclass(frozen=True, slots=True)
class OrderCondition(PlanNode):
    """A condition of ORDER BY."""

    value: Expression
    is_descending: bool = False


@dataclass(frozen=True, slots=True)
class OrderBy(Operator):
    """The solutions in order."""

    inner: Operator
    conditions: tuple[OrderCondition, ...]


@dataclass(frozen=True, slots=True)
class Project(Operator):
    """The solutions with some variables only."""

    inner: Operator
    variables: tuple[Variable, ...]


@dataclass(frozen=True, slots=True)
class Distinct(Operator):
    """Every solution once."""

    inner: Operator


@dataclass(frozen=True, slots=True)
class Reduced(Operator):
    """Equal solutions may be one."""

    inner: Operator


@dataclass(frozen=True, slots=True)
class Slice(Operator):
    """OFFSET and LIMIT; ``limit`` None: to the end."""

    inner: Operator
    offset: int
    limit: int | None


# Queries


@dataclass(frozen=True, slots=True)
class GraphClause(PlanNode):
    """FROM or USING, or with ``is_named`` FROM NAMED or USING NAMED.

    ``is_loaded``: a graph that the store does not have is read from its address; else it is empty.
    """

    graph: URIRef
    is_named: bool
    is_loaded: bool = True


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Query(PlanNode):
    """A query: ``form`` is SELECT, ASK, CONSTRUCT or DESCRIBE.

    ``terms`` are the projected variables, or what DESCRIBE describes. ``pattern`` is None for a DESCRIBE that
    has none. ``base`` resolves the IRIs that the function IRI makes. With ``takes_constants``, variables that
    are given with the query may be replaced by their values in triple patterns.
    """

    form: str
    pattern: Operator | None
    terms: tuple[Node, ...] = ()
    clauses: tuple[GraphClause, ...] = ()
    template: tuple[Triple, ...] = ()
    base: str = ""
    services: tuple[Service, ...] = ()
    takes_constants: bool = False


# Updates

Quad = tuple[Node, Node, Node, Node | None]
"""A triple of a template and its graph; None outside of GRAPH."""


class UpdateOperation(PlanNode):
    """An operation of an update."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class InsertData(UpdateOperation):
    """INSERT DATA."""

    quads: tuple[Quad, ...]


@dataclass(frozen=True, slots=True)
class DeleteData(UpdateOperation):
    """DELETE DATA."""

    quads: tuple[Quad, ...]


@dataclass(frozen=True, slots=True)
class Modify(UpdateOperation):
    """DELETE and INSERT WHERE. ``graph`` is that of WITH. ``base``: see ``Query``."""

    where: Operator
    deleted: tuple[Quad, ...] = ()
    inserted: tuple[Quad, ...] = ()
    graph: URIRef | None = None
    using: tuple[GraphClause, ...] = ()
    base: str = ""


@dataclass(frozen=True, slots=True)
class Load(UpdateOperation):
    """LOAD, into the default graph if ``target`` is None."""

    source: URIRef
    target: URIRef | None
    is_silent: bool


@dataclass(frozen=True, slots=True)
class Clear(UpdateOperation):
    """CLEAR. ``graphs`` is DEFAULT, NAMED, ALL or an IRI."""

    graphs: str
    is_silent: bool


@dataclass(frozen=True, slots=True)
class Drop(UpdateOperation):
    """DROP; ``graphs`` as for ``Clear``."""

    graphs: str
    is_silent: bool


@dataclass(frozen=True, slots=True)
class Create(UpdateOperation):
    """CREATE."""

    graph: URIRef
    is_silent: bool


@dataclass(frozen=True, slots=True)
class Transfer(UpdateOperation):
    """ADD, COPY or MOVE, which is ``keyword``. None is the default graph."""

    keyword: str
    source: URIRef | None
    target: URIRef | None
    is_silent: bool


# Trees


@cache
def _names(kind: Any) -> tuple[str, ...]:
    """The fields of a node."""
    return tuple(each.name for each in fields(kind))


def children(node: Any) -> tuple[Any, ...]:
    """The fields of a node, or the members of a tuple; nothing for terms and constants."""
    if isinstance(node, PlanNode):
        kind: Any = type(node)
        return tuple([getattr(node, name) for name in _names(kind)])
    return node if isinstance(node, tuple) else ()


def inputs(operator: Operator) -> list[Operator]:
    """The operators whose solutions an operator reads."""
    if isinstance(operator, Union):
        return list(operator.branches)
    return [part for part in children(operator) if isinstance(part, Operator)]


def walk(node: Any) -> Iterator[Any]:
    """A node and all that is in it, at any depth, from the left: nodes, tuples, terms and constants."""
    waiting = [node]
    while waiting:
        found = waiting.pop()
        yield found
        waiting += reversed(children(found))


def rewritten(node: Any, change: Callable[[Any], Any], whole: tuple[type, ...] = ()) -> Any:
    """The node with ``change`` applied to everything in it and to itself, inner nodes first.

    In nodes of the classes ``whole`` nothing is changed, only they themselves are. What does not change is
    the same object: ``rewritten(node, lambda part: part) is node``. No recursion goes into first operands,
    of which very many may be within each other.
    """
    above: list[tuple[Any, tuple[Any, ...], int]] = []
    while True:  # down the first operands
        before = () if isinstance(node, whole) else children(node)
        place = next((i for i, part in enumerate(before) if isinstance(part, PlanNode | tuple)), -1)
        above.append((node, before, place))
        if place < 0:
            break
        node = before[place]
    check()
    found: Any = None
    for node, before, place in reversed(above):
        after = [
            (found if i == place else rewritten(part, change, whole))
            if isinstance(part, PlanNode | tuple)
            else change(part)
            for i, part in enumerate(before)
        ]
        if any(map(is_not, after, before)):
            kind: Any = type(node)
            node = tuple(after) if kind is tuple else kind(*after)
        found = change(node)
    return found


@kept
def mentioned(node: Any) -> frozenset[Variable]:
    """All variables in a part of a query, at any depth."""
    return frozenset([part for part in walk(node) if isinstance(part, Variable)])


@kept
def blank_nodes(pattern: Triples) -> frozenset[BNode]:
    """The blank nodes of a basic graph pattern."""
    return frozenset([term for triple in pattern.triples for term in triple if type(term) is BNode])


@kept
def has_exists(node: Any) -> bool:
    """Whether EXISTS or NOT EXISTS occurs in an expression."""
    return any(isinstance(part, Exists) for part in walk(node))


@kept
def has_subquery(node: Any) -> bool:
    """Whether a pattern contains a subquery."""
    return any(isinstance(part, Project) for part in walk(node))


@kept
def kinds(node: Any) -> frozenset[type]:
    """The classes of what is in a part of a query, at any depth."""
    return frozenset(map(type, walk(node)))


def services(node: Any) -> tuple[Service, ...]:
    """The SERVICE patterns in a part of a query, at any depth."""
    return tuple(part for part in walk(node) if isinstance(part, Service))


def pattern_of(quads: tuple[Quad, ...]) -> Operator:
    """The pattern of DELETE WHERE, which is its template."""
    by_graph: dict[Node | None, list[Triple]] = {}
    for *triple, graph in quads:
        by_graph.setdefault(graph, []).append(tuple(triple))  # type: ignore[arg-type]
    pattern: Operator = Triples(tuple(by_graph.pop(None, ())))
    for graph, triples in by_graph.items():
        assert graph is not None
        pattern = Join(pattern, InGraph(Triples(tuple(triples)), graph))
    return pattern


@kept
def conjuncts(expression: Expression) -> tuple[Expression, ...]:
    """The conjuncts: operands of ``&&`` at the top, or the expression itself."""
    if not isinstance(expression, Call) or expression.name != "&&":
        return (expression,)
    return tuple([part for operand in expression.arguments for part in conjuncts(operand)])


def conjunction(parts: list[Expression]) -> Expression:
    """The conjunction of at least one expression."""
    return parts[0] if len(parts) == 1 else Call("&&", tuple(parts))


def is_constant(expression: Expression) -> bool:
    """Whether an expression is an IRI or a literal."""
    return isinstance(expression, Literal | URIRef)
