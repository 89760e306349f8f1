"""Rules -> text. Inverse to the parser: parsing the printed text gives an equal program.

A rule is printed on one line if it has at most ``MAX_CHARACTERS_ON_A_LINE``, else on one for each head and
body element.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable

from corollary.language.constants import PREDECLARED, constant_text, escape
from corollary.language.functions import FUNCTIONS
from corollary.language.model import (
    IRI,
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
    Constant,
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
from corollary.language.tuning import MAX_CHARACTERS_ON_A_LINE
from corollary.language.variables import occurrences

Prefixes = Iterable[tuple[str, str]]

_PREFIX = re.compile(r"(?:[^\W\d_](?:[\w.\-]*[\w\-])?)?")
_LOCAL = re.compile(r"\w(?:[\w.\-]*[\w\-])?")
_NOT_IN_IRI = re.compile(r'[<>"{}|^`\\\x00-\x20\x7f]')
_UNSEEN = re.compile(r"[\x80-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Controls of terminals, and of the direction of texts."""

ABBREVIATED = {
    XSD + "integer": re.compile(r"[+-]?[0-9]+"),
    XSD + "decimal": re.compile(r"[+-]?[0-9]*\.[0-9]+"),
    XSD + "double": re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)[eE][+-]?[0-9]+"),
    XSD + "boolean": re.compile(r"true|false"),
}
"""Datatype -> the lexical forms that are printed without quotes."""

_PRECEDENCE = {
    "||": 1,
    "&&": 2,
    **dict.fromkeys(("=", "!=", "<", "<=", ">", ">=", "in", "not in"), 3),
    **dict.fromkeys("+-", 4),
    **dict.fromkeys("*/", 5),
}
"""Binary operator -> precedence; higher is tighter. Comparisons do not associate, others do to the left."""


def format_rule(rule: Rule, prefixes: Prefixes = ()) -> str:
    """The text of one rule, without its name. IRIs are shortened by ``prefixes``."""
    return Printer(prefixes).rule(rule)


def format_element(element: BodyElement, prefixes: Prefixes = ()) -> str:
    """The text of one body element. IRIs are shortened by ``prefixes``."""
    return Printer(prefixes).element(element, ())


def format_constant(constant: Constant, prefixes: Prefixes = ()) -> str:
    """The text of a constant in the rule language. IRIs are shortened by ``prefixes``."""
    return Printer(prefixes).term(constant)


