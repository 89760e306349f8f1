"""The module of rules over long lists: EACH and CHAIN, evaluated without unrolling (``execute.long_lists``).

One call applies the rules once: conclusions are feedback. The module has no state but the rules that it has
not yet applied.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from corollary.columns import Candidates, Pairs, TripleIndex
from corollary.execute.chains import Path
from corollary.execute.context import ExecutionContext
from corollary.execute.long_lists import EveryItem, LongListRule
from corollary.execute.run_plan import emit
from corollary.modules.module import Answer, External, Module
from corollary.modules.rule_set import RuleSet
from corollary.program.compile import CompiledRule
from corollary.program.compiled_program import CompiledProgram


def long_list_rule(rule: CompiledRule, context: ExecutionContext) -> LongListRule:
    """The evaluation of a rule over long lists."""
    assert rule.along is not None
    return (EveryItem if rule.along.ends is None else Path)(rule, context)


class ListRules(Module):
    """The module of all rules over long lists."""

    name = "long lists"
    why = "a pattern over a long list: all cells of the list at a time"
    turn = 75
    is_optional = False
    keeps_state = False

    def __init__(self, context: ExecutionContext) -> None:
        self.rules: list[CompiledRule] = []
        self._context = context
        self._forms: list[LongListRule] = []
        self._unstarted: set[int] = set()
        self._predicates: frozenset[int] = frozenset()

    @classmethod
    def claim(cls, offered: Sequence[CompiledRule], rules: RuleSet) -> Iterable[CompiledRule]:
        """The rules in their form for long lists."""
        return [rule for rule in offered if rule.along is not None]

    @classmethod
    def make(cls, program: CompiledProgram, context: ExecutionContext) -> ListRules:
        """A module without rules."""
        return cls(context)

    def add_rule(self, rule: CompiledRule) -> None:
        """Add a rule. The next ``add`` applies the rule to all facts."""
        self.rules.append(rule)
        self._forms.append(long_list_rule(rule, self._context))
        self._unstarted.add(rule.number)
        self.is_waiting = True
        self._predicates |= rule.needs

    def remove_rules(self, numbers: Collection[int], facts: TripleIndex) -> Candidates:
        """Remove rules. Returns all their conclusions from ``facts``."""
        lost: Candidates = {}
        for form in self._forms:
            if form.rule.number in numbers:
                emit(form.rule.heads, form.all(facts), lost)
        self._forms = [form for form in self._forms if form.rule.number not in numbers]
        self.rules = [form.rule for form in self._forms]
        self._unstarted -= set(numbers)
        self.is_waiting = bool(self._unstarted)
        self._predicates = frozenset(p for rule in self.rules for p in rule.needs)
        return lost

    def reads(self, predicate: int) -> bool:
        """Whether a body atom may match facts of the predicate."""
        return predicate in self._predicates or min(self._predicates, default=0) < 0

    def feedback(self, predicate: int, new: Pairs) -> Pairs:
        """All of ``new``: conclusions may be premises."""
        return new

    def add(self, facts: TripleIndex, recent: TripleIndex) -> Answer:
        """The conclusions of instances with a recent premise, and all of rules not yet applied."""
        candidates: Candidates = {}
        for form in self._forms:
            is_new = form.rule.number in self._unstarted
            emit(form.rule.heads, form.all(facts) if is_new else form.touched(facts, recent), candidates)
        self._unstarted, self.is_waiting = set(), False
        return Answer(candidates)

    def restore(self, facts: TripleIndex, external: External) -> Candidates:
        """Mark all rules as applied."""
        self._unstarted, self.is_waiting = set(), False
        return {}

    def overdelete(self, facts: TripleIndex, deleted: TripleIndex, proved: TripleIndex) -> Answer:
        """The conclusions of all instances over ``facts`` with a deleted premise."""
        return Answer(_touched(self._forms, facts, deleted))

    def propagate_proved(self, facts: TripleIndex, recent: TripleIndex, wanted: TripleIndex) -> Candidates:
        """One round over proved facts, by the rules that may conclude a wanted fact."""
        heads = ((form, form.rule.heads) for form in self._forms)
        leading = [form for form, own in heads if any(wanted.has_match(h.s, h.p, h.o) for h in own)]
        return _touched(leading, facts, recent)

    def rederive(self, candidates: TripleIndex, facts: TripleIndex) -> Candidates:
        """The candidates that are conclusions of instances over ``facts``."""
        derived: Candidates = {}
        for form in self._forms:
            for head in form.rule.heads:
                emit((head,), form.backward(head, candidates, facts), derived)
        return derived

    def premises(self, candidates: TripleIndex, facts: TripleIndex, proved: TripleIndex) -> Candidates:
        """The premises of all instances over ``facts`` whose conclusion is a candidate."""
        read: Candidates = {}
        for form in self._forms:
            for head in form.rule.heads:
                form.premises(form.backward(head, candidates, facts), facts, read)
        return read

    def commit_deletions(self, facts: TripleIndex, deleted: TripleIndex) -> None:
        """Nothing: the module has no state about facts."""


def _touched(forms: Iterable[LongListRule], facts: TripleIndex, recent: TripleIndex) -> Candidates:
    """The conclusions over ``facts`` of all instances with a recent premise."""
    candidates: Candidates = {}
    for form in forms:
        emit(form.rule.heads, form.touched(facts, recent), candidates)
    return candidates
