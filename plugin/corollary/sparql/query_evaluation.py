"""One evaluation of a query: what its operators share, and how each evaluates its operands.

Modules of operators are functions of an ``Evaluation``; ``evaluate.Evaluator`` calls them. So an operator
knows no other one: it asks for the solutions of its operands.
Invariant: a variable has one number in all evaluations of a query over one state of the facts, so what these
share may be kept by numbers (``Prepared``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, NamedTuple
from weakref import ref

from rdflib.paths import Path
from rdflib.term import BNode, Node, URIRef, Variable

from corollary.columns import TripleIndex
from corollary.execute.batches import Batch, filled
from corollary.sparql.algebra import Operator, Query, Service, Triples
from corollary.sparql.dataset import QueryDataset
from corollary.sparql.expressions import Expressions
from corollary.sparql.intersections import JoinPlan
from corollary.sparql.paths import PathJoin
from corollary.sparql.pattern_costs import Pattern, PatternCosts
from corollary.sparql.patterns import Joint, PatternJoin, Reduction, joined_one_by_one
from corollary.sparql.query_terms import QueryTerms
from corollary.sparql.solutions import Change
from corollary.sparql.spines import Step
from corollary.sparql.term_evaluation import Environment
from corollary.sparql.tuning import MAX_PLANS_CACHED
from corollary.sparql.written_literals import FIRST_LOCAL

_VARIABLES = (Variable, BNode)


class Numbers(dict[Node, int]):
    """The negative numbers of variables and blank nodes, assigned at the first look-up, by any thread.

    rdflib compares equal terms that are different objects in Python. So the projected variables come first:
    results are read by these objects.
    """

    def __init__(self, projected: Sequence[Node]) -> None:
        super().__init__({term: -number for number, term in enumerate(projected, 1)})
        self._next = count(len(projected) + 1)

    def __missing__(self, term: Node) -> int:
        return self.setdefault(term, -next(self._next))


_FIRST_FRESH = 1 << 32
"""Numbers from which on hidden variables are numbered: there are fewer variables in a query."""


class Planned(NamedTuple):
    """How a basic graph pattern is joined: see ``patterns.PatternJoin``. ``blank``: its blank nodes."""

    places: list[Joint]
    unwanted: frozenset[int]
    blank: list[int]


@dataclass(slots=True)
class Prepared:
    """What evaluations of a query over one state of the facts share: numbers, patterns, and their joins.

    ``patterns`` has those of a basic graph pattern of which the store has all terms; ``joins`` has what
    ``basic_patterns`` makes of them, by basic graph pattern, bound variables, and wanted ones: at most
    ``MAX_JOINS_KEPT``. ``index`` is kept so that nothing else gets its ``id``. ``query`` is not kept, as a
    long one may be asked once: another query with its ``id`` uses nothing of it.
    """

    query: ref[Query]
    index: TripleIndex
    numbers: Numbers
    patterns: dict[int, list[Pattern]] = field(default_factory=dict)
    joins: dict[Any, Planned] = field(default_factory=dict)

    @staticmethod
    def new(query: Query, dataset: QueryDataset) -> Prepared:
        """That of one evaluation."""
        return Prepared(ref(query), dataset.default, Numbers(query.terms))

    @staticmethod
    def of(query: Query, dataset: QueryDataset) -> Prepared:
        """That of a query. Cached with the facts, unless the query chooses its graphs."""
        index = dataset.default
        if dataset.named is not None:
            return Prepared.new(query, dataset)
        plans = dataset.source.known.setdefault(Prepared, {})
        key = id(query), id(index)
        found: Prepared | None = plans.get(key)
        if found is None or found.query() is not query:
            if len(plans) >= MAX_PLANS_CACHED:
                plans.clear()
            found = plans[key] = Prepared.new(query, dataset)
        return found


class Ids(dict[Node, int]):
    """The ids of constants, and of variables with a constant value; the ``numbers`` of other variables."""

    def __init__(self, terms: QueryTerms, numbers: Numbers, constants: Mapping[Any, Node]) -> None:
        super().__init__()
        self._terms, self._numbers, self._constants = terms, numbers, constants

    def __missing__(self, term: Node) -> int:
        constant = self._constants.get(term) if type(term) in _VARIABLES else term
        found = self[term] = self._numbers[term] if constant is None else self._terms.id_of(constant)
        return found


@dataclass(slots=True)
class Scope:
    """The context of a pattern: the active graph, the seed, and the seed's columns of row numbers.

    It never changes.
    """

    index: TripleIndex
    seed: Batch
    rows: frozenset[int] = frozenset()


class Evaluation(ABC):
    """The state of one evaluation of a query over one dataset."""

    def __init__(
        self,
        dataset: QueryDataset,
        terms: QueryTerms,
        given: Mapping[Variable, Node],
        query: Query,
        silenced: Sequence[Service] = (),
    ) -> None:
        """``given`` are the bindings of the query.

        The ``silenced`` SERVICE patterns are not called: each has one solution, which binds nothing.
        """
        self.silenced = silenced
        self.terms = terms
        self._query = query  # parts of it are known by their ``id``
        self._constants = given if query.takes_constants else {}
        is_shared = not self._constants
        self.prepared = Prepared.of(query, dataset) if is_shared else Prepared.new(query, dataset)
        self.numbers = numbers = self.prepared.numbers
        self._fresh = count(_FIRST_FRESH)
        environment = Environment(query.base, dataset.source.functions)
        self.expressions = Expressions(environment, given, terms, numbers)
        self.dataset = dataset
        self.given = given
        seed = given if is_shared else {}
        columns = {numbers[v]: filled(1, terms.id_of(term)) for v, term in seed.items()} if seed else {}
        self.start = Scope(dataset.default, Batch(1, columns))

    def fresh(self) -> int:
        """The number of a new hidden variable."""
        return -next(self._fresh)

    @abstractmethod
    def solutions(self, part: Operator, scope: Scope, need: int | None = None) -> Batch:
        """The solutions of a part in a scope. At least ``need`` rows may be incomplete (None: complete)."""

    @abstractmethod
    def parts(
        self,
        part: Operator,
        scope: Scope,
        wanted: Collection[Variable] | None = None,
        is_counted: bool = False,
    ) -> Iterator[Batch]:
        """The solutions in batches, none of which is kept.

        With ``wanted``, the distinct values of these variables suffice; some may come several times. With
        ``is_counted``, batches may lack columns.
        """

    @abstractmethod
    def pattern_parts(
        self,
        part: Operator,
        scope: Scope,
        start: Batch,
        limit: int,
        wanted: Collection[Variable] | None = None,
        is_counted: bool = False,
        is_kept: bool = False,
    ) -> Iterator[Batch]:
        """A basic graph pattern and its condition, joined with ``start``: see ``basic_patterns``."""

    begun = staticmethod(joined_one_by_one)

    @abstractmethod
    def beside(self, left: Batch, part: Operator, scope: Scope, limit: int) -> Batch | None:
        """The left join with a triple pattern, where that is a look-up: see ``solution_joins``."""

    @abstractmethod
    def changes(self, steps: list[Step], scope: Scope, limit: int | None = None) -> list[Change]:
        """What each of the steps makes of a batch, in batches of some ``limit`` rows."""

    def patterns(self, part: Triples) -> list[Pattern]:
        """The triple patterns of a basic graph pattern."""
        found = self.prepared.patterns.get(id(part))
        if found is None:
            ids = Ids(self.terms, self.numbers, self._constants)
            found = [
                Pattern.of(ids[s], ids[p] if type(p) is URIRef or not isinstance(p, Path) else p, ids[o])
                for s, p, o in part.triples
            ]
            if not self._constants and all(map(_is_lasting, found)):
                self.prepared.patterns[id(part)] = found
        return found

    def pattern_join(
        self, part: Triples, scope: Scope, early: Reduction, unwanted: frozenset[int]
    ) -> PatternJoin:
        """The join of a basic graph pattern. ``early`` and ``unwanted``: see ``PatternJoin``."""
        id_of = self.terms.id_of
        paths = PathJoin(scope.index, self.dataset.source.nodes, id_of, self.fresh)
        is_lasting = self.dataset.named is None and scope.index is self.dataset.default
        orders = self.dataset.source.known.setdefault(JoinPlan, {}) if is_lasting else {}
        costs = PatternCosts(scope.index, frozenset(scope.seed.columns), id_of, unwanted, orders)
        return PatternJoin(costs, paths, early)


def _is_lasting(pattern: Pattern) -> bool:
    """Whether a pattern is the same in other evaluations: it has no path, and no term of this query only."""
    return type(pattern.p) is int and max(pattern.s, pattern.p, pattern.o) < FIRST_LOCAL
