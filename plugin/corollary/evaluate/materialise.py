"""Materialisation: all facts that follow from explicit facts by a program.

Monotone rules run to the fixpoint. Then rules with negation or aggregates are added, stratum by stratum: what
a stratum negates or aggregates over is complete by then. A rule with a negative edge on a cycle is suspended.
Constraints (rules without head) are evaluated on demand: a binding of the body is an inconsistency.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial

from corollary.columns import Pairs, Relation, TripleIndex
from corollary.columns.relation import Basis
from corollary.evaluate.assignment import REASONS, Assignment
from corollary.evaluate.engine import Engine, tables
from corollary.evaluate.inconsistency import Inconsistency, clashes
from corollary.evaluate.pairs_of_items import constraint_plan
from corollary.evaluate.suspension import Suspended, suspended_rules
from corollary.execute.context import ExecutionContext
from corollary.execute.run_plan import sizes
from corollary.kernels.limits import Stopwatch, limited_by_default
from corollary.language import Program, Rule
from corollary.modules import registry
from corollary.modules.module import ModuleRejectsRule
from corollary.modules.triggers import viable
from corollary.plan.explain import Explanation, explain
from corollary.program.compiled_program import CompiledProgram
from corollary.program.components import Components, Names, Prefixes, components
from corollary.program.instances import instances
from corollary.program.stratify import Strata, refuse_static_cycles
from corollary.terms.dictionary import KIND_SHIFT, Kind, TermDictionary


@dataclass(frozen=True)
class MaterialisedView:
    """The explicit facts E (``explicit``), all facts I (``index``), and how I was computed.

    A value, but for its ``engine``: a transaction makes a new materialisation, and changes the engine in
    place. The engine is at this materialisation iff ``engine.version`` is ``version``. ``assignments`` has
    the module of each rule, ``cells`` the list cells of each reading. ``rounds`` is the number of turns of
    modules, ``seconds`` the time of each module, both since the engine was made.
    """

    program: Program
    dictionary: TermDictionary
    explicit: TripleIndex
    index: TripleIndex
    engine: Engine
    compiled: CompiledProgram
    assignments: tuple[Assignment, ...]
    cells: Mapping[int, tuple[int, ...]]
    strata: Strata
    rounds: int
    seconds: dict[str, float]
    version: int

    def followed_by(self, explicit: TripleIndex, strata: Strata) -> MaterialisedView:
        """The materialisation at which the engine is now, with other explicit facts and strata."""
        len(self.engine.fixpoint.index)  # counted here once, then followed by every change
        return _result(explicit, self.engine, strata)

    @cached_property
    def _context(self) -> ExecutionContext:
        """Caches for plans over this materialisation. The engine has caches of its own."""
        return ExecutionContext(self.dictionary)

    @property
    def facts(self) -> TripleIndex:
        """I, for readers of facts: virtual relations may be missing."""
        return self.index

    @property
    def has_suspended_rules(self) -> bool:
        """Whether these facts suspend rules."""
        return bool(self.strata.suspended)

    @property
    def schema_is_alone(self) -> bool:
        """Whether all schema facts are known to follow from the explicit ones, whatever the data."""
        return self.engine.version == self.version and self.engine.schema_is_alone

    def bases(self) -> dict[int, Basis] | None:
        """From what their modules follow the closed relations that are compressed.

        None if the engine is no longer at this materialisation: a transaction counts before it changes it.
        """
        compressed = [p for p, relation in self.index.relations() if relation.is_compressed]
        found: dict[int, Basis] = {}
        for module in self.engine.fixpoint.modules if compressed else ():
            for predicate in compressed:
                external = module.basis(predicate)
                if external is not None:
                    found[predicate] = Basis(external, module.external(predicate) is not None)
        return found if self.engine.version == self.version else None

    @property
    def modules(self) -> dict[int, str]:
        """The module's name for each rule number."""
        return {assignment.rule.number: assignment.module for assignment in self.assignments}

    def inferred(self) -> TripleIndex:
        """The facts of I that are not in E, without facts that RDF does not allow."""
        return self.facts.difference(self.explicit).legal()

    def generalised(self) -> TripleIndex:
        """The facts of I that are not in E and that RDF does not allow, without virtual relations."""
        return generalised_among(self.facts.difference(self.explicit))

    @property
    def inferred_count(self) -> int:
        """The number of facts in ``inferred``, without computing them."""
        return len(self.facts) - len(self.explicit)

    @cached_property
    def suspended(self) -> tuple[Suspended, ...]:
        """The rules that these facts suspend: see ``suspension``."""
        return suspended_rules(self.compiled, self.index, tables(self._context, self.index), self.strata)

    @property
    def inconsistencies(self) -> tuple[Inconsistency, ...]:
        """The inconsistencies, up to ``MAX_CLASHES_LISTED`` per constraint."""
        return self._clashes[0]

    @property
    def inconsistency_count(self) -> int:
        """The number of inconsistencies; bindings are counted if a constraint has more than are listed."""
        return self._clashes[1]

    @cached_property
    def _clashes(self) -> tuple[tuple[Inconsistency, ...], int]:
        found: list[Inconsistency] = []
        count = 0
        for rule in self.compiled.rules:
            if not rule.heads and viable(rule, self.index):
                plan = constraint_plan(rule, self.index, self._context)
                listed, number = clashes(rule, plan, self.index, self.compiled.written(rule), self._context)
                found += listed
                count += number
        return tuple(found), count

    def instances(self) -> Program:
        """The Datalog program for this ontology: one rule per rule instance, with its guards.

        Rules without guards stay as they are. Rules whose guards match nothing, and suspended rules, have no
        instances.
        """
        return instances(self.compiled, tables(self._context, self.index), self.cells, self.strata.suspended)

    def components(self, prefixes: Prefixes | None = None) -> Components:
        """The components of the live rule instances: see ``program.components``.

        Terms are printed with ``prefixes``, by default those of the program.
        """
        compiled = self.compiled
        known = compiled.source.prefixes if prefixes is None else prefixes
        names = Names(self.dictionary, known, self.explicit)
        rows = tables(self._context, self.index)
        return components(compiled, self.modules, self.index, rows, names, self.strata.suspended)

    def explain_plan(self, prefixes: Prefixes | None = None, everything: bool = False) -> Explanation:
        """How the program is evaluated over these facts: see ``plan.explain``."""
        return explain(
            self.compiled,
            self.modules,
            self.strata.rules,
            self.index,
            self.explicit,
            tables(self._context, self.index),
            sizes(self.index),
            self.strata.suspended,
            {**{module.name: module.why for module in registry.MODULES}, **REASONS},
            prefixes,
            everything,
        )

    def __repr__(self) -> str:
        return (
            f"Materialisation({self.program.name or 'program'}: {self.explicit.fact_count():,} explicit, "
            f"{self.inferred_count:,} inferred)"
        )


