"""Inconsistencies: bindings that satisfy the body of a constraint. They are results, not exceptions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from corollary.columns import TripleIndex
from corollary.evaluate.constraint_bindings import bindings
from corollary.evaluate.tuning import MAX_CLASHES_LISTED
from corollary.execute.batches import Batch
from corollary.execute.context import ExecutionContext
from corollary.execute.run_plan import run
from corollary.kernels.sorted import Rows
from corollary.language import Pair, Rule, Term, Variable, constant_text, variables
from corollary.plan.steps import Age, Plan
from corollary.program.compile import CompiledRule, is_virtual
from corollary.terms.dictionary import TermDictionary

Fact = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Inconsistency:
    """Facts that together satisfy the body of a constraint, and the constraint's label (``rule``).

    ``facts`` include those of virtual relations, over lists and literals. ``pairs`` are (list, first item,
    second item) for each PAIR in the rule. ``cells`` are the facts about list cells that prove the pairs: one
    proof of possibly several. Two clashes that differ in their cells only are the same clash. ``bindings``
    are the terms of the rule's variables, by name.
    """

    rule: str
    facts: tuple[Fact, ...]
    pairs: tuple[Fact, ...] = ()
    cells: tuple[Fact, ...] = ()
    bindings: tuple[tuple[str, int], ...] = field(default=(), compare=False)

    def conditions(self, dictionary: TermDictionary) -> Iterator[str]:
        """The virtual facts and pairs as text: ``NAME(first, second)``, ``PAIR(list, first, second)``."""
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
    rule: CompiledRule, plan: Plan, facts: TripleIndex, written: Rule, context: ExecutionContext
) -> tuple[list[Inconsistency], int]:
    """The first MAX_CLASHES_LISTED clashes that a plan for a constraint's body finds, and the number of all.

    ``written`` is the rule with its list patterns. Bindings with the same set of facts and pairs, such as
    ``?x, ?y`` swapped in a symmetric body, are one clash; if not all are listed, the number counts bindings.
    Clashes are sorted by their texts, so that the order does not depend on ids.
    """
    dictionary = context.dictionary
    named = {variable.name for variable in variables(written)}
    hidden = {-1 - number for number, name in enumerate(rule.names) if name not in named}
    if hidden:
        batch = run(plan, {Age.ALL: facts}, rule, context)
        batch = batch.take(_first_of_each(batch, [v for v in batch.columns if v not in hidden]))
        count = batch.size
    else:
        batch, count = bindings(rule, plan, facts, context, 2 * MAX_CLASHES_LISTED)
    shown = batch.take(np.arange(min(batch.size, 2 * MAX_CLASHES_LISTED)))
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
        names = tuple((rule.names[-1 - v], value(v, row)) for v in columns if v < 0 and v not in hidden)
        clash = Inconsistency(rule.label, tuple(parts[False]), pairs, tuple(parts[True]), names)
        key = frozenset(parts[False]), frozenset((a, frozenset((b, c))) for a, b, c in pairs)
        text = clash.text(dictionary)
        if key not in found or text < found[key][0]:
            found[key] = text, clash
    listed = [clash for _, clash in sorted(found.values(), key=lambda each: each[0])]
    is_all = shown.size == count and len(listed) <= MAX_CLASHES_LISTED
    return listed[:MAX_CLASHES_LISTED], len(listed) if is_all else count


def _first_of_each(batch: Batch, wanted: list[int]) -> Rows:
    """One row for each distinct combination of some variables' values."""
    if not wanted:
        return np.arange(min(batch.size, 1))
    columns = [batch.columns[variable] for variable in wanted]
    order: Rows = np.lexsort(columns)
    is_first = np.zeros(order.size, np.bool_)
    is_first[:1] = True
    for column in columns:
        is_first[1:] |= column[order[1:]] != column[order[:-1]]
    return order[is_first]
