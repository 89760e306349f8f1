"""Expressions of SPARQL (rules 68 to 72 and 110 to 128 of the grammar), as algebra."""

from __future__ import annotations

from abc import abstractmethod

from rdflib.term import URIRef, Variable

from corollary.sparql.algebra import Aggregate, Call, Exists, Expression, FunctionCall, Operator, conjunction
from corollary.sparql.parser.term_syntax import BOOLEANS, CONSTANTS, NUMBERS, TermParser

COMPARISONS = ("=", "!=", "<", ">", "<=", ">=")

FUNCTIONS: dict[str, tuple[int, int]] = {
    **dict.fromkeys(
        (
            *("STR", "LANG", "DATATYPE", "IRI", "URI", "ABS", "CEIL", "FLOOR", "ROUND", "STRLEN", "UCASE"),
            *("LCASE", "ENCODE_FOR_URI", "YEAR", "MONTH", "DAY", "HOURS", "MINUTES", "SECONDS", "TIMEZONE"),
            *("TZ", "MD5", "SHA1", "SHA256", "SHA384", "SHA512"),
            *("ISIRI", "ISURI", "ISBLANK", "ISLITERAL", "ISNUMERIC"),
        ),
        (1, 1),
    ),
    **dict.fromkeys(
        (
            *("LANGMATCHES", "CONTAINS", "STRSTARTS", "STRENDS", "STRBEFORE", "STRAFTER", "STRLANG"),
            *("STRDT", "SAMETERM"),
        ),
        (2, 2),
    ),
    **dict.fromkeys(("RAND", "NOW", "UUID", "STRUUID"), (0, 0)),
    "BNODE": (0, 1),
    "IF": (3, 3),
    "REGEX": (2, 3),
    "SUBSTR": (2, 3),
    "REPLACE": (3, 4),
}
"""By keyword: the least and the greatest number of arguments."""

OTHER_NAMES = {"URI": "IRI", "ISURI": "ISIRI"}
"""Functions with two names, of which the algebra has one."""

LISTS = ("CONCAT", "COALESCE")
"""Functions of any number of arguments."""

AGGREGATES = frozenset(("COUNT", "SUM", "MIN", "MAX", "AVG", "SAMPLE", "GROUP_CONCAT"))

CALLS = frozenset((*FUNCTIONS, *LISTS, *AGGREGATES, "BOUND", "EXISTS", "NOT"))
"""The keywords that begin a built-in call."""


class ExpressionParser(TermParser):
    """Reads expressions."""

    aggregates: list[Aggregate] | None = None
    """The aggregates read so far in this query or subquery; None where no aggregate may stand."""

    @abstractmethod
    def group(self) -> Operator:
        """A group graph pattern in braces, as algebra."""

    def expression(self) -> Expression:
        """An expression: disjunctions of conjunctions of comparisons of sums of products."""
        parts = [self._conjunction()]
        while self.accept("||"):
            parts.append(self._conjunction())
        return parts[0] if len(parts) == 1 else Call("||", tuple(parts))

    def constraint(self) -> Expression:
        """The condition of FILTER, HAVING and the like: in parentheses, or a call."""
        if self.word == "(":
            return self.bracketed()
        if self.word in CALLS:
            return self.call()
        iri = self.iri()
        if self.word != "(":
            self.fail_expecting("'(' with the arguments of the function")
        return self._function(iri)

    def bracketed(self) -> Expression:
        """An expression in parentheses."""
        self.expect("(")
        found = self.expression()
        self.expect(")")
        return found

    def _conjunction(self) -> Expression:
        parts = [self._comparison()]
        while self.accept("&&"):
            parts.append(self._comparison())
        return conjunction(parts)

    def _comparison(self) -> Expression:
        left = self._sum()
        if self.kind == "iri":  # cannot follow an operand
            self.split_iri()
        if self.word in COMPARISONS:
            return Call(self.advance(), (left, self._sum()))
        if self.word == "IN" or (self.word == "NOT" and self.follows("IN")):
            operator = "NOT IN" if self.accept("NOT") else "IN"
            self.expect("IN")
            return Call(operator, (left, *self._arguments()))
        return left

    def _sum(self) -> Expression:
        found = self._product()
        while self.word in ("+", "-"):
            found = Call(self.advance(), (found, self._product()))
        return found

    def _product(self) -> Expression:
        found = self._unary()
        while self.word in ("*", "/"):
            found = Call(self.advance(), (found, self._unary()))
        return found

    def _unary(self) -> Expression:
        word = self.word
        if word == "!":
            self.advance()
            return Call("!", (self._primary(),))
        if word in ("+", "-") and not (self.kinds[self.at + 1] in NUMBERS and self.touches()):
            self.advance()
            return Call("PLUS" if word == "+" else "MINUS", (self._primary(),))
        return self._primary()

    def _primary(self) -> Expression:
        if self.kind == "variable":
            return self.variable()
        if self.word == "(":
            return self.bracketed()
        if self.word in CALLS:
            return self.call()
        if self.kind in ("iri", "name") and self.follows("("):
            return self._function(self.iri())
        if self.kind in CONSTANTS:
            return self.constant()
        if self.word in BOOLEANS or self.word in ("+", "-"):
            return self.literal()
        return self.fail_expecting("an expression")

    def _function(self, iri: URIRef) -> FunctionCall:
        """A call of the function that an IRI names."""
        self.expect("(")
        is_distinct = self.accept("DISTINCT")
        arguments = [] if self.word == ")" and not is_distinct else self._expressions()
        self.expect(")")
        return FunctionCall(iri, tuple(arguments), is_distinct)

    def call(self) -> Expression:
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
            return Call("BOUND", (variable,))
        if word in LISTS:
            return Call(word, tuple(self._arguments()))
        least, most = FUNCTIONS[word]
        place = self.starts[self.at]
        arguments = self._arguments()
        if not least <= len(arguments) <= most:
            wanted = f"{least}" if least == most else f"{least} to {most}"
            self.fail(f"{word} takes {wanted} arguments, not {len(arguments)}", place=place)
        return Call(OTHER_NAMES.get(word, word), tuple(arguments))

    def _arguments(self) -> list[Expression]:
        """Expressions in parentheses, with commas between them."""
        self.expect("(")
        found = [] if self.word == ")" else self._expressions()
        self.expect(")")
        return found

    def _expressions(self) -> list[Expression]:
        found = [self.expression()]
        while self.accept(","):
            found.append(self.expression())
        return found

    def _exists(self) -> Exists:
        is_negated = self.accept("NOT")
        self.expect("EXISTS")
        aggregates, self.aggregates = self.aggregates, None
        pattern = self.group()
        self.aggregates = aggregates
        return Exists(pattern, is_negated)

    def _aggregate(self) -> Variable:
        """Read an aggregate, and add it to ``aggregates``. Returns the variable of its value."""
        if self.aggregates is None:
            where = "only SELECT, HAVING and ORDER BY may have aggregates, and no aggregate another one"
            self.fail(f"{self.word} is not allowed here", remedy=where)
        aggregates, self.aggregates = self.aggregates, None
        function = self.advance()
        self.expect("(")
        is_distinct = self.accept("DISTINCT")
        argument = None if function == "COUNT" and self.accept("*") else self.expression()
        separator = " "
        if function == "GROUP_CONCAT" and self.accept(";"):
            self.expect("SEPARATOR")
            self.expect("=")
            separator = self.text_of_string()
        self.expect(")")
        self.aggregates = aggregates
        result = Variable(f"__agg_{len(aggregates) + 1}__")
        aggregates.append(Aggregate(function, argument, result, is_distinct, separator))
        return result
