"""Queries of SPARQL (rules 1 to 28 of the grammar), translated to algebra (sections 18.2.4 and 18.2.5)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from sys import maxsize

from rdflib.term import Node, Variable

from corollary.sparql.algebra import (
    Aggregate,
    Call,
    Distinct,
    Expression,
    Extend,
    Filter,
    FunctionCall,
    GraphClause,
    Group,
    Join,
    Operator,
    OrderBy,
    OrderCondition,
    Project,
    Query,
    Reduced,
    Slice,
    Triple,
    conjunction,
    services,
)
from corollary.sparql.parser.expression_syntax import CALLS
from corollary.sparql.parser.pattern_syntax import Block, PatternParser, Scope, variables_of

UPDATES = frozenset(("INSERT", "DELETE", "WITH", "LOAD", "CLEAR", "CREATE", "DROP", "COPY", "MOVE", "ADD"))
"""The keywords that begin an update."""


@dataclass
class Modifiers:
    """What follows the pattern of a query. ``keys``: the conditions of GROUP BY, None without GROUP BY."""

    keys: list[tuple[Expression, Variable | None]] | None = None
    having: list[Expression] = field(default_factory=list)
    order: list[OrderCondition] = field(default_factory=list)
    limit: int | None = None
    offset: int = 0
    table: tuple[Operator, list[Variable]] | None = None


@dataclass
class Selection:
    """What is selected: variables, each with an expression or None, and their places. None: all variables.

    ``star`` is the place of ``SELECT *``.
    """

    modifier: str | None = None
    items: list[tuple[Expression, Variable]] | None = None
    places: list[int] = field(default_factory=list)
    star: int | None = None


class QueryParser(PatternParser):
    """Reads queries."""

    def query(self) -> Query:
        """The whole text as one query."""
        self.prologue()
        match self.word:
            case "SELECT":
                query = self._select_query()
            case "CONSTRUCT":
                query = self._construct()
            case "ASK":
                self.advance()
                query = self._whole("ASK")
            case "DESCRIBE":
                query = self._describe()
            case word if word in UPDATES:
                self.fail("this is an update, and no query", "Graph.update of rdflib carries out updates")
            case _:
                self.fail_expecting("SELECT, ASK, CONSTRUCT or DESCRIBE")
        if self.kind != "end":
            self.fail_expecting("the end of the query")
        return replace(query, base=self.names.base, services=services(query.pattern))

    # The four forms

    def _select_query(self) -> Query:
        self.aggregates = []
        selection = self._selection()
        clauses = self._dataset()
        pattern, variables = self._solved(selection)
        return Query("SELECT", pattern, tuple(variables), clauses)

    def subquery(self) -> tuple[Operator, list[Variable]]:
        """A SELECT within a pattern; its aggregates are its own."""
        outer, self.aggregates = self.aggregates, []
        found = self._solved(self._selection())
        self.aggregates = outer
        return found

    def _whole(self, form: str) -> Query:
        clauses = self._dataset()
        self.aggregates = []
        pattern, variables = self._solved(Selection())
        return Query(form, pattern, tuple(variables), clauses)

    def _construct(self) -> Query:
        self.advance()
        if self.word == "{":
            template = self._template()
            self.blank_nodes = {}
            return replace(self._whole("CONSTRUCT"), template=tuple(template))
        clauses = self._dataset()
        self.expect("WHERE")
        template = self._template()
        block = Block(triples=list(template))
        block.scope.update(dict.fromkeys(variables_of(template)))
        block.flush()
        self.aggregates = []
        pattern, variables = self._modified(Selection(), block, self._modifiers())
        return Query("CONSTRUCT", pattern, tuple(variables), clauses, tuple(template))

    def _template(self) -> list[Triple]:
        self.expect("{")
        triples = self.triples(self.simple_verb)
        self.expect("}")
        return triples

    def _describe(self) -> Query:
        self.advance()
        terms: list[Node] = []
        selection = Selection(modifier="DISTINCT")
        if not self.accept("*"):
            selection.items = []
            while self.kind in ("variable", "iri", "name"):
                place = self.starts[self.at]
                term = self.variable_or_iri()
                terms.append(term)
                if isinstance(term, Variable):
                    selection.items.append((None, term))
                    selection.places.append(place)
            if not terms:
                self.fail_expecting("'*', a variable or an IRI")
        clauses = self._dataset()
        self.aggregates = []
        pattern = None
        if self.word in ("WHERE", "{"):
            pattern, _ = self._solved(selection)
        else:
            self._modifiers()
        return Query("DESCRIBE", pattern, tuple(terms), clauses)

    def _dataset(self) -> tuple[GraphClause, ...]:
        clauses = []
        while self.accept("FROM"):
            is_named = self.accept("NAMED")
            clauses.append(GraphClause(self.iri(), is_named))
        return tuple(clauses)

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

    def _solved(self, selection: Selection) -> tuple[Operator, list[Variable]]:
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
        left = {"LIMIT", "OFFSET"}
        while self.word in left:
            left.remove(self.word)
            self._limit(found)
        if self.accept("VALUES"):
            found.table = self.values()
        return found

    def _key(self) -> tuple[Expression, Variable | None]:
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

    def _condition(self) -> OrderCondition:
        """A condition of ORDER BY."""
        if self.word in ("ASC", "DESC"):
            is_descending = self.advance() == "DESC"
            return OrderCondition(self.bracketed(), is_descending)
        value = self.variable() if self.kind == "variable" else self.constraint()
        return OrderCondition(value)

    def _limit(self, found: Modifiers) -> None:
        word = self.advance()
        if self.kind != "integer":
            self.fail_expecting("a whole number")
        digits = self.advance().lstrip("0")
        number = int(digits or "0") if len(digits) < len(str(maxsize)) else maxsize
        if word == "LIMIT":
            found.limit = number
        else:
            found.offset = number

    # Translation

    def _modified(
        self, selection: Selection, block: Block, modifiers: Modifiers
    ) -> tuple[Operator, list[Variable]]:
        """The algebra of a query, inside out: groups, HAVING, VALUES, expressions, order, slice."""
        pattern, scope = block.algebra(), block.scope
        if modifiers.keys is not None or self.aggregates:
            pattern, scope = self._grouped(pattern, selection, modifiers)
        if modifiers.having:
            pattern = Filter(pattern, conjunction(modifiers.having))
        if modifiers.table is not None:
            table, variables = modifiers.table
            pattern = Join(pattern, table)
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
                pattern = Extend(pattern, variable, value)
        if modifiers.order:
            pattern = OrderBy(pattern, tuple(modifiers.order))
        pattern = Project(pattern, tuple(projected))
        if selection.modifier is not None:
            pattern = Distinct(pattern) if selection.modifier == "DISTINCT" else Reduced(pattern)
        if modifiers.limit is not None or modifiers.offset:
            pattern = Slice(pattern, modifiers.offset, modifiers.limit)
        return pattern, projected

    def _grouped(
        self, pattern: Operator, selection: Selection, modifiers: Modifiers
    ) -> tuple[Operator, Scope]:
        """The groups and their aggregates, as algebra, and the variables with a value for each group.

        A variable outside of aggregates is a key of the groups, or gets one of its values in the group.
        """
        if selection.star is not None:
            remedy = "name the variables and aggregates that are asked for"
            self.fail("SELECT * of groups", remedy, selection.star)
        keys: list[Expression] = []
        for value, name in modifiers.keys or ():
            if name is not None:
                pattern = Extend(pattern, name, value)
            keys.append(value if name is None else name)
        scope = dict.fromkeys(key for key in keys if isinstance(key, Variable))
        aggregates = list(self.aggregates or ())
        own = {part.result for part in aggregates}
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
        for condition in (*modifiers.having, *(order.value for order in modifiers.order)):
            for read in free_variables(condition):
                if read not in own and read not in aliases:
                    wanted[read] = None
        samples = [Variable(f"__agg_{len(aggregates) + i}__") for i in range(1, len(wanted) + 1)]
        for variable, sample in zip(wanted, samples, strict=True):
            aggregates.append(Aggregate("SAMPLE", variable, sample))
        pattern = Group(pattern, tuple(keys) or None, tuple(aggregates))
        for variable, sample in zip(wanted, samples, strict=True):
            pattern = Extend(pattern, variable, sample)
        return pattern, scope

    def _refuse_ungrouped(self, variable: Variable, place: int) -> None:
        name = variable.n3()
        self.fail(
            f"SELECT: {name} may have many values in a group",
            f"add {name} to GROUP BY, or take SAMPLE({name}) or another aggregate",
            place,
        )


def free_variables(part: Expression) -> Iterator[Variable]:
    """The variables in an expression, without those that occur only in the pattern of EXISTS."""
    waiting = [part]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Variable):
            yield node
        elif isinstance(node, Call | FunctionCall):
            waiting += reversed(node.arguments)
