"""Queries of SPARQL (rules 1 to 28 of the grammar), translated to algebra (sections 18.2.4 and 18.2.5)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from rdflib.plugins.sparql.parserutils import CompValue, Expr
from rdflib.plugins.sparql.sparql import Query
from rdflib.term import Variable

from corollary.sparql.parser.expression_syntax import CALLS, conjunction
from corollary.sparql.parser.pattern_syntax import Group, PatternParser, Scope, variables_of

UPDATES = frozenset(("INSERT", "DELETE", "WITH", "LOAD", "CLEAR", "CREATE", "DROP", "COPY", "MOVE", "ADD"))
"""The keywords that begin an update."""


@dataclass
class Modifiers:
    """What follows the pattern of a query. ``keys``: the conditions of GROUP BY, None without GROUP BY."""

    keys: list[tuple[Any, Variable | None]] | None = None
    having: list[Any] = field(default_factory=list)
    order: list[CompValue] = field(default_factory=list)
    limit: int | None = None
    offset: int = 0
    table: tuple[CompValue, list[Variable]] | None = None


@dataclass
class Selection:
    """What is selected: variables, each with an expression or None, and their places. None: all variables.

    ``star`` is the place of ``SELECT *``.
    """

    modifier: str | None = None
    items: list[tuple[Any, Variable]] | None = None
    places: list[int] = field(default_factory=list)
    star: int | None = None


class QueryParser(PatternParser):
    """Reads queries."""

    def query(self) -> Query:
        """The whole text as one query."""
        self.aggregates, self.blank_nodes, self.pattern = None, {}, 0
        self.prologue()
        match self.word:
            case "SELECT":
                algebra = self._select_query()
            case "CONSTRUCT":
                algebra = self._construct()
            case "ASK":
                self.advance()
                algebra = self._whole("AskQuery")
            case "DESCRIBE":
                algebra = self._describe()
            case word if word in UPDATES:
                self.fail("this is an update, and no query", "Graph.update of rdflib carries out updates")
            case _:
                self.fail_expecting("SELECT, ASK, CONSTRUCT or DESCRIBE")
        if self.kind != "end":
            self.fail_expecting("the end of the query")
        return Query(self.names, algebra)

    # The four forms

    def _select_query(self) -> CompValue:
        self.aggregates = []
        selection = self._selection()
        clauses = self._dataset()
        algebra, variables = self._solved(selection)
        return CompValue("SelectQuery", p=algebra, datasetClause=clauses, PV=variables)

    def subquery(self) -> tuple[CompValue, list[Variable]]:
        """A SELECT within a pattern; its aggregates are its own."""
        outer, self.aggregates = self.aggregates, []
        found = self._solved(self._selection())
        self.aggregates = outer
        return found

    def _whole(self, name: str) -> CompValue:
        clauses = self._dataset()
        self.aggregates = []
        algebra, variables = self._solved(Selection())
        return CompValue(name, p=algebra, datasetClause=clauses, PV=variables)

    def _construct(self) -> CompValue:
        self.advance()
        if self.word == "{":
            template = self._template()
            self.blank_nodes = {}
            return self._of_template(self._whole("ConstructQuery"), template)
        clauses = self._dataset()
        self.expect("WHERE")
        template = self._template()
        group = Group(triples=template)
        group.scope.update(dict.fromkeys(variables_of(template)))
        group.flush()
        self.aggregates = []
        algebra, _ = self._modified(Selection(), group, self._modifiers())
        return self._of_template(CompValue("ConstructQuery", p=algebra, datasetClause=clauses), template)

    def _template(self) -> list[Any]:
        self.expect("{")
        triples = self.triples(self.simple_verb)
        self.expect("}")
        return triples

    def _of_template(self, query: CompValue, template: list[Any]) -> CompValue:
        query["template"] = template
        return query

    def _describe(self) -> CompValue:
        self.advance()
        terms, selection = [], Selection(modifier="DISTINCT")
        if not self.accept("*"):
            selection.items = []
            while self.kind in ("variable", "iri", "name"):
                place = self.starts[self.at]
                terms.append(self.variable_or_iri())
                if isinstance(terms[-1], Variable):
                    selection.items.append((None, terms[-1]))
                    selection.places.append(place)
            if not terms:
                self.fail_expecting("'*', a variable or an IRI")
        clauses = self._dataset()
        self.aggregates = []
        algebra = None
        if self.word in ("WHERE", "{"):
            algebra, _ = self._solved(selection)
        else:
            self._modifiers()
        return CompValue("DescribeQuery", p=algebra, datasetClause=clauses, PV=terms)

    def _dataset(self) -> list[CompValue] | None:
        clauses = []
        while self.accept("FROM"):
            kind = "named" if self.accept("NAMED") else "default"
            clauses.append(CompValue("DatasetClause", **{kind: self.iri()}))
        return clauses or None

    # The clauses

    def _selection(self) -> Selection:
        self.expect("SELECT")
        found = Selection()
        if self.word in ("DISTINCT", "REDUCED"):
            found.modifier = self.advance()
        found.star = self.starts[self.at]
        if self.accept("*"):
            return found
        found.items, found.star = [], None
        while self.kind == "variable" or self.word == "(":
            value = None
            if self.accept("("):
                value = self.expression()
                self.expect("AS")
            found.places.append(self.starts[self.at])
            found.items.append((value, self.variable()))
            if value is not None:
                self.expect(")")
        if not found.items:
            self.fail_expecting("'*', a variable, or '(' expression AS variable ')'")
        return found

    def _solved(self, selection: Selection) -> tuple[CompValue, list[Variable]]:
        """The pattern and the modifiers of a query, as algebra, and the projected variables."""
        own, self.aggregates = self.aggregates, None
        self.accept("WHERE")
        group = self.read_group()
        self.aggregates = own
        return self._modified(selection, group, self._modifiers())

    def _modifiers(self) -> Modifiers:
        found = Modifiers()
        own, self.aggregates = self.aggregates, None
        if self.accept("GROUP"):
            self.expect("BY")
            found.keys = [self._key()]
            while self.kind in ("variable", "iri", "name") or self.word == "(" or self.word in CALLS:
                found.keys.append(self._key())
        self.aggregates = own
        if self.accept("HAVING"):
            found.having.append(self.constraint())
            while self.word == "(" or self.word in CALLS or self.kind in ("iri", "name"):
                found.having.append(self.constraint())
        if self.accept("ORDER"):
            self.expect("BY")
            found.order.append(self._condition())
            while self._at_condition():
                found.order.append(self._condition())
        while self.word in ("LIMIT", "OFFSET"):
            self._limit(found)
        if self.accept("VALUES"):
            found.table = self.values()
        return found

    def _key(self) -> tuple[Any, Variable | None]:
        """A condition of GROUP BY, and the name that it gets."""
        if self.kind == "variable":
            return self.variable(), None
        if not self.accept("("):
            return self.constraint(), None
        value, name = self.expression(), None
        if self.accept("AS"):
            name = self.variable()
        self.expect(")")
        return value, name

    def _at_condition(self) -> bool:
        is_call = self.word in CALLS or self.kind in ("iri", "name")
        return self.kind == "variable" or self.word in ("(", "ASC", "DESC") or is_call

    def _condition(self) -> CompValue:
        """A condition of ORDER BY."""
        if self.word in ("ASC", "DESC"):
            order = self.advance()
            return CompValue("OrderCondition", expr=self.bracketed(), order=order)
        value = self.variable() if self.kind == "variable" else self.constraint()
        return CompValue("OrderCondition", expr=value, order=None)

    def _limit(self, found: Modifiers) -> None:
        word = self.advance()
        if self.kind != "integer":
            self.fail_expecting("a whole number")
        number = int(self.advance())
        if word == "LIMIT":
            found.limit = number
        else:
            found.offset = number

    # Translation

    def _modified(
        self, selection: Selection, group: Group, modifiers: Modifiers
    ) -> tuple[CompValue, list[Variable]]:
        """The algebra of a query, inside out: groups, HAVING, VALUES, expressions, order, slice."""
        pattern, scope = group.algebra(), group.scope
        if modifiers.keys is not None or self.aggregates:
            pattern, scope = self._grouped(pattern, selection, modifiers)
        if modifiers.having:
            pattern = CompValue("Filter", expr=conjunction(modifiers.having), p=pattern)
        if modifiers.table is not None:
            table, variables = modifiers.table
            pattern = CompValue("Join", p1=pattern, p2=table)
            scope = scope | dict.fromkeys(variables)
        if selection.items is None:
            projected = list(scope)
        else:
            projected = [variable for _, variable in selection.items]
            named = dict(scope)
            for (value, variable), place in zip(selection.items, selection.places, strict=True):
                if value is None:
                    named[variable] = None
                    continue
                if variable in named:
                    self.fail(f"SELECT: {variable.n3()} has a value already", "choose another name", place)
                named[variable] = None
                pattern = CompValue("Extend", p=pattern, expr=value, var=variable)
        if modifiers.order:
            pattern = CompValue("OrderBy", p=pattern, expr=modifiers.order)
        pattern = CompValue("Project", p=pattern, PV=projected)
        if selection.modifier is not None:
            pattern = CompValue(selection.modifier.capitalize(), p=pattern)
        if modifiers.limit is not None or modifiers.offset:
            pattern = CompValue("Slice", p=pattern, start=modifiers.offset, length=modifiers.limit)
        return pattern, projected

    def _grouped(
        self, pattern: CompValue, selection: Selection, modifiers: Modifiers
    ) -> tuple[CompValue, Scope]:
        """The groups and their aggregates, as algebra, and the variables with a value for each group.

        A variable outside of aggregates is a key of the groups, or gets one of its values in the group.
        """
        if selection.star is not None:
            remedy = "name the variables and aggregates that are asked for"
            self.fail("SELECT * of groups", remedy, selection.star)
        keys: list[Any] = []
        for value, name in modifiers.keys or ():
            if name is not None:
                pattern = CompValue("Extend", p=pattern, expr=value, var=name)
            keys.append(value if name is None else name)
        scope = dict.fromkeys(key for key in keys if isinstance(key, Variable))
        aggregates = list(self.aggregates or ())
        own = {part.res for part in aggregates}
        wanted: Scope = dict(scope) if selection.items is None else {}
        aliases: Scope = {}
        for (value, variable), place in zip(selection.items or (), selection.places, strict=True):
            for read in free_variables(variable if value is None else value):
                if read not in own and read not in aliases:
                    if read not in scope:
                        self._refuse_ungrouped(read, place)
                    wanted[read] = None
            if value is not None:
                aliases[variable] = None
        for condition in (*modifiers.having, *(order.expr for order in modifiers.order)):
            for read in free_variables(condition):
                if read not in own and read not in aliases:
                    wanted[read] = None
        group = CompValue("Group", p=pattern, expr=keys or None)
        samples = [Variable(f"__agg_{len(aggregates) + i}__") for i in range(1, len(wanted) + 1)]
        for variable, sample in zip(wanted, samples, strict=True):
            aggregates.append(CompValue("Aggregate_Sample", vars=variable, res=sample))
        pattern = CompValue("AggregateJoin", A=aggregates, p=group)
        for variable, sample in zip(wanted, samples, strict=True):
            pattern = CompValue("Extend", p=pattern, expr=sample, var=variable)
        return pattern, scope

    def _refuse_ungrouped(self, variable: Variable, place: int) -> None:
        name = variable.n3()
        self.fail(
            f"SELECT: {name} may have many values in a group",
            f"add {name} to GROUP BY, or take SAMPLE({name}) or another aggregate",
            place,
        )


def free_variables(part: Any) -> Iterator[Variable]:
    """The variables in an expression, without those that occur only in the pattern of EXISTS."""
    if isinstance(part, Variable):
        yield part
    elif isinstance(part, list):
        for inner in part:
            yield from free_variables(inner)
    elif isinstance(part, Expr) and not part.name.endswith("EXISTS"):
        for inner in part.values():
            yield from free_variables(inner)
