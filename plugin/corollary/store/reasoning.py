"""What follows, kept up to date: the half of the store that knows rules, and no rdflib graphs.

1. A read works the changes that wait into the facts, in one batch, and then brings the materialisation up to
   date with them, at the cost of what the batch changes.
2. Readers hold a ``State``, and are never disturbed.

The modules at work stand at one set of facts, those of ``_latest``. Whatever facts and rules are asked for,
after a change, inside a transaction or after a rollback, are reached from there, by the facts that differ. If
that is interrupted the modules are worthless, which they tell by their version: the next read starts over.

One thread derives at a time. A transaction derives what it is based on first: so while it is open, all others
find what they read derived, and never wait for what it derives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial, reduce
from html import escape
from operator import add
from threading import Lock, RLock
from time import perf_counter, sleep
from typing import TYPE_CHECKING, TypeVar, TypeVarTuple

from rdflib.graph import Graph
from rdflib.store import Store
from rdflib.term import URIRef

from corollary.evaluate import Materialisation, materialise
from corollary.kernels.limits import Cancellation, Limits, check, current, limited
from corollary.language import Program, Rule
from corollary.maintain import Report, maintain
from corollary.store.display import Glance
from corollary.store.home import EXPLICIT, INFERRED
from corollary.store.invention import warn_of as warn_of_unending
from corollary.store.names import printer
from corollary.store.options import Options
from corollary.store.rules import RuleSource, named_rules, rules_from
from corollary.store.state import State
from corollary.store.terms import Terms
from corollary.store.version import Derived, Version
from corollary.store.versions import Closed, Versions
from corollary.terms.dictionary import TermDictionary

if TYPE_CHECKING:
    from corollary.explain import Explanation
    from corollary.plan.components import Components
    from corollary.store.explaining import Goal
    from corollary.store.inconsistency import Inconsistency
    from corollary.store.statistics import Statistics
    from corollary.store.suspension import SuspendedRule

Arguments = TypeVarTuple("Arguments")
Result = TypeVar("Result")

SECONDS_BETWEEN_CHECKS = 0.002


class Reasoning(Store):
    """A store's facts, rules, and what follows."""

    def _begin(self, options: Options) -> None:
        version = Version(Terms(TermDictionary()), options)
        self._start(version.as_committed())

    def _start(self, version: Version) -> None:
        """Begin with a version."""
        self._versions = Versions(version)
        self._reasoning = RLock()
        self._deriving = Lock()
        self._cancellation = Cancellation()
        self._latest: State | None = None
        self._warned: set[Rule] = set()
        self._warned_of: Derived | None = None
        self._warned_unending: set[Rule] = set()
        self._examined: Options | None = None

    @property
    def _terms(self) -> Terms:
        return self._versions.current().terms

    def namespaces(self) -> Iterator[tuple[str, URIRef]]:
        return iter(self._versions.current().namespaces)

    def program(self) -> Program | None:
        """The rules in force; None if there are none."""
        return self._versions.current().options.program

    def rules(self) -> Program:
        """The rules in force, as a program that may have none."""
        return self.program() or Program(())

    def add_rules(self, *rules: RuleSource) -> Program:
        """Add rules, and derive what is new by them, in one transaction with the changes that wait.

        Each of ``rules`` is a program, a profile or rule file as in ``rules=``, or the text of rules. Returns
        those that were not there. RuleError, UnsafeRuleError or UnstratifiableError if they are no rules, or
        cannot be evaluated with the others: then the store is as before.
        """
        known = set(self.rules())
        given = [rules_from(source) for source in rules]
        new = [replace(p, rules=tuple(rule for rule in p if rule not in known)) for p in given]
        more = [program for program in new if len(program)]
        self._change_options(lambda options: options.with_rules(more))
        return reduce(add, new, Program(()))

    def remove_rules(self, *rules: RuleSource) -> Program:
        """Remove rules, and take away what only they derived, in one transaction with changes that wait.

        Each of ``rules`` is the name of one or more rules, or what ``add_rules`` takes. Returns those that
        were there. CorollaryError if a name is neither a rule's nor a profile's.
        """
        present = self.rules()
        wanted = {rule for source in rules for rule in named_rules(source, present)}
        gone = replace(present, rules=tuple(rule for rule in present if rule in wanted))
        self._change_options(lambda options: options.without_rules(gone))
        return gone

    def use_rules(self, *rules: RuleSource) -> None:
        """Let other rules take the place of all there are, in one transaction with changes that wait.

        ``rules`` are what ``add_rules`` takes; without any, or with ``"none"``, nothing follows. Only what
        differs is derived or taken away. Raises what ``add_rules`` does, and then the store is as before.
        """
        programs = [rules_from(source) for source in rules if source != "none"]
        self._change_options(lambda options: replace(options, rules=programs))

    def materialise(self) -> Materialisation | None:
        """Work off all changes now, and give the materialisation; None without rules."""
        return self._now().materialisation

    def statistics(self) -> Statistics:
        """Counts of triples, terms and inconsistencies: print it, or take ``as_dict()``."""
        from corollary.store.statistics import statistics

        version = self._settled()
        suspended = [str(rule) for rule in _suspended(version)]
        title = version.options.title()
        return self._limited(None, statistics, version.state, version.terms, title, suspended)

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

        version = self._settled()
        result = version.state.materialisation
        if result is None:
            return []
        found = partial(inconsistencies, result, version.terms, printer(version.namespaces))
        return self._limited(None, lambda: list(found()))

    def suspended_rules(self) -> list[SuspendedRule]:
        """The rules that are not applied, as the triples at hand let them negate what follows from them.

        With the cycle, and the triples that close it: when these go, the rule is applied again.
        """
        return _suspended(self._settled())

    def explain(self, goal: Goal, *, limit: int = 1) -> Explanation:
        """Why a triple holds, or what makes an inconsistency: up to ``limit`` proofs, the shortest first.

        Print it, or take ``as_dict()``, ``dot()``, ``html()``. CorollaryError for a past inconsistency.
        """
        from corollary.store.explaining import explanation

        version = self._settled()
        names = version.namespaces
        return self._limited(None, explanation, version.state, version.terms, names, goal, limit)

    def explicit(self) -> Graph:
        """A graph of the explicit triples of all graphs."""
        return Graph(self, EXPLICIT)

    def inferred(self) -> Graph:
        """A graph of the triples that follow and are not explicit."""
        return Graph(self, INFERRED)

    def _derived(self) -> None:
        """Work off all changes up to now, as this thread sees them."""
        self._settled(is_read=False)

    def _now(self) -> State:
        """The state with every change up to now, as this thread sees it."""
        return self._settled().state

    def _settled(self, *, is_read: bool = True) -> Version:
        """The version with every change up to now, as this thread sees it, and with what follows."""
        version = self._versions.current()
        if version.length or version.derived.state is None:
            self._versions.change_beside(Version.applied)
            base, version = self._versions.base(), self._versions.current()
            self._examine(version)
            for needed in (base, version):
                if needed is not None and needed.derived.state is None:
                    self._limited(None, self._derive_in_turn, needed)
        if is_read and version.derived is not self._warned_of:
            self._warn(version)
        return version

    def _examine(self, version: Version) -> None:
        """Warn of rules that may have no end, before they are applied."""
        options = version.options
        if options is not self._examined and options.program is not None:
            warn_of_unending(options.program, self._warned_unending)
        self._examined = options

    def _warn(self, version: Version) -> None:
        """Warn of rules that are suspended, once each. For reads: where warnings are errors it raises."""
        result = version.state.materialisation
        if result is not None and (result.strata.suspended or self._warned):
            from corollary.store.suspension import warn_of

            warn_of(result, version.terms, printer(version.namespaces), self._warned)
        self._warned_of = version.derived

    def _limited(
        self, limits: Limits | None, function: Callable[[*Arguments], Result], *args: *Arguments
    ) -> Result:
        """What the function returns, called within limits: by default the store's."""
        if limits is None:
            if current().cancellation is self._cancellation:
                return function(*args)
            limits = self._versions.current().options.limit
        return limited(limits, self._cancellation, function, *args)

    def cancel(self) -> None:
        """End all reasoning, queries, updates and loads of this store that run, or wait, in other threads.

        Each raises ``Cancelled`` within a second, mostly at once, and leaves the state before it. What begins
        later is not concerned.
        """
        self._cancellation.cancel()

    def _derive_in_turn(self, version: Version) -> None:
        """``_derive``, one thread at a time. LimitExceeded or Cancelled also while this one waits."""
        if self._reasoning._is_owned():  # type: ignore[attr-defined]  # a handler, in the middle of it
            return self._derive(version)
        while self._deriving.locked():
            check()
            sleep(SECONDS_BETWEEN_CHECKS)
        with self._reasoning, self._deriving: self._derive(version)  # fmt: skip  # noqa: E701
        return None

    def _derive(self, version: Version) -> None:
        """Work out what follows from a version, unless another thread just has."""
        if version.derived.state is None:
            state = self._follow(version)
            if state.materialisation is not None or self._versions.own() is None:
                self._latest = state
            version.derived.state = state

    def _follow(self, version: Version) -> State:
        """What follows from a version, found from what was derived last."""
        facts, options, dictionary = version.quads, version.options, version.terms.dictionary
        program, latest, is_apart = options.program, self._latest, options.inferred == "apart"
        if program is None:
            return State(facts, None, is_apart)
        started = perf_counter()
        before = None if latest is None else latest.materialisation
        if latest is None or before is None or before.dictionary is not dictionary:
            result = materialise(facts.union, program, dictionary)
            return State(facts, result, is_apart, perf_counter() - started)
        lost, gained = facts.since(latest.facts)
        if not (lost or gained or before.program != program):
            return replace(latest, facts=facts, is_apart=is_apart)
        result, report = maintain(before, facts.union, lost, gained, program=program)
        return State(facts, result, is_apart, perf_counter() - started, report)

    def _change_options(self, change: Callable[[Options], Options]) -> None:
        """Follow other options now; with rules that cannot be evaluated all is as before."""

        def step(version: Version) -> Version:
            return version.changed(options=change(version.options))

        def follow() -> None:
            for _ in self._versions.steps():
                before = self._versions.current()
                self._versions.change(step)
                result = self._settled(is_read=False).state.materialisation
                if result is not None and result.strata.suspended:
                    self._refuse_suspended(result, before)

        self._limited(None, follow)

    def _refuse_suspended(self, result: Materialisation, before: Version) -> None:
        """Raise ``UnstratifiableError`` if rules are suspended that were not so by the options before."""
        from corollary.store.suspension import refuse

        program, facts = before.options.program, self._versions.current().quads.union
        known = () if program is None else materialise(facts, program, result.dictionary).suspended
        refuse(result, known)

    # Display: what is known without any work

    def __repr__(self) -> str:
        version = self._versions.current()
        return f"<CorollaryStore: {version.reason}>" if isinstance(version, Closed) else str(_glance(version))

    def _repr_html_(self) -> str:
        version = self._versions.current()
        return escape(repr(self)) if isinstance(version, Closed) else _glance(version).html()


def _suspended(version: Version) -> list[SuspendedRule]:
    """The suspended rules. Precondition: what follows has been worked out."""
    from corollary.store.suspension import suspended_rules

    result = version.state.materialisation
    return [] if result is None else list(suspended_rules(result, version.terms, printer(version.namespaces)))


def _glance(version: Version) -> Glance:
    state, waiting = version.derived.state, version.waiting()
    explicit, title = version.quads.union.fact_count(), version.options.title()
    if waiting or state is None:
        return Glance(title, explicit, None if waiting or version.options.has_rules else 0, waiting)
    return Glance(title, explicit, state.inferred_count, 0)
