"""rdflib's prepared queries and updates, translated to the algebra.

rdflib's ``Query`` and ``Update`` consist of ``CompValue``, which are dictionaries with a name. The
SPARQL package of rdflib is not imported here: who has such an object has imported it.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from rdflib.namespace import RDF
from rdflib.term import Node, URIRef

from corollary.sparql.algebra import (
    Aggregate,
    Call,
    Clear,
    Create,
    DeleteData,
    Distinct,
    Drop,
    Exists,
    Expression,
    Extend,
    Filter,
    FunctionCall,
    GraphClause,
    Group,
    InGraph,
    InsertData,
    Join,
    LeftJoin,
    Load,
    Minus,
    Modify,
    Operator,
    OrderBy,
    OrderCondition,
    Project,
    Quad,
    Query,
    Reduced,
    Service,
    Slice,
    Subquery,
    Transfer,
    Triples,
    Union,
    UpdateOperation,
    Values,
    pattern_of,
    services,
)

ARGUMENTS = ("arg", "arg1", "arg2", "arg3", "text", "start", "length", "pattern", "replacement", "flags")
"""rdflib's names of the arguments of built-in functions, in their order."""

NAMES = {
    "ConditionalAndExpression": "&&",
    "ConditionalOrExpression": "||",
    "UnaryNot": "!",
    "UnaryPlus": "PLUS",
    "UnaryMinus": "MINUS",
}

AGGREGATES = {"GroupConcat": "GROUP_CONCAT"}

FORMS = {
    "SelectQuery": "SELECT",
    "AskQuery": "ASK",
    "ConstructQuery": "CONSTRUCT",
    "DescribeQuery": "DESCRIBE",
}


def is_prepared(query: object, kind: str) -> bool:
    """Whether an object is rdflib's ``Query`` or ``Update``, which is ``kind``."""
    return kind in _kinds_of(type(query))  # type: ignore[arg-type]  # mypy: a class may have no hash


@cache
def _kinds_of(given: Any) -> frozenset[str]:
    """The names of rdflib's SPARQL classes from which a class inherits."""
    return frozenset(
        [each.__name__ for each in given.__mro__ if each.__module__ == "rdflib.plugins.sparql.sparql"]
    )


def query_of(prepared: Any) -> Query:
    """A prepared query."""
    return _query(prepared.algebra, getattr(prepared.prologue, "base", None) or "")


def update_of(prepared: Any) -> tuple[UpdateOperation, ...]:
    """The operations of a prepared update."""
    base = getattr(getattr(prepared, "prologue", None), "base", None) or ""
    return tuple(_operation(part, base) for part in getattr(prepared, "algebra", ()))


def _query(main: Any, base: str) -> Query:
    if main.name not in FORMS:
        raise NotImplementedError(f"query form {main.name}")
    pattern = None if main.p is None else _operator(main.p)
    template = main.template
    if template is None and main.name == "ConstructQuery":
        inner = main.p
        while inner.name != "BGP":
            inner = inner.p
        template = inner.triples
    return Query(
        FORMS[main.name],
        pattern,
        tuple(main.PV or ()),
        _clauses(main.datasetClause),
        tuple(map(tuple, template or ())),
        base,
        services(pattern),
    )


def _clauses(clauses: Iterable[Any] | None) -> tuple[GraphClause, ...]:
    return tuple(GraphClause(each.default or each.named, not each.default) for each in clauses or ())


# Operators


def _operator(part: Any) -> Operator:
    """An operator and what is below it."""
    match part.name:
        case "BGP":
            return Triples(tuple(map(tuple, part.triples or ())))
        case "Join" | "Union" | "Minus":
            return _joined(part.name, _operator(part.p1), _operator(part.p2))
        case "LeftJoin":
            return LeftJoin(_operator(part.p1), _operator(part.p2), _condition(part.expr))
        case "Filter":
            condition = _condition(part.expr)
            inner = _operator(part.p)
            return inner if condition is None else Filter(inner, condition)
        case "Graph":
            return InGraph(_operator(part.p), part.term)
        case "ServiceGraphPattern":
            return Service(Triples(), part.term, bool(part.silent))
        case "Extend":
            return Extend(_operator(part.p), part.var, _expression(part.expr))
        case "ToMultiSet":
            return _table(part.p)
        case "AggregateJoin":
            keys = None if part.p.expr is None else tuple(map(_expression, part.p.expr))
            return Group(_operator(part.p.p), keys, tuple(map(_aggregate, part.A)))
    return _modifier(part)


