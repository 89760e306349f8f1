"""Group graph patterns of SPARQL (rules 53 to 67 of the grammar), translated to algebra as they are read.

As section 18.2 of the recommendation says, with two simplifications: a join with the empty pattern is left
out, and triples with only filters between them are one basic graph pattern.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field

from rdflib.term import Node, Variable

from corollary.sparql.algebra import (
    Expression,
    Extend,
    Filter,
    InGraph,
    Join,
    LeftJoin,
    Minus,
    Operator,
    Service,
    Subquery,
    Triple,
    Triples,
    Union,
    Values,
    conjunction,
)
from corollary.sparql.parser.expression_syntax import ExpressionParser
from corollary.sparql.parser.term_syntax import PATHS

Scope = dict[Variable, None]
"""The variables that a pattern may bind, in the order of their first occurrence."""


@dataclass
class Block:
    """A group graph pattern that is being read: its algebra so far, its conditions, and its variables."""

    pattern: Operator = field(default_factory=Triples)
    triples: list[Triple] = field(default_factory=list)
    conditions: list[Expression] = field(default_factory=list)
    scope: Scope = field(default_factory=dict)

    def flush(self) -> None:
        """End the present basic graph pattern."""
        if self.triples:
            triples, self.triples = self.triples, []
            self.join(Triples(tuple(triples)), ())

    def join(self, part: Operator, variables: Iterable[Variable]) -> None:
        """Join with a further part that may bind some variables."""
        self.flush()
        self.scope.update(dict.fromkeys(variables))
        if is_empty(self.pattern):
            self.pattern = part
        elif not is_empty(part):
            self.pattern = Join(self.pattern, part)

    def algebra(self) -> Operator:
        """The pattern with its conditions."""
        return Filter(self.pattern, conjunction(self.conditions)) if self.conditions else self.pattern


def is_empty(part: Operator) -> bool:
    """Whether a part of the algebra is the empty pattern."""
    return isinstance(part, Triples) and not part.triples


class PatternParser(ExpressionParser):
    """Reads group graph patterns."""

    patterns: int = 0
    """The number of basic graph patterns so far."""

    @abstractmethod
    def subquery(self) -> tuple[Operator, list[Variable]]:
        """A SELECT within a pattern, as algebra, and the variables that it projects."""

    def group(self) -> Operator:
        """The pattern of EXISTS. Its variables are not in scope outside."""
        pattern = self.pattern
        found = self.read_group().algebra()
        self.pattern = pattern  # a filter does not end a basic graph pattern
        return found

    def read_group(self) -> Block:
        """A group graph pattern in braces."""
        self.expect("{")
        group = Block()
        if self.word == "SELECT":
            algebra, variables = self.subquery()
            group.join(Subquery(algebra), variables)
        else:
            self._parts(group)
        self._begin_pattern()
        self.expect("}")
        return group

    def _begin_pattern(self) -> None:
        self.patterns += 1
        self.pattern = self.patterns

    def _parts(self, group: Block) -> None:
        """The parts of a group, up to its closing brace."""
        self._begin_pattern()
        is_after_triples = False
        while self.word != "}":
            if self.at_term() or self.word in ("(", "["):
                if is_after_triples:
                    self.fail_expecting("'.', or a keyword such as FILTER, or '}'")
                triples = self.triples(self.path_verb)
                group.triples += triples
                group.scope.update(dict.fromkeys(variables_of(triples)))
                is_after_triples = self.words[self.at - 1] != "."
                continue
            if self.word != "FILTER":
                group.flush()
                self._begin_pattern()
            self._part(group)
            self.accept(".")
            is_after_triples = False
        group.flush()

    def _part(self, group: Block) -> None:
        """One part that is no triples block."""
        match self.word:
            case "FILTER":
                self.advance()
                group.conditions.append(self.constraint())
            case "OPTIONAL":
                self.advance()
                inner = self.read_group()
                condition = conjunction(inner.conditions) if inner.conditions else None
                group.scope.update(inner.scope)
                group.pattern = LeftJoin(group.pattern, inner.pattern, condition)
            case "MINUS":
                self.advance()
                group.pattern = Minus(group.pattern, self.read_group().algebra())
            case "{":
                self._unions(group)
            case "GRAPH":
                self._graph(group)
            case "SERVICE":
                self._service(group)
            case "VALUES":
                self.advance()
                group.join(*self.values())
            case "BIND":
                self._bind(group)
            case _:
                self._fail_at_part()

    def _fail_at_part(self) -> None:
        if self.kind == "end":
            self.fail_expecting("'}'")
        if self.word in PATHS or self.kind == "language":
            self.fail_expecting("a term")
        self.fail_expecting("a triple, a keyword such as FILTER or OPTIONAL, or '}'")

    def _unions(self, group: Block) -> None:
        inner = self.read_group()
        branches, scope = [inner.algebra()], dict(inner.scope)
        while self.accept("UNION"):
            other = self.read_group()
            branches.append(other.algebra())
            scope |= other.scope
        group.join(branches[0] if len(branches) == 1 else Union(tuple(branches)), scope)

    def _graph(self, group: Block) -> None:
        self.advance()
        term = self.variable_or_iri()
        inner = self.read_group()
        own = [term] if isinstance(term, Variable) else []
        group.join(InGraph(inner.algebra(), term), [*own, *inner.scope])

    def _service(self, group: Block) -> None:
        self.advance()
        is_silent = self.accept("SILENT")
        term = self.variable_or_iri()
        inner = self.read_group()
        own = [term] if isinstance(term, Variable) else []
        group.join(Service(inner.algebra(), term, is_silent), [*own, *inner.scope])

    def _bind(self, group: Block) -> None:
        self.advance()
        self.expect("(")
        value = self.expression()
        self.expect("AS")
        place = self.starts[self.at]
        variable = self.variable()
        if variable in group.scope:
            self.fail(f"BIND: {variable.n3()} has a value already", "bind another variable", place)
        self.expect(")")
        group.pattern = Extend(group.pattern, variable, value)
        group.scope[variable] = None

    def values(self) -> tuple[Operator, list[Variable]]:
        """The table of VALUES, as algebra, and its variables."""
        rows: list[tuple[Node | None, ...]] = []
        if self.kind == "variable":
            variables = [self.variable()]
            self.expect("{")
            while not self.accept("}"):
                rows.append((self._value(),))
        else:
            variables = []
            self.expect("(")
            while not self.accept(")"):
                if self.kind == "variable" and Variable(self.word[1:]) in variables:
                    self.fail(f"VALUES: {self.word} stands here twice")
                variables.append(self.variable())
            self.expect("{")
            while not self.accept("}"):
                rows.append(self._row(variables))
        return Values(tuple(variables), tuple(rows)), variables

    def _row(self, variables: list[Variable]) -> tuple[Node | None, ...]:
        place = self.starts[self.at]
        self.expect("(")
        terms = []
        while not self.accept(")"):
            terms.append(self._value())
        if len(terms) != len(variables):
            self.fail(f"VALUES: {len(terms)} values for {len(variables)} variables", place=place)
        return tuple(terms)

    def _value(self) -> Node | None:
        """A term; None for UNDEF."""
        if self.accept("UNDEF"):
            return None
        return self.constant()


def variables_of(triples: Iterable[Triple]) -> Iterable[Variable]:
    """The variables in triples, in order."""
    terms: Iterable[Node] = (term for triple in triples for term in triple)
    return (term for term in terms if isinstance(term, Variable))
