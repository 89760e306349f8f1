"""Rules matched with few recent facts, one by one in Python.

Most changes are of one fact, and most rounds of a change have a few recent facts. To make columns of these
takes longer than to look up what they match.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from corollary.columns import Candidates, TripleIndex
from corollary.execute.few_rows import few_facts, few_matches
from corollary.execute.tuning import MAX_ROWS_JOINED_ONE_BY_ONE
from corollary.modules.guard_probes import ProbedRows
from corollary.modules.module import Fact
from corollary.modules.triggers import Trigger
from corollary.plan.steps import DeltaPlan, Join, Plan
from corollary.program.compile import Atom, is_virtual

Binding = dict[int, int]
"""The values of variables."""

Match = tuple[Trigger, Fact, Sequence[Binding] | None]
"""A trigger, a fact that matches its atom, and the bindings of its rule; None: not found one by one."""

Terms = tuple[int, int, int]
"""The terms of an atom."""

Steps = tuple[Sequence[Terms] | None, Sequence[Terms] | None]
"""The atoms to join with the rows of a family's table, and with the fact alone; None: not one by one."""


def steps_of(plan: DeltaPlan) -> Steps:
    """The atoms that a delta plan joins, after that of the recent facts."""
    probed = _joins(plan.body) if plan.guard_probe and plan.probes_table else None
    return probed, _joins(plan.direct)


def _joins(plan: Plan) -> Sequence[Terms] | None:
    """The atoms of all steps but the first one; None if some step is no join."""
    atoms = [step.atom.terms for step in plan if isinstance(step, Join)]
    return tuple(atoms[1:]) if len(atoms) == len(plan) else None


def starts(terms: Terms, fact: Fact, rows: ProbedRows | None) -> Sequence[Binding] | None:
    """The bindings by which a fact matches an atom, one for each row of a family's table.

    None for more rows than ``MAX_ROWS_JOINED_ONE_BY_ONE``.
    """
    found: Binding = {}
    if terms[1] < 0 and is_virtual(fact[1]):  # a variable matches no virtual relation
        return ()
    for term, value in zip(terms, fact, strict=True):
        if (found.setdefault(term, value) if term < 0 else term) != value:
            return ()
    if rows is None:
        return (found,)
    bindings = rows.bindings()
    if bindings is None:
        return None
    return [both for row in bindings if (both := row | found).items() >= row.items()]


def joined(starts: Sequence[Binding], atoms: Iterable[Terms], facts: TripleIndex) -> Sequence[Binding] | None:
    """The bindings that extend some by matches of all atoms.

    None for more than ``MAX_ROWS_JOINED_ONE_BY_ONE`` at a time, and for atoms of which neither end is bound.
    """
    bindings = starts
    relation_of = facts.relation
    for s, p, o in atoms:
        found: list[Binding] = []
        for binding in bindings:
            predicate = p if p >= 0 else binding.get(p)
            subject = s if s >= 0 else binding.get(s)
            value = o if o >= 0 else binding.get(o)
            if predicate is None:
                more = _joined_open(binding, (s, p, o), subject, value, facts)
                if more is None:
                    return None
                found += more
                continue
            relation = relation_of(predicate)
            if subject is not None and value is not None:
                if relation.has_key(subject << 32 | value):
                    found.append(binding)
                continue
            is_subject = subject is not None
            known, free = (subject, o) if is_subject else (value, s)
            if known is None:
                return None
            matches = few_matches((known,), relation, is_subject=is_subject)
            if matches is None:
                return None
            found += [{**binding, free: other} for other in matches[1]]
        if not found or len(found) > MAX_ROWS_JOINED_ONE_BY_ONE:
            return None if found else ()
        bindings = found
    return bindings


def _joined_open(
    binding: Binding, terms: Terms, subject: int | None, value: int | None, facts: TripleIndex
) -> Sequence[Binding] | None:
    """The bindings that extend one by facts of one end, and of any predicate; None as ``joined``."""
    s, p, o = terms
    known, free = (subject, o) if value is None else (value, s)
    if known is None or (subject is None) == (value is None) or free == p:
        return None
    found = few_facts((known,), facts, is_subject=value is None)
    if found is None:
        return None
    return [{**binding, p: predicate, free: other} for _, predicate, other in zip(*found, strict=True)]


def facts_of(atoms: Iterable[Atom], bindings: Iterable[Binding]) -> list[Fact]:
    """The facts that atoms become by some bindings of all their variables."""
    terms = [atom.terms for atom in atoms]
    return [
        (s if s >= 0 else binding[s], p if p >= 0 else binding[p], o if o >= 0 else binding[o])
        for s, p, o in terms
        for binding in bindings
    ]


def few_found(
    matches: Iterable[Match], found_by: Callable[[Trigger, Fact, Sequence[Binding]], Iterable[Fact]]
) -> tuple[Candidates, list[Trigger]]:
    """The facts that ``found_by`` returns for matches; and the triggers that are not matched one by one."""
    found: dict[int, set[int]] = {}
    left: dict[int, Trigger] = {}
    for trigger, fact, bindings in matches:
        if bindings is None:
            left[id(trigger)] = trigger
            continue
        for subject, predicate, value in found_by(trigger, fact, bindings):
            found.setdefault(predicate, set()).add(subject << 32 | value)
    return {p: [np.array(sorted(keys), np.uint64)] for p, keys in found.items()}, [*left.values()]


def heads_of(trigger: Trigger, fact: Fact, bindings: Sequence[Binding]) -> Iterable[Fact]:
    """What a rule concludes by some bindings."""
    return facts_of(trigger.rule.heads, bindings)


def matched(trigger: Trigger, fact: Fact, bindings: Sequence[Binding]) -> Iterable[Fact]:
    """The fact that a head of a rule has matched, and that follows by some bindings."""
    return (fact,)


def body_of(trigger: Trigger, fact: Fact, bindings: Sequence[Binding]) -> Iterable[Fact]:
    """The premises of a rule, by some bindings, whose head has matched a fact."""
    return facts_of(trigger.rule.atoms[: trigger.position], bindings)