def generalised_among(facts: TripleIndex) -> TripleIndex:
    """The facts that RDF does not allow, without virtual relations."""
    found = {}
    for predicate, relation in facts.relations():
        legal = relation.legal_count() if predicate >> KIND_SHIFT == Kind.IRI else 0
        if legal < len(relation):
            found[predicate] = Relation(Pairs(relation.pairs().keys[legal:]))
    return TripleIndex(found)


def materialise(
    explicit: TripleIndex,
    program: Program,
    dictionary: TermDictionary,
    *,
    modular: bool = True,
) -> MaterialisedView:
    """The materialisation of explicit facts under a program. ``explicit`` is not changed.

    Unless ``modular``, there are no optional modules, and semi-naive evaluation takes their rules: slower,
    for comparison only. Precondition then: no rule reads virtual relations (lists, values of literals), which
    are empty.

    Raises: ``UnsafeRuleError``; ``UnstratifiableError`` if a negative cycle exists for all facts;
    ``LimitExceeded`` or ``Cancelled`` by the limits of the surrounding work (``kernels.limits``).
    """
    return limited_by_default(_fitted, explicit, partial(_compiled, program, dictionary), modular)


def rematerialise(explicit: TripleIndex, compiled: CompiledProgram, previous: Engine) -> MaterialisedView:
    """As ``materialise``, under a program that is compiled, and can be stratified.

    What another engine knows of the rules, regardless of facts, is reused. ``compiled`` is not changed.
    """
    return limited_by_default(_fitted, explicit, compiled.without_forms, True, previous)


