"""Predicates that are symmetric by their rules: if p(x, y) follows, then p(y, x) follows.

Such predicates are the greatest set S for which each rule with a head in S has a counterpart: a rule that is
the same but for the names of variables, after the ends of the head are exchanged, and those of some body
atoms in S. Then each proof of p(x, y) becomes one of p(y, x) of the same height, if no fact of S is explicit.

    [?y, :alias, ?z] :- [?x, :flows, ?y], [?x, :same, ?w], [?w, :flows, ?z] .   its own counterpart, if
    [?y, :same, ?z] :- [?x, :alias, ?y], [?x, :alias, ?z] .                     :same is symmetric, as it is
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from corollary.program.compile import Atom, CompiledRule
from corollary.program.tuning import MAX_ATOMS_MATCHED


def symmetric_by_rules(rules: Iterable[CompiledRule], predicates: Collection[int]) -> frozenset[int]:
    """The greatest set of the ``predicates`` that are symmetric by these rules.

    Precondition: no other rule derives facts of the predicates. None is symmetric beside a rule that may
    derive facts of any predicate. Rules with conditions, negation, aggregates, long lists, many atoms or
    several heads have no counterpart.
    """
    by_head: defaultdict[int, list[CompiledRule]] = defaultdict(list)
    for rule in rules:
        for head in rule.heads:
            by_head[head.p].append(rule)
    if min(by_head, default=0) < 0:
        return frozenset()
    symmetric = {p for p in predicates if p in by_head and all(map(_is_plain, by_head[p]))}
    while True:
        lacking = {p for p in symmetric if not _have_counterparts(by_head[p], symmetric)}
        if not lacking:
            return frozenset(symmetric)
        symmetric -= lacking


def _is_plain(rule: CompiledRule) -> bool:
    is_small = len(rule.heads) == 1 and len(rule.atoms) <= MAX_ATOMS_MATCHED
    return is_small and rule.is_monotone and not rule.conditions and rule.along is None


def _have_counterparts(rules: Sequence[CompiledRule], symmetric: Collection[int]) -> bool:
    """Whether each rule has a counterpart among the rules."""
    return all(any(_are_counterparts(rule, other, symmetric) for other in rules) for rule in rules)


def _are_counterparts(rule: CompiledRule, other: CompiledRule, symmetric: Collection[int]) -> bool:
    """Whether one rule is the other one with the ends of the head exchanged, and of some symmetric atoms."""
    renamed = _renamed(_turned(rule.heads[0]), other.heads[0], {})
    are_as_many = len(rule.atoms) == len(other.atoms)
    return are_as_many and renamed is not None and _match(rule.atoms, other.atoms, symmetric, renamed)


def _match(
    atoms: Sequence[Atom], others: Sequence[Atom], symmetric: Collection[int], renamed: Mapping[int, int]
) -> bool:
    """Whether the atoms become the others, in some order, if more variables are renamed, one to one."""
    if not atoms:
        return True
    forms = (atoms[0], _turned(atoms[0])) if atoms[0].p in symmetric else atoms[:1]
    for place, other in enumerate(others):
        for atom in forms:
            more = _renamed(atom, other, renamed)
            left = (*others[:place], *others[place + 1 :])
            if more is not None and _match(atoms[1:], left, symmetric, more):
                return True
    return False


def _turned(atom: Atom) -> Atom:
    return Atom(atom.o, atom.p, atom.s)


def _renamed(atom: Atom, other: Atom, renamed: Mapping[int, int]) -> dict[int, int] | None:
    """The renaming, extended so that the atom becomes the other one; None if there is none."""
    found = dict(renamed)
    for term, target in zip(atom.terms, other.terms, strict=True):
        if term >= 0 or target >= 0:
            if term != target:
                return None
        elif found.setdefault(term, target) != target:
            return None
    return found if len({*found.values()}) == len(found) else None
