"""Expressions of SPARQL (rules 68 to 72 and 110 to 128 of the grammar), as rdflib's ``Expr``."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from rdflib.namespace import RDF
from rdflib.plugins.sparql import operators
from rdflib.plugins.sparql.parserutils import CompValue, Expr
from rdflib.term import Literal, URIRef, Variable

from corollary.sparql.parser.term_syntax import BOOLEANS, NUMBERS, STRINGS, TermParser

COMPARISONS = ("=", "!=", "<", ">", "<=", ">=")

ONE = ("arg",)
TWO = ("arg1", "arg2")
THREE = ("arg1", "arg2", "arg3")

FUNCTIONS: dict[str, tuple[str, tuple[str, ...], int]] = {
    **{
        name: (name, ONE, 1)
        for name in (
            *("STR", "LANG", "DATATYPE", "IRI", "URI", "ABS", "CEIL", "FLOOR", "ROUND", "STRLEN", "UCASE"),
            *("LCASE", "ENCODE_FOR_URI", "YEAR", "MONTH", "DAY", "HOURS", "MINUTES", "SECONDS", "TIMEZONE"),
            *("TZ", "MD5", "SHA1", "SHA256", "SHA384", "SHA512"),
        )
    },
    **{name.upper(): (name, ONE, 1) for name in ("isIRI", "isURI", "isBLANK", "isLITERAL", "isNUMERIC")},
    **{
        name.upper(): (name, TWO, 2)
        for name in (
            *("LANGMATCHES", "CONTAINS", "STRSTARTS", "STRENDS", "STRBEFORE", "STRAFTER", "STRLANG"),
            *("STRDT", "sameTerm"),
        )
    },
    **{name: (name, (), 0) for name in ("RAND", "NOW", "UUID", "STRUUID")},
    "BNODE": ("BNODE", ONE, 0),
    "IF": ("IF", THREE, 3),
    "REGEX": ("REGEX", ("text", "pattern", "flags"), 2),
    "SUBSTR": ("SUBSTR", ("arg", "start", "length"), 2),
    "REPLACE": ("REPLACE", ("arg", "pattern", "replacement", "flags"), 3),
}
"""By keyword: rdflib's name, the names of the arguments, and how many of them there must be."""

EVALUATED_AS = {"URI": "IRI", "isURI": "isIRI"}
"""Functions that rdflib evaluates by the function of another name."""

LISTS = ("CONCAT", "COALESCE")
"""Functions of any number of arguments."""

AGGREGATES = {
    "COUNT": "Count",
    "SUM": "Sum",
    "MIN": "Min",
    "MAX": "Max",
    "AVG": "Avg",
    "SAMPLE": "Sample",
    "GROUP_CONCAT": "GroupConcat",
}

CALLS = frozenset((*FUNCTIONS, *LISTS, *AGGREGATES, "BOUND", "EXISTS", "NOT"))
"""The keywords that begin a built-in call."""


def expression(name: str, evaluate: Callable[..., Any], **parts: Any) -> Expr:
    """An operator of rdflib with its operands."""
    return Expr(name, evaluate, **parts)


def conjunction(parts: list[Any]) -> Any:
    """The conjunction of at least one expression."""
    if len(parts) == 1:
        return parts[0]
    name = "ConditionalAndExpression"
    return expression(name, operators.ConditionalAndExpression, expr=parts[0], other=parts[1:])


