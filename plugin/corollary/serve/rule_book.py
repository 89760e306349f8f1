"""The rules of a store by id, also those that are switched off."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any

from corollary.language import Program, Rule, format_rule, parse_program
from corollary.maintain import Report
from corollary.serve.problems import Problem
from corollary.store import CorollaryStore


def id_of(rule: Rule) -> str:
    """The id of a rule: a hash of its text, so that equal rules have one id."""
    return sha256(format_rule(rule).encode()).hexdigest()[:12]


class RuleBook:
    """The rules in force, those that are switched off, and which of them were added to the first ones.

    Methods that change rules are called inside a transaction, and return the change; ``settle`` records it
    when it is committed.
    """

    def __init__(self, store: CorollaryStore) -> None:
        self.store = store
        self._first = {id_of(rule) for rule in store.rules()}
        self._off: dict[str, Rule] = {}

    def listed(self) -> list[dict[str, Any]]:
        """All rules, as JSON."""
        program = self.store.rules()
        prefixes = (*program.prefixes, *((prefix, str(name)) for prefix, name in self.store.namespaces()))
        return [self._entry(rule, prefixes, is_on=True) for rule in program] + [
            self._entry(rule, prefixes, is_on=False) for rule in list(self._off.values())
        ]

    def _entry(self, rule: Rule, prefixes: Sequence[tuple[str, str]], *, is_on: bool) -> dict[str, Any]:
        name = id_of(rule)
        return {
            "id": name,
            "name": rule.name,
            "text": format_rule(rule, prefixes),
            "derived": None,
            "origin": "profile" if name in self._first else "added",
            "enabled": is_on,
        }

    def add(self, text: str) -> tuple[list[str], Report | None]:
        """Add rules. The text is rules, never the name of a file. Returns the ids of the new ones."""
        program = parse_program(text, "rules")
        added, report = self._changed(lambda: self.store.add_rules(program))
        return [id_of(rule) for rule in added], report

    def switch_off(self, name: str) -> tuple[Rule, Report | None]:
        """Remove a rule that is in force. Raises Problem if there is none."""
        rule = next((rule for rule in self.store.rules() if id_of(rule) == name), None)
        if rule is None:
            raise Problem(404, "Not found", "no rule in force has this id")
        return rule, self._changed(lambda: self.store.remove_rules(Program((rule,))))[1]

    def switch_on(self, name: str) -> Report | None:
        """Add a rule that was switched off. Raises Problem if there is none."""
        if name not in self._off:
            raise Problem(404, "Not found", "no rule with this id is switched off")
        program = Program((self._off[name],), self.store.rules().prefixes)
        return self._changed(lambda: self.store.add_rules(program))[1]

    def _changed(self, change: Callable[[], Program]) -> tuple[Program, Report | None]:
        """The rules that a call changed, and the report; None if nothing was maintained."""
        before = self.store.last_maintenance()
        rules = change()
        after = self.store.last_maintenance()
        return rules, None if after is before else after

    def is_off(self, name: str) -> bool:
        """Whether a rule is switched off."""
        return name in self._off

    def record_off(self, rule: Rule) -> None:
        """Remember a rule that is no longer in force."""
        self._off[id_of(rule)] = rule

    def forget(self, *names: str) -> None:
        """Forget rules that were switched off."""
        for name in names:
            self._off.pop(name, None)
