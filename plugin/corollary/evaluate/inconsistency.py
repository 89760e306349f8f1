"""Inconsistencies: what satisfies the body of a constraint. Results, never exceptions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from corollary.execute.batches import Batch
from corollary.kernels.sorted import Rows
from corollary.language import Pair, Rule, Term, Variable, constant_text, variables
from corollary.program.compile import CompiledRule, is_virtual
from corollary.terms.dictionary import TermDictionary

Fact = tuple[int, int, int]

MOST_CLASHES = 1000
"""So many clashes of one constraint are spelled out; the others are only counted."""


@dataclass(frozen=True, slots=True)
class Inconsistency:
    """Facts that together contradict a rule, given by its name.

    Facts of virtual relations are among them: what lists and literals add to the explanation. ``pairs`` are
    lists with two items at different positions (PAIR in the rule), and ``cells`` the facts that say so: one
    way of several, which is not what tells clashes apart.
    """

    rule: str
    facts: tuple[Fact, ...]
    pairs: tuple[Fact, ...] = ()
    cells: tuple[Fact, ...] = ()

    def conditions(self, dictionary: TermDictionary) -> Iterator[str]:
        """What lists and literals add: ``NAME(first, second)``, ``PAIR(list, first, second)``."""
        for fact in self.facts:
            if is_virtual(fact[1]):
                first, name, second = map(dictionary.decode, fact)
                yield f"{name}({first}, {second})"
        for pair in self.pairs:
            yield f"PAIR({', '.join(map(dictionary.decode, pair))})"

    def text(self, dictionary: TermDictionary) -> str:
        """``rule: subject predicate object, NAME(first, second)`` in N-Triples terms."""
        triples = (" ".join(map(dictionary.decode, fact)) for fact in self.facts if not is_virtual(fact[1]))
        return f"{self.rule}: {', '.join((*triples, *self.conditions(dictionary)))}"


def clashes(
    rule: CompiledRule, written: Rule, batch: Batch, dictionary: TermDictionary
) -> tuple[list[Inconsistency], int]:
    """The first clashes among the bindings of a constraint's body, and how many there are.

    ``written`` is the rule with its list patterns. Bindings that come to the same facts and pairs, such as
    mirror images, are one clash, as far as they are spelled out. Clashes and mirror images are in the order
    of their texts, whatever the ids are.
    """
    named = {variable.name for variable in variables(written)}
    hidden = {-1 - number for number, name in enumerate(rule.names) if name not in named}
    if hidden:
        batch = batch.take(_first_of_each(batch, [v for v in batch.columns if v not in hidden]))
    shown = batch.take(np.arange(min(batch.size, 2 * MOST_CLASHES)))
    columns = {variable: column.tolist() for variable, column in shown.columns.items()}

    def value(term: int, row: int) -> int:
        return term if term >= 0 else columns[term][row]

    def number(term: Term) -> int:
        return rule.slot(term) if isinstance(term, Variable) else dictionary.encode(constant_text(term))

    patterns = [
        (number(e.list), number(e.first), number(e.second)) for e in written.body if isinstance(e, Pair)
    ]
    found: dict[object, tuple[str, Inconsistency]] = {}
    for row in range(shown.size):
        parts: dict[bool, dict[Fact, None]] = {False: {}, True: {}}
        for atom in rule.atoms:
            fact = value(atom.s, row), value(atom.p, row), value(atom.o, row)
            parts[bool(hidden & atom.variables)][fact] = None
        pairs = tuple((value(a, row), value(b, row), value(c, row)) for a, b, c in patterns)
        clash = Inconsistency(rule.label, tuple(parts[False]), pairs, tuple(parts[True]))
        key = frozenset(parts[False]), frozenset((a, frozenset((b, c))) for a, b, c in pairs)
        text = clash.text(dictionary)
        if key not in found or text < found[key][0]:
            found[key] = text, clash
    told = [clash for _, clash in sorted(found.values(), key=lambda each: each[0])]
    is_all = shown.size == batch.size and len(told) <= MOST_CLASHES
    return told[:MOST_CLASHES], len(told) if is_all else batch.size


def _first_of_each(batch: Batch, wanted: list[int]) -> Rows:
    """A row of each combination of values of some variables."""
    if not wanted:
        return np.arange(min(batch.size, 1))
    columns = [batch.columns[variable] for variable in wanted]
    order: Rows = np.lexsort(columns)
    is_first = np.zeros(order.size, np.bool_)
    is_first[:1] = True
    for column in columns:
        is_first[1:] |= column[order[1:]] != column[order[:-1]]
    return order[is_first]
