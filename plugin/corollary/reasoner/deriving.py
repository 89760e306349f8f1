"""Deriving on demand: the materialisation of a version, brought up to date by the next read.

1. A read works the pending changes into the facts, in one batch, and then brings the materialisation up to
   date with them, at the cost of what the batch changes.
2. Readers hold a ``State``, which no later change reaches.

The modules of the engine stand at one set of facts, those of ``latest``. Whatever facts and rules are asked
for, after a change, inside a transaction or after a rollback, are reached from there, by the facts that
differ. An interruption makes the modules worthless, which they tell by their version: the next read starts
over.

One thread derives at a time. A transaction derives what it is based on first: so while it is open, all others
find what they read derived, and never wait for what it derives.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from threading import Lock, RLock
from time import perf_counter, sleep
from typing import TypeVar, TypeVarTuple

from corollary.evaluate import Materialisation, materialise
from corollary.kernels.limits import Cancellation, Limits, check, current, limited
from corollary.language import Rule
from corollary.maintain import maintain
from corollary.reasoner.invention_warnings import warn_of as warn_of_unending
from corollary.reasoner.options import Options
from corollary.reasoner.state import State
from corollary.reasoner.version import Derived, Version
from corollary.reasoner.versions import Versions

Arguments = TypeVarTuple("Arguments")
Result = TypeVar("Result")

SECONDS_BETWEEN_CHECKS = 0.002


class Deriver:
    """Derives what follows from the versions of one reasoner."""

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
        """What the function returns, called within limits: by default those of the options."""
        if limits is None:
            if current().cancellation is self.cancellation:
                return function(*args)
            limits = self.versions.current().options.limit
        return limited(limits, self.cancellation, function, *args)

    def settle(self, *, is_read: bool) -> Version:
        """See ``Reasoner.settled``."""
        version = self.versions.current()
        if version.length or version.derived.state is None:
            self.versions.change_beside(Version.applied)
            base, version = self.versions.base(), self.versions.current()
            self._examine(version)
            for needed in (base, version):
                if needed is not None and needed.derived.state is None:
                    self.limited(None, self._derive_in_turn, needed)
        if is_read and version.derived is not self.warned_of:
            self._warn(version)
        return version

    def forget(self) -> None:
        """Drop what refers to the ids of the present dictionary, or to a version that is closed."""
        self.latest = self.warned_of = None

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
            from corollary.reasoner.suspension_warnings import warn_of

            warn_of(result, version.terms, version.terms.printer(version.namespaces), self._warned)
        self.warned_of = version.derived

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
            if state.materialisation is not None or self.versions.own() is None:
                self.latest = state
            version.derived.state = state

    def _follow(self, version: Version) -> State:
        """What follows from a version, found from what was derived last."""
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
        """Follow other options now; with rules that cannot be evaluated all is as before."""

        def step(version: Version) -> Version:
            return version.changed(options=change(version.options))

        def follow() -> None:
            for _ in self.versions.steps():
                before = self.versions.current()
                self.versions.change(step)
                result = self.settle(is_read=False).state.materialisation
                if result is not None and result.strata.suspended:
                    self._refuse_suspended(result, before)

        self.limited(None, follow)

    def _refuse_suspended(self, result: Materialisation, before: Version) -> None:
        """Raise ``UnstratifiableError`` if rules are suspended that were not so by the options before."""
        from corollary.reasoner.suspension_warnings import refuse

        program, facts = before.options.program, self.versions.current().quads.union
        known = () if program is None else materialise(facts, program, result.dictionary).suspended
        refuse(result, known)
