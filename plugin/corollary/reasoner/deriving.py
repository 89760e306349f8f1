"""Derivation on demand: the next read brings the materialisation of a version up to date.

1. A read applies the pending changes to E in one batch, and then maintains I, at the cost of the batch.
2. A reader holds a ``State``. No later change modifies a ``State``.

The engine's modules have one state, that of the facts of ``latest``. Any other version (after a change,
inside a transaction, after a rollback) is derived from there, by the Δ⁻ and Δ⁺ between the two. After an
interruption the modules are unusable; ``MaterialisedView.version`` shows this, and the next read starts over.

One thread derives at a time. An open transaction derives the shared version before its own. So the other
threads find their version derived, and never wait for the derivations of the transaction.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from threading import Lock, RLock
from time import perf_counter, sleep
from typing import TypeVar, TypeVarTuple

from corollary.columns import TripleIndex
from corollary.evaluate import KnownClosure, MaterialisedView, adopt, materialise
from corollary.kernels.limits import Cancellation, LimitExceeded, Limits, check, current, limited
from corollary.language import Program, Rule
from corollary.maintain import maintain
from corollary.reasoner.options import Options
from corollary.reasoner.quads import Quads
from corollary.reasoner.rule_warnings import refuse, warn_of_suspended, warn_of_unending
from corollary.reasoner.state import State
from corollary.reasoner.tuning import SECONDS_SLEPT_WHILE_OTHERS_DERIVE
from corollary.reasoner.version import Derived, Version
from corollary.reasoner.versions import Versions

Arguments = TypeVarTuple("Arguments")
Result = TypeVar("Result")


class Deriver:
    """Derives the states of the versions of one reasoner.

    ``latest`` is the state at which the modules stand. ``warned_of`` is what reads have been warned of last.
    """

    def __init__(self, versions: Versions) -> None:
        self.versions = versions
        self.cancellation = Cancellation()
        self.latest: State | None = None
        self.warned_of: Derived | None = None
        self._reasoning = RLock()
        self._deriving = Lock()
        self._warned: set[Rule] = set()
        self._warned_unending: set[Rule] = set()
        self._examined: Options | None = None

    def limited(
        self, limits: Limits | None, function: Callable[[*Arguments], Result], *args: *Arguments
    ) -> Result:
        """Call the function within limits, by default those of the options, and return its result."""
        if limits is None:
            if current().cancellation is self.cancellation:
                return function(*args)
            limits = self.versions.current().options.limit
        return limited(limits, self.cancellation, function, *args)

    def settle(self, *, is_read: bool) -> Version:
        """See ``Reasoner.settled``."""
        version = self.versions.current()
        if version.length or version.derived.state is None:
            if version.length:
                self.versions.change_beside(Version.applied)
                version = self.versions.current()
            base = self.versions.base()
            self._examine(version)
            for needed in (base, version):
                if needed is not None and needed.derived.state is None:
                    try:
                        self.limited(None, self._in_turn, self._derive, needed)
                    except LimitExceeded:
                        if needed is version:  # a transaction may mend what cannot be derived
                            raise
        if is_read and version.derived is not self.warned_of:
            self._warn(version)
        return version

    def adopt(self, version: Version, closed: TripleIndex) -> None:
        """Set the state of a version from its I, which is known: nothing is derived.

        ``closed`` is as for ``evaluate.adopt``. Preconditions: the version is applied and has rules; no other
        thread has the version. Raises ``CannotAdopt``.
        """
        self.limited(None, self._in_turn, self._adopt, version, closed)

    def _adopt(self, version: Version, closed: TripleIndex) -> None:
        program, facts = version.options.program, version.quads
        assert program is not None
        self._examine(version)
        started = perf_counter()
        result = adopt(facts.union, closed, program, version.terms.dictionary)
        is_apart = version.options.inferred == "apart"
        self.latest = version.derived.state = State(facts, result, is_apart, perf_counter() - started)

    def take_known(self, version: Version, closed: TripleIndex, schema_is_alone: bool) -> None:
        """As ``adopt``, but the engine is not restored before it is needed: see ``KnownClosure``.

        Precondition: the version is applied; no other thread has it. Without rules, ``closed`` is ignored.
        """
        self.begin_at(version, version.quads, closed, version.options.program, schema_is_alone)
        version.derived.state = self.latest

    def begin_at(
        self,
        version: Version,
        facts: Quads,
        closed: TripleIndex,
        program: Program | None,
        schema_is_alone: bool,
    ) -> None:
        """Let a version be derived from ``facts`` and their I, ``closed``: by the differences in E and rules.

        As for ``take_known``; ``facts`` are E of another version with the same dictionary, and ``closed`` is
        its I by ``program``.
        """
        result = None
        if program is not None:
            dictionary = version.terms.dictionary
            result = KnownClosure(facts.union, closed, program, dictionary, schema_is_alone=schema_is_alone)
        self.latest = State(facts, result, version.options.inferred == "apart")

    def committed(self) -> Version:
        """The version of the last commit, derived."""
        shared = self.versions.shared()
        version = shared if shared.committed is None else shared.committed
        if version.derived.state is None:
            self.limited(None, self._in_turn, self._derive, version)
        return version

    def forget(self) -> None:
        """Drop the references to states, before the dictionary is replaced."""
        self.latest = self.warned_of = None

    def _examine(self, version: Version) -> None:
        """Warn of rules that may not terminate, before they are first applied."""
        options = version.options
        if options is not self._examined and options.program is not None:
            warn_of_unending(options.program, self._warned_unending)
        self._examined = options

    def _warn(self, version: Version) -> None:
        """Warn of each suspended rule once. Only for reads: raises where warnings are errors."""
        result = version.state.materialisation
        if result is not None and (result.has_suspended_rules or self._warned):
            warn_of_suspended(result, version.terms, version.terms.printer(version.namespaces), self._warned)
        self.warned_of = version.derived

    def _in_turn(self, derive: Callable[[*Arguments], None], *args: *Arguments) -> None:
        """Call a function that derives, in one thread at a time.

        Raises LimitExceeded or Cancelled also while it waits.
        """
        if self._reasoning._is_owned():  # type: ignore[attr-defined]  # a signal handler interrupted it
            return derive(*args)
        while self._deriving.locked():
            check()
            sleep(SECONDS_SLEPT_WHILE_OTHERS_DERIVE)
        with self._reasoning, self._deriving: derive(*args)  # fmt: skip  # noqa: E701
        return None

    def _derive(self, version: Version) -> None:
        """Set ``version.derived.state``, unless another thread has set it."""
        if version.derived.state is None:
            state = self._follow(version)
            if self.latest is not None:
                state.go_on_from(self.latest)
            if state.materialisation is not None or self.versions.own() is None:
                self.latest = state
            version.derived.state = state

    def _follow(self, version: Version) -> State:
        """The state of a version: by maintenance of ``latest`` where possible, else from scratch."""
        facts, options, dictionary = version.quads, version.options, version.terms.dictionary
        program, latest, is_apart = options.program, self.latest, options.inferred == "apart"
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

    def change_options(self, change: Callable[[Options], Options]) -> None:
        """Change the options and derive now. With rules that cannot be evaluated nothing has changed."""

        def step(version: Version) -> Version:
            return version.changed(options=change(version.options))

        def follow() -> None:
            for _ in self.versions.steps():
                before = self.versions.current()
                self.versions.change(step)
                result = self.settle(is_read=False).state.materialisation
                if result is not None and result.has_suspended_rules:
                    self._refuse_suspended(result, before)

        self.limited(None, follow)

    def _refuse_suspended(self, result: MaterialisedView, before: Version) -> None:
        """Raise UnstratifiableError if ``result`` suspends rules that the options before did not."""
        program, facts = before.options.program, self.versions.current().quads.union
        known = () if program is None else materialise(facts, program, result.dictionary).suspended
        refuse(result, known)