class ExpressionParser(TermParser):
    """Reads expressions."""

    aggregates: list[CompValue] | None
    """The aggregates read so far in this query or subquery; None where no aggregate may stand."""

    @abstractmethod
    def group(self) -> CompValue:
        """A group graph pattern in braces, as algebra."""

    def expression(self) -> Any:
        """An expression: disjunctions of conjunctions of comparisons of sums of products."""
        parts = [self._conjunction()]
        while self.accept("||"):
            parts.append(self._conjunction())
        if len(parts) == 1:
            return parts[0]
        name = "ConditionalOrExpression"
        return expression(name, operators.ConditionalOrExpression, expr=parts[0], other=parts[1:])

    def constraint(self) -> Any:
        """The condition of FILTER, HAVING and the like: in parentheses, or a call."""
        if self.word == "(":
            return self.bracketed()
        if self.word in CALLS:
            return self.call()
        iri = self.iri()
        if self.word != "(":
            self.fail_expecting("'(' with the arguments of the function")
        return self._function(iri)

    def bracketed(self) -> Any:
        """An expression in parentheses."""
        self.expect("(")
        found = self.expression()
        self.expect(")")
        return found

    def _conjunction(self) -> Any:
        parts = [self._comparison()]
        while self.accept("&&"):
            parts.append(self._comparison())
        return conjunction(parts)

    def _comparison(self) -> Any:
        left = self._sum()
        other: Any
        if self.kind == "iri":  # cannot follow an operand
            self.split_iri()
        if self.word in COMPARISONS:
            operator, other = self.advance(), self._sum()
        elif self.word == "IN" or (self.word == "NOT" and self.follows("IN")):
            operator = "NOT IN" if self.accept("NOT") else "IN"
            self.expect("IN")
            other = self._arguments() or RDF.nil
        else:
            return left
        name = "RelationalExpression"
        return expression(name, operators.RelationalExpression, expr=left, op=operator, other=other)

    def _sum(self) -> Any:
        first, signs, others = self._product(), [], []
        while self.word in ("+", "-"):
            signs.append(self.advance())
            others.append(self._product())
        if not others:
            return first
        name = "AdditiveExpression"
        return expression(name, operators.AdditiveExpression, expr=first, op=signs, other=others)

    def _product(self) -> Any:
        first, signs, others = self._unary(), [], []
        while self.word in ("*", "/"):
            signs.append(self.advance())
            others.append(self._unary())
        if not others:
            return first
        name = "MultiplicativeExpression"
        return expression(name, operators.MultiplicativeExpression, expr=first, op=signs, other=others)

    def _unary(self) -> Any:
        word = self.word
        if word == "!":
            self.advance()
            return expression("UnaryNot", operators.UnaryNot, expr=self._primary())
        if word in ("+", "-") and not (self.kinds[self.at + 1] in NUMBERS and self.touches()):
            self.advance()
            name, evaluate = (
                ("UnaryPlus", operators.UnaryPlus)
                if word == "+"
                else (
                    "UnaryMinus",
                    operators.UnaryMinus,
                )
            )
            return expression(name, evaluate, expr=self._primary())
        return self._primary()

    def _primary(self) -> Any:
        if self.kind == "variable":
            return self.variable()
        if self.word == "(":
            return self.bracketed()
        if self.word in CALLS:
            return self.call()
        if self.kind in ("iri", "name"):
            iri = self.iri()
            return self._function(iri) if self.word == "(" else iri
        if self.kind in NUMBERS or self.kind in STRINGS or self.word in BOOLEANS or self.word in ("+", "-"):
            return self.literal()
        return self.fail_expecting("an expression")

    def _function(self, iri: URIRef) -> Expr:
        """A call of the function that an IRI names."""
        self.expect("(")
        distinct = "DISTINCT" if self.accept("DISTINCT") else None
        arguments = [] if self.word == ")" and distinct is None else self._expressions()
        self.expect(")")
        return expression("Function", operators.Function, iri=iri, distinct=distinct, expr=arguments)

    def call(self) -> Any:
        """A call of a built-in function or an aggregate."""
        word = self.word
        if word in AGGREGATES:
            return self._aggregate()
        if word in ("EXISTS", "NOT"):
            return self._exists()
        self.advance()
        if word == "BOUND":
            self.expect("(")
            variable = self.variable()
            self.expect(")")
            return expression("Builtin_BOUND", operators.Builtin_BOUND, arg=variable)
        if word in LISTS:
            return expression(f"Builtin_{word}", getattr(operators, f"Builtin_{word}"), arg=self._arguments())
        name, parameters, least = FUNCTIONS[word]
        place = self.starts[self.at]
        arguments = self._arguments()
        if not least <= len(arguments) <= len(parameters):
            most = len(parameters)
            wanted = f"{least}" if least == most else f"{least} to {most}"
            self.fail(f"{word} takes {wanted} arguments, not {len(arguments)}", place=place)
        evaluate = getattr(operators, f"Builtin_{EVALUATED_AS.get(name, name)}")
        return expression(f"Builtin_{name}", evaluate, **dict(zip(parameters, arguments, strict=False)))

    def _arguments(self) -> list[Any]:
        """Expressions in parentheses, with commas between them."""
        self.expect("(")
        found = [] if self.word == ")" else self._expressions()
        self.expect(")")
        return found

    def _expressions(self) -> list[Any]:
        found = [self.expression()]
        while self.accept(","):
            found.append(self.expression())
        return found

    def _exists(self) -> Expr:
        is_negated = self.accept("NOT")
        self.expect("EXISTS")
        aggregates, self.aggregates = self.aggregates, None
        graph = self.group()
        self.aggregates = aggregates
        name = "Builtin_NOTEXISTS" if is_negated else "Builtin_EXISTS"
        return expression(name, operators.Builtin_EXISTS, graph=graph)

    def _aggregate(self) -> Variable:
        """An aggregate, which becomes a variable: its value for each group."""
        if self.aggregates is None:
            where = "only SELECT, HAVING and ORDER BY may have aggregates, and no aggregate another one"
            self.fail(f"{self.word} is not allowed here", remedy=where)
        aggregates, self.aggregates = self.aggregates, None
        word = self.advance()
        self.expect("(")
        found = CompValue(f"Aggregate_{AGGREGATES[word]}")
        found["distinct"] = "DISTINCT" if self.accept("DISTINCT") else None
        if word == "COUNT" and self.accept("*"):
            found["vars"] = "*"
        else:
            found["vars"] = self.expression()
        if word == "GROUP_CONCAT" and self.accept(";"):
            self.expect("SEPARATOR")
            self.expect("=")
            found["separator"] = Literal(self.text_of_string())
        self.expect(")")
        self.aggregates = aggregates
        aggregates.append(found)
        found["res"] = Variable(f"__agg_{len(aggregates)}__")
        return found["res"]  # type: ignore[no-any-return]
