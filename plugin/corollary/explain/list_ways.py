"""The instances of rules over long lists, shown as instances of the rule unrolled for the list's length.

So a proof has the same form for lists of any length. For each cell of the list, the facts with the fewest
inferred ones are chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from corollary.columns import TripleIndex
from corollary.columns.pairs import among, distinct
from corollary.execute.batches import Batch
from corollary.execute.chains import Path, knots
from corollary.execute.long_lists import LongListRule
from corollary.explain.proof import Application, Fact
from corollary.language import Builtin, Chain, Each, Rule, Triple
from corollary.language.list_patterns import unroll
from corollary.program.compile import Atom, CompiledRule, compile_rule

Inferred = Callable[[Iterable[Atom], Batch], NDArray[np.uint16]]
"""For each row of a batch, the number of inferred facts that match the atoms."""

Chosen = list[tuple[int, list[Fact]]]
"""For each cell of a list: the item, and the facts that match the atoms of the pattern."""


class LongListWays:
    """The instances of one rule over long lists. ``template`` is the rule as it was written."""

    def __init__(self, form: LongListRule, template: Rule, inferred: Inferred) -> None:
        self._form = form
        self._template = template
        self._inferred = inferred
        self._unrolled: dict[int, CompiledRule] = {}

    def to(self, fact: Fact, head: Atom, facts: TripleIndex, most: int | None) -> list[Application]:
        """Up to ``most`` instances that conclude a fact, those with the fewest inferred premises first."""
        column = (np.array([term], np.uint32) for term in fact)
        batch = self._form.backward(head, TripleIndex.from_columns(*column), facts)
        if not batch.size:
            return []
        found: list[tuple[int, int, Chosen]] = []
        outside = self._inferred((*self._form.guards, *self._form.data), batch)
        choose = self._along_path if isinstance(self._form, Path) else self._of_every_item
        for row in range(batch.size):
            cost, chosen = choose(batch.take(np.array([row])), facts)
            found.append((cost + int(outside[row]), row, chosen))
        found.sort(key=lambda each: each[:2])
        return [self._application(batch, row, chosen) for _, row, chosen in found[:most]]

    def _application(self, batch: Batch, row: int, chosen: Chosen) -> Application:
        """The instance of the unrolled rule with the facts of one binding."""
        length = len(chosen)
        if length not in self._unrolled:
            rule, dictionary = self._form.rule, self._form.context.dictionary
            self._unrolled[length] = compile_rule(unroll(self._template, length), rule.number, dictionary)
        rule = self._unrolled[length]
        values = {variable: int(column[row]) for variable, column in batch.columns.items()}
        bindings = {}
        for atom, fact in zip(rule.atoms, self._facts(values, chosen), strict=True):
            for term, value in zip(atom.terms, fact, strict=True):
                if term < 0:
                    bindings[rule.names[-1 - term]] = value
        return Application(rule, bindings)

    def _facts(self, values: dict[int, int], chosen: Chosen) -> Iterator[Fact]:
        """The facts of the unrolled rule's atoms, in their order. A virtual predicate is given as 0."""
        rule, along = self._form.rule, self._form.along
        outer = iter(rule.atoms[: along.long])
        for element in self._template.body:
            if isinstance(element, Triple | Builtin):
                atom = next(outer)
                subject, predicate, value = (t if t >= 0 else values[t] for t in atom.terms)
                yield subject, predicate, value
            elif isinstance(element, Each | Chain):
                list_, _, reading = rule.atoms[along.long].terms
                yield values.get(list_, list_), 0, values[reading]
                for item, _ in chosen:
                    yield values[reading], 0, item
                for _, facts in chosen:
                    yield from facts

    def _of_every_item(self, binding: Batch, facts: TripleIndex) -> tuple[int, Chosen]:
        """The number of inferred facts for one binding of EACH, and the facts of each cell."""
        form = self._form
        batch, _ = form.with_cells(binding, form.table(facts).cells)
        batch = form.joined(batch, form.inside, facts, conditions=False)
        weights = self._inferred(form.inside, batch)
        order = np.lexsort((weights, batch.columns[form.cell]))
        cells = batch.columns[form.cell][order]
        order = order[np.append(True, cells[1:] != cells[:-1])]
        columns = [[batch.column(term)[order].tolist() for term in atom.terms] for atom in form.inside]
        items = batch.columns[form.item][order].tolist()
        of_cell = {
            cell: (items[row], [(s[row], p[row], o[row]) for s, p, o in columns])
            for row, cell in enumerate(batch.columns[form.cell][order].tolist())
        }
        reading = int(binding.columns[form.reading][0])
        return int(weights[order].sum()), [of_cell[cell] for cell in form.context.readings[reading]]

    def _along_path(self, binding: Batch, facts: TripleIndex) -> tuple[int, Chosen]:
        """The number of inferred facts on a best path of CHAIN for one binding, and the fact of each cell."""
        form = self._form
        assert isinstance(form, Path)
        reading = int(binding.columns[form.reading][0])
        start, end = (binding.column(term) for term in form.ends)
        edges, items = form.edges(reading, facts), form.items(reading, facts)
        nodes = knots(edges, distinct(start), distinct(end))
        cost = {int(start[0]): 0}
        steps: list[dict[int, tuple[int, Fact]]] = []
        for number, relations in enumerate(edges):
            best: dict[int, tuple[int, Fact]] = {}
            for item, relation in zip(items[number], relations, strict=True):
                rows, values = relation.objects_of(nodes[number])
                known = among(values, nodes[number + 1])
                subjects, values = nodes[number][rows[known]], values[known]
                weights = self._inferred(
                    (Atom(-1, item, -2),), Batch(values.size, {-1: subjects, -2: values})
                )
                for s, o, weight in zip(subjects.tolist(), values.tolist(), weights.tolist(), strict=True):
                    total = cost[s] + weight
                    if o not in best or total < best[o][0]:
                        best[o] = total, (s, item, o)
            steps.append(best)
            cost = {node: total for node, (total, _) in best.items()}
        node = int(end[0])
        path: Chosen = []
        for best in reversed(steps):
            fact = best[node][1]
            path.append((fact[1], [fact]))
            node = fact[0]
        return cost[int(end[0])], path[::-1]