def _fitted(
    explicit: TripleIndex,
    compile_: Callable[[], CompiledProgram],
    modular: bool,
    previous: Engine | None = None,
) -> MaterialisedView:
    """As ``materialise``, within the limits in force. Rules that modules reject are assigned to others."""
    watch = Stopwatch()
    rejected: frozenset[Rule] = frozenset()
    while True:
        try:
            result = _materialise(explicit, compile_(), modular, previous, rejected)
            for module in result.engine.fixpoint.modules:
                module.prepare(result.index, explicit)
            result.engine.seconds = watch.seconds()
            return result
        except ModuleRejectsRule as found:
            rejected |= found.rules


def _materialise(
    explicit: TripleIndex,
    compiled: CompiledProgram,
    modular: bool,
    previous: Engine | None,
    rejected: frozenset[Rule],
) -> MaterialisedView:
    """As ``materialise``, without ``rejected`` rules in optional modules. Raises ``ModuleRejectsRule``."""
    engine = Engine(explicit, compiled, modular=modular, rejected=rejected, previous=previous)
    if not engine.compiled.has_strata:
        return _result(explicit, engine, Strata.none())
    strata, edges = engine.stratify()
    suspended = dict(strata.suspended)
    # Strata may derive facts that make new rule instances. If these suspend rules, or change the order of the
    # strata, evaluation starts over with them. Each round adds suspended rules, or else edges: the loop ends.
    while True:
        late = engine.evaluate(strata)
        final, more = engine.stratify(suspended, edges)
        is_ordered = final.rules == strata.rules
        if is_ordered and not (late or final.suspended):
            return _result(explicit, engine, replace(final, suspended=suspended))
        found = final.suspended or (late if is_ordered else {})
        suspended |= found
        engine = Engine(explicit, compiled, modular=modular, rejected=rejected, previous=engine)
        engine.schema_depends_on_strata = True
        strata, edges = engine.stratify(suspended, () if found else more)
        suspended |= strata.suspended


def adopt(
    explicit: TripleIndex,
    closed: TripleIndex,
    program: Program,
    dictionary: TermDictionary,
    *,
    schema_is_alone: bool = False,
) -> MaterialisedView:
    """The materialisation of ``explicit`` under a program, from I as it is known: nothing is derived.

    ``closed`` is I without virtual relations, including the facts that RDF does not allow.
    Preconditions: ``closed`` is the materialisation of ``explicit``, without suspended rules;
    ``schema_is_alone`` is false, or that of a materialisation of ``explicit``. That is not checked: see
    ``Engine.restored``.
    Raises: what ``materialise`` does; ``CannotAdopt``.
    """
    return limited_by_default(_adopted, explicit, closed, program, dictionary, schema_is_alone)


def _adopted(
    explicit: TripleIndex,
    closed: TripleIndex,
    program: Program,
    dictionary: TermDictionary,
    schema_is_alone: bool,
) -> MaterialisedView:
    rejected: frozenset[Rule] = frozenset()
    while True:
        try:
            compiled = _compiled(program, dictionary)
            engine, strata = Engine.restored(
                explicit, closed, compiled, rejected=rejected, schema_is_alone=schema_is_alone
            )
            return _result(explicit, engine, strata)
        except ModuleRejectsRule as found:
            rejected |= found.rules


def _compiled(program: Program, dictionary: TermDictionary) -> CompiledProgram:
    """The program over ids. Raises UnsafeRuleError; UnstratifiableError if a cycle exists for all facts."""
    compiled = CompiledProgram(program, dictionary)
    if any(not rule.is_monotone for rule in compiled.rules):
        refuse_static_cycles(compiled)
    return compiled


def _result(explicit: TripleIndex, engine: Engine, strata: Strata) -> MaterialisedView:
    fixpoint, compiled = engine.fixpoint, engine.compiled
    return MaterialisedView(
        compiled.source, compiled.dictionary, explicit, fixpoint.index.snapshot(),
        engine, compiled, tuple(engine.assignments), engine.cells, strata,
        fixpoint.rounds, dict(fixpoint.seconds), engine.version,
    )  # fmt: skip
