"""The rules of a store by id, also those that are switched off."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from time import monotonic
from typing import Any

from corollary.evaluate.facts_by_rule import inferred_by
from corollary.kernels.limits import Cancellation, LimitExceeded, Limits, limited
from corollary.language import Program, Rule, format_rule, parse_program
from corollary.maintain import Report
from corollary.reasoner.version import Version
from corollary.serve.problems import Problem
from corollary.serve.tuning import MAX_ROWS_OF_RULE_COUNT, SECONDS_FOR_RULE_COUNTS
from corollary.store import CorollaryStore


def id_of(rule: Rule) -> str:
    """The id of a rule: a hash of its text, so that equal rules have one id."""
    return sha256(format_rule(rule).encode()).hexdigest()[:12]


@dataclass
class RuleCounts:
    """By rule, the inferred facts of a state that it derives; None if the count exceeded a limit."""

    counts: dict[str, int | None] = field(default_factory=dict)


def counted(version: Version, rules: Iterable[Rule]) -> dict[str, int | None]:
    """The inferred facts that each rule derives, by id. Each is counted once for a state.

    A rule has None that takes more than ``SECONDS_FOR_RULE_COUNTS`` or ``MAX_ROWS_OF_RULE_COUNT``. The rules
    for which no time was left are missing: the next call begins with them.
    """
    result = version.state.materialisation
    if result is None:
        return {}
    known = version.state.known_to_queries.setdefault(RuleCounts, RuleCounts()).counts
    legal = version.state.index.legal()
    end = monotonic() + SECONDS_FOR_RULE_COUNTS
    has_all_time = True
    for name, rule in [(id_of(rule), rule) for rule in rules]:
        left = end - monotonic()
        if name in known:
            continue
        if left <= 0 and not has_all_time:
            break
        limits = Limits(seconds=max(0.0, left), facts=MAX_ROWS_OF_RULE_COUNT, terms=None)
        try:
            known[name] = limited(limits, Cancellation(), inferred_by, rule, result, legal)
        except LimitExceeded as error:
            if error.limit != "facts" and not has_all_time:
                break
            known[name] = None
        has_all_time = False
    return dict(known)


class RuleBook:
    """The rules in force, those that are switched off, and which of them were added to the first ones.

    Methods that change rules are called inside a transaction, and return the report of the change. A rule is
    off if it was switched off, and is not in force: so a transaction that fails changes nothing here.
    """

    def __init__(self, store: CorollaryStore) -> None:
        self.store = store
        self._first = {id_of(rule) for rule in store.rules()}
        self._switched_off: dict[str, Rule] = {}

    def listed(self, *, counts: bool) -> list[dict[str, Any]]:
        """All rules of one version, as JSON. ``counts``: with the inferred facts that each derives."""
        version = self.store.reasoner.settled()
        program = version.options.program or Program(())
        derived = counted(version, program) if counts else {}
        prefixes = (*program.prefixes, *((prefix, str(name)) for prefix, name in version.namespaces))
        entries = [self._entry(rule, prefixes, derived, is_on=True) for rule in program]
        in_force = {entry["id"] for entry in entries}
        others = [rule for name, rule in list(self._switched_off.items()) if name not in in_force]
        return entries + [self._entry(rule, prefixes, {}, is_on=False) for rule in others]

    def _entry(
        self,
        rule: Rule,
        prefixes: Sequence[tuple[str, str]],
        derived: dict[str, int | None],
        *,
        is_on: bool,
    ) -> dict[str, Any]:
        name = id_of(rule)
        return {
            "id": name,
            "name": rule.name,
            "text": format_rule(rule, prefixes),
            "derived": derived.get(name),
            "origin": "profile" if name in self._first else "added",
            "enabled": is_on,
        }

    def add(self, text: str) -> tuple[list[str], Report | None]:
        """Add rules. The text is rules, never the name of a file. Returns the ids of the new ones."""
        program = parse_program(text, "rules")
        added, report = self._changed(lambda: self.store.add_rules(program))
        return [id_of(rule) for rule in added], report

    def switch_off(self, name: str) -> Report | None:
        """Remove a rule that is in force. Raises Problem if there is none."""
        rule = self._in_force(name)
        if rule is None:
            raise Problem(404, "Not found", "no rule in force has this id")
        self._switched_off[name] = rule
        return self._changed(lambda: self.store.remove_rules(Program((rule,))))[1]

    def switch_on(self, name: str) -> Report | None:
        """Add a rule that was switched off. Raises Problem if there is none."""
        rule = self._switched_off.get(name)
        if rule is None or self._in_force(name) is not None:
            raise Problem(404, "Not found", "no rule with this id is switched off")
        program = Program((rule,), self.store.rules().prefixes)
        return self._changed(lambda: self.store.add_rules(program))[1]

    def remove(self, name: str) -> Report | None:
        """Switch a rule off, or forget one that is off. Raises Problem if there is none."""
        if self._in_force(name) is None and self._switched_off.pop(name, None) is not None:
            return None
        return self.switch_off(name)

    def _in_force(self, name: str) -> Rule | None:
        return next((rule for rule in self.store.rules() if id_of(rule) == name), None)

    def _changed(self, change: Callable[[], Program]) -> tuple[Program, Report | None]:
        """The rules that a call changed, and the report; None if nothing was maintained."""
        before = self.store.last_maintenance()
        rules = change()
        after = self.store.last_maintenance()
        return rules, None if after is before else after
