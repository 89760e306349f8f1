"""Materialisation: everything that follows from explicit facts by a program.

1. The program's rules are compiled over the dictionary's ids and handed to modules: inclusions,
   transitive closures, and semi-naive evaluation for the rest. Rules among constant predicates that
   lead to guards (the schema) have a semi-naive module of their own, which comes first.
2. Rules over whole lists are unrolled for every list length that turns up.
3. Monotone rules run to the fixpoint. Rules with negation or aggregates then join in, stratum by
   stratum: everything that a stratum negates is complete by then.
4. Constraints (rules without head) are evaluated at last; what satisfies one is an inconsistency.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter

from corollary.algebra.bindings import Batch
from corollary.algebra.execute import Candidates, emit, family_rows, run, sizes
from corollary.evaluate.fixpoint import Fixpoint, Progress
from corollary.evaluate.inconsistency import Inconsistency, clashes
from corollary.index.triples import TripleIndex
from corollary.kernels.sorted import Column
from corollary.language import Diagnostic, Program, UnstratifiableError
from corollary.modules.datatypes import Datatypes
from corollary.modules.inclusion import Inclusion, inclusion_shape
from corollary.modules.lists import Lists
from corollary.modules.module import Module
from corollary.modules.semi_naive import SemiNaive, viable
from corollary.modules.transitive import Transitive, closed_predicate
from corollary.plan.compile import CompiledRule, Tables
from corollary.plan.explain import Explanation, explain
from corollary.plan.instances import instances
from corollary.plan.order import Age, full_plan
from corollary.plan.program import LIST_BUILTINS, VALUE_BUILTINS, CompiledProgram
from corollary.plan.stratify import Strata, refuse_static_cycles, stratify
from corollary.terms.dictionary import TermDictionary


@dataclass(frozen=True, slots=True)
class Assignment:
    """Which module evaluates a rule."""

    rule: CompiledRule
    module: str


@dataclass(frozen=True, slots=True)
class Materialisation:
    """Explicit facts, all facts, and how they came about.

    ``rounds`` counts the turns that modules took, ``seconds`` tells what each spent; ``inconsistencies``
    holds up to a thousand clashes a constraint, and ``inconsistency_count`` counts them all.
    """

    program: Program
    dictionary: TermDictionary
    explicit: TripleIndex
    index: TripleIndex
    compiled: CompiledProgram
    assignments: tuple[Assignment, ...]
    strata: Strata
    inconsistencies: tuple[Inconsistency, ...]
    inconsistency_count: int
    rounds: int
    seconds: dict[str, float]

    def inferred(self) -> TripleIndex:
        """The facts that are not explicit."""
        return self.index.difference(self.explicit)

    def instances(self) -> Program:
        """The Datalog program made for this ontology: one rule an instance, its guards kept.

        Rules without guards stand as they are; a rule whose guards match nothing has no instances.
        """
        return instances(self.compiled, tables(self.compiled, self.index))

    def explain_plan(self) -> Explanation:
        """How the program is evaluated over these facts: see ``plan.explain``."""
        return explain(
            self.compiled,
            {assignment.rule.number: assignment.module for assignment in self.assignments},
            self.strata.rules,
            self.index,
            tables(self.compiled, self.index),
            sizes(self.index),
        )

    def __repr__(self) -> str:
        return (
            f"Materialisation({self.program.name or 'program'}: {len(self.explicit):,} explicit, "
            f"{len(self.index) - len(self.explicit):,} inferred, "
            f"{self.inconsistency_count:,} inconsistencies)"
        )


def materialise(
    explicit: TripleIndex, program: Program, dictionary: TermDictionary, *, progress: Progress | None = None
) -> Materialisation:
    """Everything that follows from explicit facts by a program.

    ``progress`` is called with a module's name and the number of facts after each of its turns. The
    explicit index is left as it is. Raises ``UnsafeRuleError`` or ``UnstratifiableError`` before any
    result exists.
    """
    compiled = CompiledProgram(program, dictionary)
    if any(not rule.is_monotone for rule in compiled.rules):
        refuse_static_cycles(compiled)
    run_ = _Run(explicit, compiled, progress)
    run_.fixpoint.run(run_.unroll)
    if not run_.has_strata:
        return run_.result(Strata.none())
    # What strata derive may bring new rule instances, and these another order: then start over with it.
    tried = []
    strata = run_.stratify()
    while strata not in tried:
        tried.append(strata)
        run_.evaluate(strata)
        final = run_.stratify()
        if final == strata:
            return run_.result(strata)
        lengths, compiled = compiled.lengths, CompiledProgram(program, dictionary)
        compiled.unroll(lengths)
        run_ = _Run(explicit, compiled, progress)
        run_.fixpoint.run(run_.unroll)
        strata = final
    raise UnstratifiableError(
        (
            Diagnostic(
                "what the rules with negation derive changes the order in which they have to be applied",
                remedy="let rules with negation derive no schema that other such rules depend on",
            ),
        )
    )


def tables(compiled: CompiledProgram, facts: TripleIndex) -> Tables:
    """What gives the rows of the program's families, given these facts."""

    def rows(rule: CompiledRule) -> tuple[int, dict[int, Column]]:
        batch = family_rows(rule, facts, compiled.dictionary)
        return batch.size, batch.columns

    return rows


