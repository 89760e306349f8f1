"""Expressions as trees of calls: the one place that knows rdflib's names of operators and functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rdflib.plugins.sparql import operators
from rdflib.plugins.sparql.parserutils import CompValue, Expr
from rdflib.term import Literal, URIRef, Variable


@dataclass(frozen=True, slots=True)
class Call:
    """An operator by its symbol, or a function by its keyword in upper case."""

    name: str
    arguments: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A call of the function that an IRI names."""

    iri: URIRef
    arguments: tuple[Any, ...]


def call_of(node: Any) -> Any:
    """An expression as a tree of calls over terms; None for a part that is none of these."""
    if isinstance(node, Variable | Literal | URIRef):
        return node
    if not isinstance(node, Expr):
        return None
    get: Any = dict.get
    match node.name:
        case "ConditionalAndExpression" | "ConditionalOrExpression":
            name = "&&" if node.name == "ConditionalAndExpression" else "||"
            return Call(name, tuple(map(call_of, [get(node, "expr"), *get(node, "other")])))
        case "RelationalExpression":
            others = get(node, "other")
            listed = others if isinstance(others, list) else [others]
            return Call(get(node, "op"), tuple(map(call_of, [get(node, "expr"), *listed])))
        case "AdditiveExpression" | "MultiplicativeExpression":
            found = call_of(get(node, "expr"))
            for operator, other in zip(get(node, "op"), get(node, "other"), strict=True):
                found = Call(operator, (found, call_of(other)))
            return found
        case "UnaryNot" | "UnaryMinus":
            return Call({"UnaryNot": "!", "UnaryMinus": "MINUS"}[node.name], (call_of(get(node, "expr")),))
        case "Function":
            return FunctionCall(get(node, "iri"), tuple(map(call_of, get(node, "expr") or ())))
        case name if name.startswith("Builtin_"):
            parts = [part for key, part in node.items() if part is not None and key != "_vars"]
            listed = [p for part in parts for p in (part if isinstance(part, list) else [part])]
            if any(isinstance(p, CompValue) and not isinstance(p, Expr) for p in listed):
                return None  # EXISTS
            return Call(name.removeprefix("Builtin_").upper(), tuple(map(call_of, listed)))
    return None


def is_cast(iri: URIRef) -> bool:
    """Whether the function with this IRI is the cast to a datatype, and no function of the user."""
    function, _ = operators._CUSTOM_FUNCTIONS.get(iri, (None, False))
    return function is operators.default_cast
