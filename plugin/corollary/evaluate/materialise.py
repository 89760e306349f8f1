"""Materialisation: everything that follows from explicit facts by a program.

Monotone rules run to the fixpoint. Rules with negation or aggregates then join in, stratum by
stratum: everything that a stratum negates is complete by then. A rule that could only be applied after
itself is suspended. Constraints (rules without head) are evaluated on demand; what satisfies one is an
inconsistency.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from corollary.columns.triples import TripleIndex
from corollary.evaluate.assignment import REASONS, Assignment
from corollary.evaluate.engine import Engine, tables
from corollary.evaluate.fixpoint import Progress
from corollary.evaluate.inconsistency import Inconsistency, clashes
from corollary.evaluate.suspension import Suspended, suspended_rules
from corollary.execute.context import ExecutionContext
from corollary.execute.run_plan import run, sizes
from corollary.kernels.limits import limited_by_default
from corollary.language import Program, Rule
from corollary.modules import registry
from corollary.modules.module import ModuleRejectsRule
from corollary.modules.semi_naive import viable
from corollary.plan.delta_plans import full_plan
from corollary.plan.explain import Explanation, explain
from corollary.plan.steps import Age
from corollary.program.compiled_program import CompiledProgram
from corollary.program.components import Components, Prefixes, components
from corollary.program.instances import instances
from corollary.program.stratify import Strata, refuse_static_cycles
from corollary.terms.dictionary import TermDictionary


@dataclass(frozen=True)
class Materialisation:
    """Explicit facts, all facts, and how they came about. Later changes make new ones, and change the engine.

    ``compiled`` are the rules, ``assignments`` tell which module evaluated which, ``cells`` are those of
    lists that were read. ``rounds`` counts the turns that modules took, ``seconds`` tells what each spent.
    The ``engine`` may have gone on since; it stands here if it has this ``version``.
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

    def followed_by(self, explicit: TripleIndex, strata: Strata) -> Materialisation:
        """What the evaluation has come to since, over other explicit facts."""
        return _result(explicit, self.engine, strata)

    @cached_property
    def _context(self) -> ExecutionContext:
        """For plans over this materialisation; the engine's own goes on with the engine."""
        return ExecutionContext(self.dictionary)

    @property
    def modules(self) -> dict[int, str]:
        """The names of the modules that evaluated the rules, by number of the rule."""
        return {assignment.rule.number: assignment.module for assignment in self.assignments}

    def inferred(self) -> TripleIndex:
        """What follows and is not explicit, as graphs show it: facts that RDF does not allow are left out."""
        return self.index.difference(self.explicit).legal()

    @property
    def inferred_count(self) -> int:
        """How many facts ``inferred`` has, without making it: the number that is reported everywhere."""
        return len(self.index) - len(self.explicit)

    @cached_property
    def suspended(self) -> tuple[Suspended, ...]:
        """The rules that are not applied, for by these facts they negate themselves: see ``suspension``."""
        return suspended_rules(self.compiled, self.index, tables(self._context, self.index), self.strata)

    @property
    def inconsistencies(self) -> tuple[Inconsistency, ...]:
        """What clashes: up to a thousand results a constraint."""
        return self._clashes[0]

    @property
    def inconsistency_count(self) -> int:
        """How many bindings satisfy a constraint, mirror images told once as far as they are listed."""
        return self._clashes[1]

    @cached_property
    def _clashes(self) -> tuple[tuple[Inconsistency, ...], int]:
        found: list[Inconsistency] = []
        count = 0
        for rule in self.compiled.rules:
            if not rule.heads and viable(rule, self.index):
                plan = full_plan(rule, sizes(self.index))
                batch = run(plan, {Age.ALL: self.index}, rule, self._context)
                told, number = clashes(rule, self.compiled.written(rule), batch, self.dictionary)
                found += told
                count += number
        return tuple(found), count

    def instances(self) -> Program:
        """The Datalog program made for this ontology: one rule an instance, its guards kept.

        Rules without guards stand as they are; a rule whose guards match nothing has no instances, nor has
        one that is suspended.
        """
        return instances(self.compiled, tables(self._context, self.index), self.cells, self.strata.suspended)

    def components(self, prefixes: Prefixes | None = None) -> Components:
        """What derives something over these facts, part by part: see ``program.components``.

        Terms are printed with ``prefixes``, by default the program's.
        """
        compiled = self.compiled
        known = compiled.source.prefixes if prefixes is None else prefixes
        rows = tables(self._context, self.index)
        return components(compiled, self.modules, self.index, rows, known, self.strata.suspended)

    def explain_plan(self) -> Explanation:
        """How the program is evaluated over these facts: see ``plan.explain``."""
        return explain(
            self.compiled,
            self.modules,
            self.strata.rules,
            self.index,
            tables(self._context, self.index),
            sizes(self.index),
            self.strata.suspended,
            {**{module.name: module.why for module in registry.MODULES}, **REASONS},
        )

    def __repr__(self) -> str:
        return (
            f"Materialisation({self.program.name or 'program'}: {self.explicit.fact_count():,} explicit, "
            f"{self.inferred_count:,} inferred)"
        )