class _Run:
    """One materialisation under way."""

    def __init__(self, explicit: TripleIndex, compiled: CompiledProgram, progress: Progress | None) -> None:
        dictionary, rdf_type = compiled.dictionary, compiled.rdf_type
        self.explicit = explicit
        self.compiled = compiled
        self.assignments: list[Assignment] = []
        self._schema_predicates = compiled.guard_predicates()
        self._lists = Lists(dictionary, compiled.list_predicates()) if compiled.uses(LIST_BUILTINS) else None
        self._transitive = Transitive(dictionary)
        self._schema = SemiNaive("schema", dictionary)
        self._inclusion = Inclusion(dictionary, rdf_type)
        self._rules = SemiNaive("rules", dictionary)
        modules: list[Module] = [self._lists] if self._lists else []
        if compiled.uses(VALUE_BUILTINS):
            modules.append(Datatypes(dictionary, compiled.predicates(), compiled.classes()))
        modules += [self._transitive, self._schema, self._inclusion, self._rules]
        index = explicit.snapshot()
        facts: Candidates = {}
        for rule in compiled.rules:
            self._assign(rule, facts)
        self.fixpoint = Fixpoint(index, modules, progress)
        self.fixpoint.include(facts)

    @property
    def has_strata(self) -> bool:
        """Whether there are rules with negation or aggregates."""
        return any(not rule.is_monotone and rule.heads for rule in self.compiled.rules)

    def stratify(self) -> Strata:
        """The strata, given the facts so far."""
        index = self.fixpoint.index
        return stratify(self.compiled, index, tables(self.compiled, index))

    def unroll(self) -> None:
        """Take in the rules for list lengths that are new."""
        if self._lists is not None:
            facts: Candidates = {}
            for rule in self.compiled.unroll(self._lists.lengths):
                self._assign(rule, facts)

    def evaluate(self, strata: Strata) -> None:
        """Let the rules that are not monotone join in, stratum by stratum."""
        by_number = {rule.number: rule for rule in self.compiled.rules}
        for stratum in strata.rules:
            for number in stratum:
                if number in by_number:
                    self._rules.add_rule(by_number[number])
            self.fixpoint.run(self.unroll)

    def _assign(self, rule: CompiledRule, facts: Candidates) -> None:
        """Hand a rule to the module that evaluates it; a rule without body states facts."""
        module = "constraint"
        if not rule.heads:
            pass
        elif not rule.source.body:
            emit(rule.heads, Batch.start(), facts)
            module = "fact"
        elif not rule.is_monotone:
            module = "stratified"
        elif (predicate := closed_predicate(rule)) is not None:
            self._transitive.add_rule(rule, predicate)
            module = self._transitive.name
        elif (shape := inclusion_shape(rule, self.compiled.rdf_type)) is not None:
            self._inclusion.add_rule(rule, shape)
            module = self._inclusion.name
            ends = [shape.source] * (not shape.from_class) + [shape.target] * (not shape.to_class)
            for variant in self.compiled.about_rdf_type(rule, ends):
                self._rules.add_rule(variant)
        else:
            semi_naive = self._schema if self._is_schema(rule) else self._rules
            semi_naive.add_rule(rule)
            module = semi_naive.name
        self.assignments.append(Assignment(rule, module))

    def _is_schema(self, rule: CompiledRule) -> bool:
        """Whether a rule leads from constant predicates to guards of other rules."""
        return (
            not rule.guards
            and all(atom.p >= 0 for atom in rule.atoms)
            and all(head.p in self._schema_predicates for head in rule.heads)
        )

    def result(self, strata: Strata) -> Materialisation:
        """The materialisation, its constraints checked."""
        index = self.fixpoint.index
        started = perf_counter()
        found: list[Inconsistency] = []
        count = 0
        for rule in self.compiled.rules:
            if not rule.heads and viable(rule, index):
                batch = run(full_plan(rule, sizes(index)), {Age.ALL: index}, rule, self.compiled.dictionary)
                told = clashes(rule, batch)
                found += told
                count += len(told) if batch.size < 2 * len(told) + 1000 else batch.size
        seconds = self.fixpoint.seconds | {"constraints": perf_counter() - started}
        return Materialisation(
            self.compiled.source, self.compiled.dictionary, self.explicit, index, self.compiled,
            tuple(self.assignments), strata, tuple(found), count, self.fixpoint.rounds, seconds,
        )  # fmt: skip