def _modifier(part: Any) -> Operator:
    """An operator on a sequence of solutions."""
    match part.name:
        case "OrderBy":
            conditions = (OrderCondition(_expression(c.expr), c.order == "DESC") for c in part.expr)
            return OrderBy(_operator(part.p), tuple(conditions))
        case "Project":
            return Project(_operator(part.p), tuple(part.PV))
        case "Distinct" | "Reduced":
            return (Distinct if part.name == "Distinct" else Reduced)(_operator(part.p))
        case "Slice":
            return Slice(_operator(part.p), part.start, part.length)
    raise NotImplementedError(f"operator {part.name}")


def _joined(name: str, left: Operator, right: Operator) -> Operator:
    """An operator of two; without joins with the empty pattern, which rdflib leaves within EXISTS."""
    if name == "Join":
        return right if left == Triples() else Join(left, right)
    if name == "Minus":
        return Minus(left, right)
    return Union((*left.branches, right) if isinstance(left, Union) else (left, right))


def _table(part: Any) -> Operator:
    """A subquery or VALUES."""
    if isinstance(part, list):  # VALUES without a row
        return Values((), ())
    if part.name != "values":
        return Subquery(_operator(part))
    variables = tuple(dict.fromkeys(variable for row in part.res for variable in row))
    rows = (tuple(row.get(variable) for variable in variables) for row in part.res)
    return Values(variables, tuple(tuple(t if isinstance(t, Node) else None for t in row) for row in rows))


def _aggregate(part: Any) -> Aggregate:
    name = part.name.removeprefix("Aggregate_")
    argument = None if isinstance(part.vars, str) and part.vars == "*" else _expression(part.vars)
    separator = " " if part.separator is None else str(part.separator)
    return Aggregate(AGGREGATES.get(name, name.upper()), argument, part.res, bool(part.distinct), separator)


# Expressions


def _condition(part: Any) -> Expression | None:
    """A condition; None for the one that is always true."""
    return None if getattr(part, "name", "") == "TrueFilter" else _expression(part)


def _expression(part: Any) -> Expression:
    if isinstance(part, Node):
        return part
    name = part.name
    if name in ("Builtin_EXISTS", "Builtin_NOTEXISTS"):
        return Exists(_operator(part.graph), name == "Builtin_NOTEXISTS")
    if name == "Function":
        return FunctionCall(part.iri, _expressions(part.expr), bool(part.distinct))
    if name.startswith("Builtin_"):
        found = [argument for key in ARGUMENTS if (argument := dict.get(part, key)) is not None]
        own = {"URI": "IRI", "ISURI": "ISIRI"}
        keyword = name.removeprefix("Builtin_").upper()
        arguments = found[0] if found and isinstance(found[0], list) else found
        return Call(own.get(keyword, keyword), _expressions(arguments))
    others = _expressions(part.other)
    match name:
        case "RelationalExpression":
            return Call(part.op, (_expression(part.expr), *others))
        case "AdditiveExpression" | "MultiplicativeExpression":
            value = _expression(part.expr)
            for operator, other in zip(part.op, others, strict=True):
                value = Call(operator, (value, other))
            return value
    if name not in NAMES:
        raise NotImplementedError(f"expression {name}")
    return Call(NAMES[name], (_expression(part.expr), *others))


def _expressions(parts: Any) -> tuple[Expression, ...]:
    """Expressions in a list, or a single one."""
    if parts is None or (isinstance(parts, URIRef) and parts == RDF.nil):  # rdflib's list without members
        return ()
    if isinstance(parts, Node) or not isinstance(parts, list | tuple):
        return (_expression(parts),)
    return tuple(map(_expression, parts))


# Updates


def _operation(part: Any, base: str) -> UpdateOperation:
    is_silent = bool(part.silent)
    match part.name:
        case "InsertData":
            return InsertData(_quads(part))
        case "DeleteData":
            return DeleteData(_quads(part))
        case "DeleteWhere":
            quads = _quads(part)
            return Modify(pattern_of(quads), quads, base=base)
        case "Modify":
            deleted, inserted = _quads(part.delete), _quads(part.insert)
            graph, using = part.withClause or None, _clauses(part.using)
            return Modify(_operator(part.where), deleted, inserted, graph, using, base)
        case "Load":
            return Load(part.iri, part.graphiri or None, is_silent)
        case "Clear":
            return Clear(part.graphiri, is_silent)
        case "Drop":
            return Drop(part.graphiri, is_silent)
        case "Create":
            return Create(part.graphiri, is_silent)
        case "Add" | "Copy" | "Move":
            source, target = (None if end == "DEFAULT" else URIRef(end) for end in part.graph)
            return Transfer(part.name.upper(), source, target, is_silent)
    raise NotImplementedError(f"update operation {part.name}")


def _quads(template: Any) -> tuple[Quad, ...]:
    """The quads of a template."""
    if not template:
        return ()
    quads: list[Quad] = [(s, p, o, None) for s, p, o in template.triples or ()]
    for graph, triples in (template.quads or {}).items():
        quads += [(s, p, o, graph) for s, p, o in triples]
    return tuple(quads)
