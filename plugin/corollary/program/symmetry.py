"""Predicates that are symmetric by their rules: if p(x, y) follows, then p(y, x) follows.

Such predicates are the greatest set S for which each rule with a head in S has a counterpart: a rule that is
the same but for the names of variables, after the ends of the head are exchanged, and those of some body
atoms in S. Then each proof of p(x, y) becomes one of p(y, x) of the same height, if no fact of S is explicit.

    [?y, :alias, ?z] :- [?x, :flows, ?y], [?x, :same, ?w], [?w, :flows, ?z] .   its own counterpart, if
    [?y, :same, ?z] :- [?x, :alias, ?y], [?x, :alias, ?z] .                     :same is symmetric, as it is
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from corollary.program.compile import Atom, CompiledRule
from corollary.program.tuning import MAX_ATOMS_MATCHED


class Counterpart(NamedTuple):
    """What an atom becomes in a rule's counterpart: that at a place, with its ends exchanged or not."""

    place: int
    is_turned: bool


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


def own_counterparts(rule: CompiledRule, symmetric: Collection[int]) -> Sequence[Counterpart]:
    """What each body atom becomes, if the rule is its own counterpart; no atoms if it is not.

    Two atoms become each other, or one becomes itself.
    """
    if not _is_plain(rule):
        return ()
    for found in _counterparts(rule, rule, symmetric):
        if all(found[atom.place].place == place for place, atom in enumerate(found)):
            return found
    return ()


def _are_counterparts(rule: CompiledRule, other: CompiledRule, symmetric: Collection[int]) -> bool:
    """Whether one rule is the other one with the ends of the head exchanged, and of some symmetric atoms."""
    return any(True for _ in _counterparts(rule, other, symmetric))


def _counterparts(
    rule: CompiledRule, other: CompiledRule, symmetric: Collection[int]
) -> Iterator[Sequence[Counterpart]]:
    """All ways in which the body becomes that of another rule, if the ends of the head are exchanged."""
    renamed = _renamed(_turned(rule.heads[0]), other.heads[0], {})
    if len(rule.atoms) == len(other.atoms) and renamed is not None:
        yield from _matches(rule.atoms, dict(enumerate(other.atoms)), symmetric, renamed)


def _matches(
    atoms: Sequence[Atom], others: Mapping[int, Atom], symmetric: Collection[int], renamed: Mapping[int, int]
) -> Iterator[Sequence[Counterpart]]:
    """All ways in which the atoms become the others, by place, if more variables are renamed, one to one."""
    if not atoms:
        yield ()
        return
    for place, other in others.items():
        left = {i: atom for i, atom in others.items() if i != place}
        for is_turned in (False, True) if atoms[0].p in symmetric else (False,):
            more = _renamed(_turned(atoms[0]) if is_turned else atoms[0], other, renamed)
            for rest in _matches(atoms[1:], left, symmetric, more) if more is not None else ():
                yield (Counterpart(place, is_turned), *rest)


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
