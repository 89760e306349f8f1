"""Group graph patterns of SPARQL (rules 53 to 67 of the grammar), translated to algebra as they are read.

The algebra is rdflib's (section 18.2 of the recommendation), with two simplifications: a join with the empty
pattern is left out, and triples with only filters between them are one basic graph pattern.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from rdflib.plugins.sparql.operators import TrueFilter
from rdflib.plugins.sparql.parserutils import CompValue
from rdflib.term import Node, Variable

from corollary.sparql.parser.expression_syntax import ExpressionParser, conjunction
from corollary.sparql.parser.term_syntax import PATHS, Triple

Scope = dict[Variable, None]
"""The variables that a pattern may bind, in the order of their first occurrence."""


@dataclass
class Group:
    """A group graph pattern that is being read: its algebra so far, its conditions, and its variables."""

    pattern: CompValue = field(default_factory=lambda: CompValue("BGP", triples=[]))
    triples: list[Triple] = field(default_factory=list)
    conditions: list[Any] = field(default_factory=list)
    scope: Scope = field(default_factory=dict)

    def flush(self) -> None:
        """End the present basic graph pattern."""
        if self.triples:
            triples, self.triples = self.triples, []
            self.join(CompValue("BGP", triples=triples), ())

    def join(self, part: CompValue, variables: Iterable[Variable]) -> None:
        """Join with a further part that may bind some variables."""
        self.flush()
        self.scope.update(dict.fromkeys(variables))
        if is_empty(self.pattern):
            self.pattern = part
        elif not is_empty(part):
            self.pattern = CompValue("Join", p1=self.pattern, p2=part)

    def algebra(self) -> CompValue:
        """The pattern with its conditions."""
        if not self.conditions:
            return self.pattern
        return CompValue("Filter", expr=conjunction(self.conditions), p=self.pattern)


def is_empty(part: CompValue) -> bool:
    """Whether a part of the algebra is the empty pattern."""
    return part.name == "BGP" and not part.triples


class PatternParser(ExpressionParser):
    """Reads group graph patterns."""

    patterns: int = 0
    """The number of basic graph patterns so far."""

    @abstractmethod
    def subquery(self) -> tuple[CompValue, list[Variable]]:
        """A SELECT within a pattern, as algebra, and the variables that it projects."""

    def group(self) -> CompValue:
        """The pattern of EXISTS. Its variables are not visible outside."""
        pattern = self.pattern
        found = self.read_group().algebra()
        if found.name == "Filter":
            found.no_isolated_scope = True  # for rdflib: its conditions see the variables outside
        self.pattern = pattern  # a filter does not end a basic graph pattern
        return found

    def read_group(self) -> Group:
        """A group graph pattern in braces."""
        self.expect("{")
        group = Group()
        if self.word == "SELECT":
            algebra, variables = self.subquery()
            group.join(CompValue("ToMultiSet", p=algebra), variables)
        else:
            self._parts(group)
        self._begin_pattern()
        self.expect("}")
        return group

    def _begin_pattern(self) -> None:
        self.patterns += 1
        self.pattern = self.patterns

    def _parts(self, group: Group) -> None:
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

    def _part(self, group: Group) -> None:
        """One part that is no triples block."""
        match self.word:
            case "FILTER":
                self.advance()
                group.conditions.append(self.constraint())
            case "OPTIONAL":
                self.advance()
                inner = self.read_group()
                condition = conjunction(inner.conditions) if inner.conditions else TrueFilter
                group.scope.update(inner.scope)
                group.pattern = CompValue("LeftJoin", p1=group.pattern, p2=inner.pattern, expr=condition)
            case "MINUS":
                self.advance()
                group.pattern = CompValue("Minus", p1=group.pattern, p2=self.read_group().algebra())
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

    def _unions(self, group: Group) -> None:
        inner = self.read_group()
        pattern, scope = inner.algebra(), dict(inner.scope)
        while self.accept("UNION"):
            other = self.read_group()
            pattern = CompValue("Union", p1=pattern, p2=other.algebra())
            scope |= other.scope
        group.join(pattern, scope)

    def _graph(self, group: Group) -> None:
        self.advance()
        term = self.variable_or_iri()
        inner = self.read_group()
        own = [term] if isinstance(term, Variable) else []
        group.join(CompValue("Graph", term=term, p=inner.algebra()), [*own, *inner.scope])

    def _service(self, group: Group) -> None:
        start = self.starts[self.at]
        self.advance()
        silent = "SILENT" if self.accept("SILENT") else None
        term = self.variable_or_iri()
        inner = self.read_group()
        end = self.starts[self.at - 1] + 1
        parts = {"silent": silent, "term": term, "graph": inner.algebra()}
        service = CompValue("ServiceGraphPattern", service_string=self.text[start:end], **parts)
        own = [term] if isinstance(term, Variable) else []
        group.join(service, [*own, *inner.scope])

    def _bind(self, group: Group) -> None:
        self.advance()
        self.expect("(")
        value = self.expression()
        self.expect("AS")
        place = self.starts[self.at]
        variable = self.variable()
        if variable in group.scope:
            self.fail(f"BIND: {variable.n3()} has a value already", "bind another variable", place)
        self.expect(")")
        group.pattern = CompValue("Extend", p=group.pattern, expr=value, var=variable)
        group.scope[variable] = None

    def values(self) -> tuple[CompValue, list[Variable]]:
        """The table of VALUES, as algebra, and its variables."""
        rows: list[dict[Variable, Any]] = []
        if self.kind == "variable":
            variables = [self.variable()]
            self.expect("{")
            while not self.accept("}"):
                rows.append({variables[0]: self._value()})
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
        table: Any = CompValue("values", res=rows) if rows else []
        return CompValue("ToMultiSet", p=table), variables

    def _row(self, variables: list[Variable]) -> dict[Variable, Any]:
        place = self.starts[self.at]
        self.expect("(")
        terms = []
        while not self.accept(")"):
            terms.append(self._value())
        if len(terms) != len(variables):
            self.fail(f"VALUES: {len(terms)} values for {len(variables)} variables", place=place)
        return dict(zip(variables, terms, strict=True))

    def _value(self) -> Any:
        """A term, or ``UNDEF`` as rdflib's algebra has it."""
        if self.accept("UNDEF"):
            return "UNDEF"
        return self.iri() if self.kind in ("iri", "name") else self.literal()


def variables_of(triples: Iterable[Triple]) -> Iterable[Variable]:
    """The variables in triples, in order."""
    terms: Iterable[Node] = (term for triple in triples for term in triple)
    return (term for term in terms if isinstance(term, Variable))
