"""Syntax tree (lark) -> rules.

Errors are appended to ``Builder.diagnostics`` and building continues, so that one pass reports every unknown
prefix. The program is valid only if ``diagnostics`` is empty.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import count
from typing import TYPE_CHECKING, TypeAlias, cast

from corollary.language.constants import PREDECLARED, literal, unescape
from corollary.language.errors import Diagnostic, Span
from corollary.language.functions import FUNCTIONS
from corollary.language.hints import did_you_mean
from corollary.language.model import (
    BUILTIN_NAMES,
    IRI,
    LIST_PATTERNS,
    RDF_TYPE,
    XSD,
    Aggregate,
    AggregateBinding,
    Bind,
    BlankNode,
    BodyElement,
    Builtin,
    Call,
    Chain,
    Each,
    Expression,
    Filter,
    Literal,
    Not,
    Pair,
    Rule,
    Term,
    Triple,
    Variable,
)
from corollary.language.program import Program
from corollary.language.tuning import MAX_NESTED_OPERATORS
from corollary.language.variables import occurrences, substitute_element

if TYPE_CHECKING:
    from lark import Token, Tree

    Branch: TypeAlias = Tree[Token]
    Node: TypeAlias = Branch | Token

_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")
_NUMBER_TYPES = {"INTEGER": XSD + "integer", "DECIMAL": XSD + "decimal", "DOUBLE": XSD + "double"}


def span_of(place: Node, source: str, lines: Sequence[str]) -> Span:
    """The place where a token or branch begins."""
    at = place if isinstance(place, str) else place.meta
    line, column = at.line or 1, at.column or 1
    return Span(source, line, column, lines[line - 1].rstrip("\r").replace("\t", " "))


class Builder:
    """Builds one program from the syntax tree of one text."""

    def __init__(self, source: str, lines: Sequence[str]) -> None:
        self.source = source
        self.lines = lines
        self.prefixes = dict(PREDECLARED)
        self.declared: dict[str, str] = {}
        self.unknown_prefixes: set[str] = set()
        self.diagnostics: list[Diagnostic] = []
        self.depth = 0

    def complain(self, message: str, place: Node, remedy: str = "") -> None:
        self.diagnostics.append(Diagnostic(message, span_of(place, self.source, self.lines), remedy))

    def program(self, tree: Branch) -> Program:
        rules = []
        for statement in _branches(tree):
            if statement.data == "prefix":
                self.prefix(statement)
            else:
                rules.append(self.rule(statement))
        return Program(tuple(rules), tuple(self.declared.items()))

    def prefix(self, tree: Branch) -> None:
        name, iri = _tokens(tree)[:2]
        self.prefixes[name[:-1]] = self.declared[name[:-1]] = self.iri(iri).value

    def rule(self, tree: Branch) -> Rule:
        clause = _branches(tree)[-1]
        name = _tokens(tree)[0].split()[1] if _tokens(tree) else ""
        heads: tuple[Triple, ...] = ()
        body: list[BodyElement] = []
        existential: dict[int, set[Variable]] = {}
        for part in _branches(clause):
            if part.data == "head":
                heads = tuple(map(self.triple, _branches(part)))
                continue
            for element in _branches(part):
                if element.data == "negation" and (named := _find(element, "exists")):
                    existential[len(body)] = set(map(_variable, _tokens(named)))
                body.append(self.element(element))
        _rename_apart(heads, body, existential)
        return Rule(heads, tuple(body), name, span_of(clause, self.source, self.lines))

    # body elements

    def element(self, tree: Branch) -> BodyElement:
        match tree.data:
            case "builtin":
                return self.builtin(tree)
            case "each":
                item, list_, *atoms = tree.children
                triples = tuple(self.triple(_branch(atom)) for atom in atoms)
                return Each(_variable(item), self.term(list_), triples)
            case "negation":
                negated = [branch for branch in _branches(tree) if branch.data != "exists"]
                return Not(tuple(map(self.negated, negated)))
            case "filter":
                return Filter(self.expression(tree.children[0]))
            case "bind":
                value, variable = tree.children
                return Bind(self.expression(value), _variable(variable))
            case "aggregate":
                return self.aggregate(tree)
            case _:
                return self.triple(tree)

    def triple(self, tree: Branch) -> Triple:
        terms = [self.term(child) for child in tree.children]
        if tree.data == "class_atom":
            return Triple(terms[1], RDF_TYPE, terms[0])
        if tree.data == "property_atom":
            return Triple(terms[1], terms[0], terms[2])
        return Triple(terms[0], terms[1], terms[2])

    def builtin(self, tree: Branch) -> Builtin | Chain | Pair:
        token = cast("Token", tree.children[0])
        name = token.upper()
        terms = [self.term(child) for child in tree.children[1:]]
        pattern = LIST_PATTERNS.get(name)
        if pattern is None and name not in BUILTIN_NAMES:
            known = (*BUILTIN_NAMES, *LIST_PATTERNS)
            remedy = did_you_mean(name, known) or f"the builtins are {', '.join(known)}"
            if token.lower() in FUNCTIONS:
                remedy = f"functions stand in FILTER(...) or BIND(... AS ?variable): FILTER({token}(...))"
            self.complain(f"{token} is not a builtin", token, remedy)
        elif len(terms) != (expected := 3 if pattern else 2):
            self.complain(f"{name} takes {expected} terms, here are {len(terms)}", token)
        first, second, third = (*terms, *[Variable("_")] * 2)[:3]
        return pattern(first, second, third) if pattern else Builtin(name, (first, second))

    def negated(self, tree: Branch) -> Triple | Builtin:
        atom = self.builtin(tree) if tree.data == "builtin" else self.triple(tree)
        match atom:
            case Chain(_, first, second):
                name, derived = "CHAIN", "path"
            case Pair(_, first, second):
                name, derived = "PAIR", "pair"
            case _:
                return atom
        remedy = f"derive the {derived} with a rule of its own, and negate that"
        self.complain(f"{name} cannot be negated", tree, remedy)
        return Builtin(name, (first, second))

    def aggregate(self, tree: Branch) -> Aggregate:
        grouped, *rest = _branches(tree)
        body = tuple(cast("Triple | Filter | Bind", self.element(branch)) for branch in _branches(grouped))
        group: tuple[Variable, ...] = ()
        bindings = []
        for part in rest:
            if part.data == "group":
                group = tuple(map(_variable, _tokens(part)))
            else:
                bindings.append(self.aggregation(part))
        return Aggregate(body, group, tuple(bindings))

    def aggregation(self, tree: Branch) -> AggregateBinding:
        function, *rest, argument, variable = tree.children
        star = isinstance(argument, str) and argument.type == "STAR"
        return AggregateBinding(
            str(function).lower(),
            None if star else self.expression(argument),
            _variable(variable),
            distinct=bool(rest),
        )

    # expressions and terms

    def expression(self, node: Node) -> Expression:
        if isinstance(node, str) or node.data in ("tagged", "typed"):
            return self.term(node)
        if self.depth == MAX_NESTED_OPERATORS:
            remedy = "list values with IN (...), or spread the test over several rules"
            self.complain(f"more than {MAX_NESTED_OPERATORS} operators lie within each other", node, remedy)
            return RDF_TYPE
        self.depth += 1
        call = self.call(node.data, node.children)
        self.depth -= 1
        return call

    def call(self, kind: str, children: Sequence[Node]) -> Call:
        match kind:
            case "operation":
                left, operator, right = children
                return Call(str(operator), (self.expression(left), self.expression(right)))
            case "unary":
                operator, operand = children
                return Call(str(operator), (self.expression(operand),))
            case "membership":
                value, *rest = children
                negated = bool(rest) and isinstance(rest[0], str) and rest[0].type == "NOT_IN"
                items = (value, *rest[negated:])
                return Call("not in" if negated else "in", tuple(map(self.expression, items)))
            case _:
                return Call(str(children[0]).lower(), tuple(map(self.expression, children[1:])))

    def term(self, node: Node) -> Term:
        if not isinstance(node, str):
            text, kind = cast("list[Token]", node.children)
            if node.data == "tagged":
                return literal(self.string(text), language=kind[1:])
            return literal(self.string(text), self.iri(kind).value)
        match node.type:
            case "VARIABLE":
                return _variable(node)
            case "A":
                return RDF_TYPE
            case "BLANK_NODE":
                return BlankNode(node[2:])
            case "STRING":
                return Literal(self.string(node))
            case "TRUE" | "FALSE":
                return Literal(node.lower(), XSD + "boolean")
            case "IRIREF" | "PNAME":
                return self.iri(node)
            case number:
                return Literal(str(node), _NUMBER_TYPES[number])

    def string(self, token: Token) -> str:
        return self.unescaped(token[1:-1], token)

    def unescaped(self, text: str, token: Token) -> str:
        try:
            return unescape(text)
        except ValueError as error:
            self.complain(str(error), token, r"the escapes are \t \b \n \r \f \" \' \\ \uXXXX \UXXXXXXXX")
            return text

    def iri(self, token: Token) -> IRI:
        if token.type == "IRIREF":
            value = self.unescaped(token[1:-1], token)
            if not _ABSOLUTE.match(value):
                self.complain(
                    f"{token} is not an absolute IRI", token, "begin it with its scheme, such as http:"
                )
            return IRI(value)
        prefix, _, local = token.partition(":")
        namespace = self.prefixes.get(prefix)
        if namespace is None:
            self.unknown_prefix(prefix, token)
            namespace = ""
        return IRI(namespace + re.sub(r"\\(.)", r"\1", local))

    def unknown_prefix(self, prefix: str, token: Token) -> None:
        if prefix in self.unknown_prefixes:
            return
        self.unknown_prefixes.add(prefix)
        guess = did_you_mean(prefix, filter(None, self.prefixes), "{}:".format)
        declare = f"declare it before its first use: PREFIX {prefix}: <...>"
        self.complain(
            f"unknown prefix {prefix}:", token, f"{guess} Otherwise {declare}" if guess else declare
        )


def _rename_apart(
    heads: tuple[Triple, ...], body: list[BodyElement], existential: dict[int, set[Variable]]
) -> None:
    """Rename, in ``body``, the variables after EXISTS that also occur elsewhere in the rule.

    In the model a variable of ``Not`` is existential if it occurs in no other part of the rule. Example:
    ``:C[?y] :- [?x, :q, ?y], NOT EXISTS ?y IN [?x, :p, ?y]`` gets ``NOT [?x, :p, ?y_1]``.
    """
    taken = {variable for part in (*heads, *body) for variable in occurrences(part)}
    for position, named in existential.items():
        others = body[:position] + body[position + 1 :]
        elsewhere = {variable for part in (*heads, *others) for variable in occurrences(part)}
        renamed: dict[Variable, Term] = {}
        for variable in sorted(named & elsewhere):
            fresh = next(new for i in count(1) if (new := Variable(f"{variable.name}_{i}")) not in taken)
            renamed[variable] = fresh
            taken.add(fresh)
        body[position] = substitute_element(body[position], renamed)


def _variable(node: Node) -> Variable:
    assert isinstance(node, str)
    return Variable(node[1:])


def _branch(node: Node) -> Branch:
    assert not isinstance(node, str)
    return node


def _branches(tree: Branch) -> list[Branch]:
    return [child for child in tree.children if not isinstance(child, str)]


def _tokens(tree: Branch) -> list[Token]:
    return [child for child in tree.children if isinstance(child, str)]


def _find(tree: Branch, data: str) -> Branch | None:
    return next((branch for branch in _branches(tree) if branch.data == data), None)
