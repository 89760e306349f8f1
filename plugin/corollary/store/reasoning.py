"""What follows, kept up to date: the half of the store that knows rules, and no rdflib graphs.

1. ``_quads`` logs changes. ``_now`` works the log off in one batch and brings the materialisation up to
   date, at the cost of what the batch changes.
2. Readers hold a ``State``, and are never disturbed.

Invariant: ``_current`` is the state if nothing has changed since, and None otherwise: whatever changes
the store sets it to None.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import reduce
from operator import add
from threading import RLock
from time import perf_counter
from typing import TYPE_CHECKING, Self

from rdflib.graph import Graph
from rdflib.store import Store

from corollary.evaluate import Materialisation, materialise
from corollary.language import Program
from corollary.maintain import Report, maintain
from corollary.store.display import Glance
from corollary.store.home import EXPLICIT, INFERRED
from corollary.store.names import printer
from corollary.store.options import Options
from corollary.store.quads import Changes, Quads
from corollary.store.rules import RuleSource, named_rules, rules_from
from corollary.store.state import State
from corollary.store.terms import Terms
from corollary.terms.dictionary import TermDictionary

if TYPE_CHECKING:
    from corollary.explain import Explanation
    from corollary.plan.components import Components
    from corollary.store.explaining import Goal
    from corollary.store.inconsistency import Inconsistency
    from corollary.store.statistics import Statistics


class Reasoning(Store):
    """A store's facts, rules, and what follows."""

    def _begin(self, options: Options) -> None:
        self._lock = RLock()
        self._options = options
        self._start(TermDictionary(), Quads())

    def _start(self, dictionary: TermDictionary, quads: Quads) -> None:
        """Begin with some terms and facts."""
        self._terms = Terms(dictionary)
        self._quads = quads
        self._named: set[int] = set()
        self._state: State | None = None
        self._current: State | None = None

    def program(self) -> Program | None:
        """The rules in force; None if there are none."""
        return self._options.program

    def rules(self) -> Program:
        """The rules in force, as a program that may have none."""
        return self._options.program or Program(())

    def add_rules(self, *rules: RuleSource) -> Program:
        """Add rules, and derive what is new by them, in one transaction with the changes that wait.

        Each of ``rules`` is a program, a profile or rule file as in ``rules=``, or the text of rules. Returns
        those that were not there. RuleError, UnsafeRuleError or UnstratifiableError if they are no rules, or
        cannot be evaluated with the others: then the store is as before.
        """
        known = set(self.rules())
        given = [rules_from(source) for source in rules]
        new = [replace(p, rules=tuple(rule for rule in p if rule not in known)) for p in given]
        self._change_options(self._options.with_rules([program for program in new if len(program)]))
        return reduce(add, new, Program(()))

    def remove_rules(self, *rules: RuleSource) -> Program:
        """Remove rules, and take away what only they derived, in one transaction with changes that wait.

        Each of ``rules`` is the name of one or more rules, or what ``add_rules`` takes. Returns those that
        were there. CorollaryError if a name is neither a rule's nor a profile's.
        """
        present = self.rules()
        wanted = {rule for source in rules for rule in named_rules(source, present)}
        gone = replace(present, rules=tuple(rule for rule in present if rule in wanted))
        self._change_options(self._options.without_rules(gone))
        return gone

    def use_rules(self, *rules: RuleSource) -> None:
        """Let other rules take the place of all there are, in one transaction with changes that wait.

        ``rules`` are what ``add_rules`` takes; without any, or with ``"none"``, nothing follows. Only what
        differs is derived or taken away. Raises what ``add_rules`` does, and then the store is as before.
        """
        programs = [rules_from(source) for source in rules if source != "none"]
        self._change_options(replace(self._options, rules=programs))

    def materialise(self) -> Materialisation | None:
        """Work off all changes now, and give the materialisation; None without rules."""
        return self._now().materialisation

    def statistics(self) -> Statistics:
        """Counts of triples, terms and inconsistencies: print it, or take ``as_dict()``."""
        from corollary.store.statistics import statistics

        return statistics(self._now(), self._terms, self._options.title())

    def last_maintenance(self) -> Report | None:
        """How the last change was followed: print it, or take ``as_dict()``; None if there was none yet."""
        return self._now().maintenance

    def components(self) -> Components:
        """What is derived here, part by part, by which module, and what depends on it.

        Print it, or take ``as_dict()`` or ``dot()``. Without rules there are none.
        """
        from corollary.plan.components import Components

        result = self.materialise()
        if result is None:
            return Components("no rules", len(self._now().facts.union), ())
        return result.components([(prefix, str(namespace)) for prefix, namespace in self.namespaces()])

    def explain_plan(self) -> str:
        """How the rules are evaluated over what is here: modules, components, strata and plans, as text."""
        from corollary.plan.explain import explanation_text

        result = self.materialise()
        return "no rules\n" if result is None else explanation_text(result.explain_plan())

    def inconsistencies(self) -> list[Inconsistency]:
        """What contradicts what, by which rule; of each rule's clashes the first thousand."""
        from corollary.store.inconsistency import inconsistencies

        result = self.materialise()
        if result is None:
            return []
        return list(inconsistencies(result, self._terms, printer(self.namespaces())))

    def explain(self, goal: Goal, *, limit: int = 1) -> Explanation:
        """Why a triple holds, or what makes an inconsistency: up to ``limit`` proofs, the shortest first.

        Print it, or take ``as_dict()``, ``dot()``, ``html()``. CorollaryError for a past inconsistency.
        """
        from corollary.store.explaining import explanation

        with self._lock:
            return explanation(self._now(), self._terms, self.namespaces(), goal, limit)

    def explicit(self) -> Graph:
        """A graph of the explicit triples of all graphs."""
        return Graph(self, EXPLICIT)

    def inferred(self) -> Graph:
        """A graph of the triples that follow and are not explicit."""
        return Graph(self, INFERRED)

    def _now(self) -> State:
        """The state with every change up to now."""
        state = self._current  # without the lock: it is there only if it is the last word
        if state is not None:
            return state
        with self._lock:
            self._work_off()
            if self._state is None:
                facts, program = self._quads.snapshot(), self.program()
                started = perf_counter()
                result = (
                    None if program is None else materialise(facts.union, program, self._terms.dictionary)
                )
                is_apart = self._options.inferred == "apart"
                self._state = State(facts, result, is_apart, perf_counter() - started)
            self._current = self._state
            return self._state

    def _change_options(self, options: Options) -> None:
        """Follow other options now; with rules that cannot be evaluated all is as before."""
        with self._lock:
            before = self._options
            self._options, self._current = options, None
            try:
                self._now()
            except BaseException:
                self._options, self._state, self._current = before, None, None
                raise

    def _work_off(self) -> None:
        """Apply the log to the explicit facts, and both log and rules to the state if there is one."""
        state, program = self._state, self.program()
        if state is not None and (state.materialisation is None) != (program is None):
            state = self._state = None
        if self._quads.is_changed:
            gained, lost = self._quads.apply()
        elif state is None or state.materialisation is None or state.materialisation.program == program:
            return
        else:
            gained, lost = {}, {}
        if state is not None:
            self._state = None  # so an interruption leaves no old one behind
            self._state = self._refreshed(state, gained, lost, program)

    def _refreshed(self, state: State, gained: Changes, lost: Changes, program: Program | None) -> State:
        """The state after a change."""
        facts, before = self._quads.snapshot(), state.materialisation
        if before is None or not (gained or lost or before.program != program):
            return replace(state, facts=facts)
        started = perf_counter()
        result, report = maintain(before, facts.union, lost, gained, program=program)
        seconds = perf_counter() - started
        return replace(state, facts=facts, materialisation=result, seconds=seconds, maintenance=report)

    def _draft(self) -> Self:
        """A store with the same terms, facts and inferences, to be changed apart."""
        self._work_off()
        draft = copy(self)
        draft._quads, draft._named, draft._state = self._quads.copy(), set(self._named), self._state
        return draft

    def _adopt(self, draft: Self) -> None:
        """Take over what became of a draft."""
        self._quads, self._named, self._state = draft._quads, draft._named, draft._state
        self._current = None

    # Display: what is known without any work

    def __repr__(self) -> str:
        return str(self._glance())

    def _repr_html_(self) -> str:
        return self._glance().html()

    def _glance(self) -> Glance:
        state, waiting = self._current, self._quads.waiting
        inferred = None if waiting or self._options.has_rules else 0
        if state is None:
            return Glance(self._options.title(), self._quads.union.fact_count(), inferred, waiting)
        return Glance(self._options.title(), state.facts.union.fact_count(), state.inferred_count, 0)