def materialise(
    explicit: TripleIndex,
    program: Program,
    dictionary: TermDictionary,
    *,
    progress: Progress | None = None,
    modular: bool = True,
) -> Materialisation:
    """Everything that follows from explicit facts by a program.

    ``progress`` is called with a module's name and the number of facts after each of its turns. Unless
    ``modular``, semi-naive evaluation takes all rules, which is slower and good for comparing only. The
    explicit index is left as it is. Raises ``UnsafeRuleError``, or ``UnstratifiableError`` if rules negate
    themselves whatever the facts are, before any result exists; ``LimitExceeded`` or ``Cancelled``, as the
    work says that this is part of (``kernels.limits``).
    """
    return limited_by_default(_fitted, explicit, program, dictionary, progress, modular)


def _fitted(
    explicit: TripleIndex,
    program: Program,
    dictionary: TermDictionary,
    progress: Progress | None,
    modular: bool,
) -> Materialisation:
    """As ``materialise``, within the limits there are."""
    rejected: frozenset[Rule] = frozenset()
    while True:
        try:
            return _materialise(explicit, program, dictionary, progress, modular, rejected)
        except ModuleRejectsRule as found:
            rejected |= found.rules


def _materialise(
    explicit: TripleIndex,
    program: Program,
    dictionary: TermDictionary,
    progress: Progress | None,
    modular: bool,
    rejected: frozenset[Rule],
) -> Materialisation:
    """As ``materialise``, but for ``ModuleRejectsRule``, which it raises."""
    compiled = CompiledProgram(program, dictionary)
    if any(not rule.is_monotone for rule in compiled.rules):
        refuse_static_cycles(compiled)
    engine = Engine(explicit, compiled, progress, modular=modular, rejected=rejected)
    if not engine.compiled.has_strata:
        return _result(explicit, engine, Strata.none())
    strata, edges = engine.stratify()
    suspended = dict(strata.suspended)
    # What strata derive may bring new rule instances. If these suspend rules, or change the order of strata,
    # all starts over with that. Edges only come, and so do suspended rules, so there is an end to it.
    while True:
        late = engine.evaluate(strata)
        final, more = engine.stratify(suspended, edges)
        is_ordered = final.rules == strata.rules
        if is_ordered and not (late or final.suspended):
            return _result(explicit, engine, replace(final, suspended=suspended))
        found = final.suspended or (late if is_ordered else {})
        suspended |= found
        engine = Engine(explicit, compiled, progress, modular=modular, rejected=rejected)
        engine.schema_depends_on_strata = True
        strata, edges = engine.stratify(suspended, () if found else more)
        suspended |= strata.suspended


def _result(explicit: TripleIndex, engine: Engine, strata: Strata) -> Materialisation:
    fixpoint, compiled = engine.fixpoint, engine.compiled
    return Materialisation(
        compiled.source, compiled.dictionary, explicit, fixpoint.index.snapshot(),
        engine, compiled, tuple(engine.assignments), engine.cells, strata,
        fixpoint.rounds, dict(fixpoint.seconds), engine.version,
    )  # fmt: skip