class Printer:
    """Prints with one set of prefixes and records in ``used`` which of them occur."""

    def __init__(self, prefixes: Prefixes) -> None:
        declared = {
            prefix: namespace
            for prefix, namespace in prefixes
            if _PREFIX.fullmatch(prefix) and ":" in namespace
        }
        table = PREDECLARED | declared
        self.namespaces = sorted(table.items(), key=lambda item: -len(item[1]))
        self.used: set[tuple[str, str]] = set()
        self.names: dict[IRI, str] = {}

    def header(self) -> list[str]:
        """The declarations of the prefixes used so far; predeclared prefixes need none."""
        needed = sorted(self.used - PREDECLARED.items())
        return [f"PREFIX {prefix}: <{_iri_escaped(namespace)}>" for prefix, namespace in needed]

    def rule(self, rule: Rule) -> str:
        parts = (*rule.heads, *rule.body)
        count = Counter(variable for part in parts for variable in set(occurrences(part)))
        once = {variable for variable, times in count.items() if times == 1}
        heads = [self.triple(head) for head in rule.heads] or ["false"]
        body = [self.element(element, once) for element in rule.body]
        line = f"{', '.join(heads)} :- {', '.join(body)} ." if body else f"{', '.join(heads)} ."
        if len(line) <= MAX_CHARACTERS_ON_A_LINE:
            return line
        head = ",\n".join(heads)
        return f"{head} :-\n    " + ",\n    ".join(body) + " ." if body else f"{head} ."

    # body elements

    def element(self, element: BodyElement, once: Container[Variable]) -> str:
        """One body element. ``once`` are the variables that occur in only one element or head of the rule."""
        match element:
            case Triple() | Builtin():
                return self.atom(element)
            case Each(item, list_, atoms):
                return f"EACH ?{item.name} IN {self.term(list_)} ({self.atoms(atoms)})"
            case Chain(list_, start, end):
                return f"CHAIN({self.term(list_)}, {self.term(start)}, {self.term(end)})"
            case Pair(list_, first, second):
                return f"PAIR({self.term(list_)}, {self.term(first)}, {self.term(second)})"
            case Not():
                return self.negation(element, once)
            case Filter() | Bind():
                return self.computed(element)
            case Aggregate():
                return self.aggregate(element)

    def atom(self, atom: Triple | Builtin) -> str:
        if isinstance(atom, Triple):
            return self.triple(atom)
        return f"{atom.name}({', '.join(map(self.term, atom.arguments))})"

    def atoms(self, atoms: Iterable[Triple | Builtin]) -> str:
        return ", ".join(map(self.atom, atoms))

    def triple(self, triple: Triple) -> str:
        subject, predicate, object_ = triple.terms
        if predicate != RDF_TYPE:
            return f"[{self.term(subject)}, {self.term(predicate)}, {self.term(object_)}]"
        if isinstance(object_, IRI):
            return f"{self.iri(object_)}[{self.term(subject)}]"
        return f"[{self.term(subject)}, a, {self.term(object_)}]"

    def negation(self, negation: Not, once: Container[Variable]) -> str:
        """``NOT``, or ``NOT EXISTS`` if variables occur in no other part of the rule."""
        local = [f"?{v.name}" for v in dict.fromkeys(occurrences(negation)) if v in once]
        atoms = self.atoms(negation.atoms)
        if local:
            return f"NOT EXISTS {', '.join(local)} IN ({atoms})"
        return f"NOT {atoms}" if len(negation.atoms) == 1 else f"NOT ({atoms})"

    def computed(self, element: Filter | Bind) -> str:
        if isinstance(element, Filter):
            return f"FILTER({self.expression(element.expression)})"
        return f"BIND({self.expression(element.expression)} AS ?{element.variable.name})"

    def aggregate(self, aggregate: Aggregate) -> str:
        parts = [
            ", ".join(
                self.triple(inner) if isinstance(inner, Triple) else self.computed(inner)
                for inner in aggregate.body
            )
        ]
        if aggregate.group:
            parts.append(f"ON {' '.join(f'?{variable.name}' for variable in aggregate.group)}")
        parts += map(self.aggregation, aggregate.bindings)
        return f"AGGREGATE({' '.join(parts)})"

    def aggregation(self, binding: AggregateBinding) -> str:
        argument = "*" if binding.argument is None else self.expression(binding.argument)
        distinct = "DISTINCT " if binding.distinct else ""
        return f"BIND {binding.function}({distinct}{argument}) AS ?{binding.variable.name}"

    # expressions and terms

    def expression(self, expression: Expression, least: int = 0) -> str:
        """The expression, in parentheses if the precedence of its operator is less than ``least``."""
        if not isinstance(expression, Call):
            return self.term(expression)
        function, arguments = expression.function, expression.arguments
        if function in ("!", "+", "-") and len(arguments) == 1:
            return f"{function}{self.operand(arguments[0])}"
        level = _PRECEDENCE.get(function)
        if level is None:
            return f"{function}({', '.join(map(self.expression, arguments))})"
        first, *rest = arguments
        left = self.expression(first, level + (level == 3))
        if function in ("in", "not in"):
            text = f"{left} {function.upper()} ({', '.join(map(self.expression, rest))})"
        else:
            text = f" {function} ".join([left, *(self.expression(right, level + 1) for right in rest)])
        return f"({text})" if level < least else text

    def operand(self, operand: Expression) -> str:
        """The operand of a sign or ``!``. Parentheses for all but simple ones: ``-5`` would be a number."""
        text = self.expression(operand)
        is_simple = isinstance(operand, Variable) or (
            isinstance(operand, Call) and operand.function in FUNCTIONS
        )
        return text if is_simple else f"({text})"

    def term(self, term: Term) -> str:
        match term:
            case Variable(name):
                return f"?{name}"
            case IRI():
                return self.iri(term)
            case BlankNode():
                return constant_text(term)
            case Literal(lexical, datatype, language):
                if datatype is None:
                    quoted = f'"{_visible(escape(lexical))}"'
                    return f"{quoted}@{language}" if language else quoted
                if (form := ABBREVIATED.get(datatype)) and form.fullmatch(lexical):
                    return lexical
                return f'"{_visible(escape(lexical))}"^^{self.iri(IRI(datatype))}'

    def iri(self, iri: IRI) -> str:
        name = self.names.get(iri)
        if name is None:
            name = self.names[iri] = self._shortened(iri.value) or f"<{_visible(_iri_escaped(iri.value))}>"
        return name

    def _shortened(self, value: str) -> str | None:
        for prefix, namespace in self.namespaces:
            if value.startswith(namespace) and _LOCAL.fullmatch(value, len(namespace)):
                self.used.add((prefix, namespace))
                return f"{prefix}:{value[len(namespace) :]}"
        return None


def _visible(text: str) -> str:
    """The text with escapes for characters that a terminal obeys instead of showing them."""
    return text if text.isascii() else _UNSEEN.sub(lambda match: f"\\u{ord(match[0]):04X}", text)


def _iri_escaped(value: str) -> str:
    """The IRI, with ``\\uXXXX`` for characters that the grammar does not allow between angle brackets."""
    return _NOT_IN_IRI.sub(lambda match: f"\\u{ord(match[0]):04X}", value)
