"""Suspension of rules: which rules, by which cycle, and which facts close the cycle.

A fact never makes a program invalid. If facts let a rule with negation or an aggregate depend on its own
conclusion, the rule is left out while these facts are there. All other rules are applied.

Let P be the program, E the explicit facts, M the closure of E under the monotone rules of P. The set S of
suspended rules is computed in rounds, and only grows:

1. Add to S the rules with a negative edge inside a strongly connected component of the instances over M.
2. Evaluate P without S, stratum by stratum, to I.
3. Add to S the rules with such an edge over I. If there are none, and the strata over I have the same order,
   add those for which facts came late (``Suspension``).
4. If step 3 added a rule, or the strata over I have another order, start over without S.

So S depends on P and E alone. A rule whose own conclusions close its cycle stays suspended, although nothing
derives these conclusions any more. For instance, beside cax-sco:

    :Plain[?x], [:Plain, rdfs:subClassOf, :Marked] :- :Thing[?x], NOT :Marked[?x] .

Usually no stratum leads to schema facts. Then the instances over I are those over M, one round finds S, and
maintenance compares the cycles over the new I with S. Otherwise (``schema_depends_on_strata``) maintenance
recomputes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from corollary.columns import TripleIndex
from corollary.language import Rule
from corollary.program.compile import CompiledRule, Tables, is_virtual
from corollary.program.compiled_program import CompiledProgram
from corollary.program.dependencies import live_edges, row_of
from corollary.program.edges import SEEDS, Edge
from corollary.program.recursion import ordering_edges
from corollary.program.stratify import Strata, cycle_texts, negative_cycles, verb
from corollary.terms.dictionary import TermDictionary

Fact = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Suspended:
    """A suspended rule as written, the verb for it in messages, and its cycle as N-Triples terms.

    ``facts`` close the cycle: without any one of them, this cycle does not exist. If ``cycle`` is empty, the
    facts were derived from the rule's conclusions, and match what the rule negates or aggregates over.
    """

    rule: Rule
    label: str
    verb: str
    cycle: tuple[str, ...]
    facts: tuple[Fact, ...]

    @property
    def called(self) -> str:
        """The rule's name or number, in messages."""
        return f"rule {self.label}" if self.rule.name else self.label

    def complaint(self, cycle: Sequence[str]) -> str:
        """The reason, with the nodes of the cycle as given (for instance with prefixes)."""
        ending = f": {' -> '.join(cycle)}" if cycle else ""
        return f"{self.verb} what depends on its own conclusion{ending}"

    def sentence(self, cycle: Sequence[str], facts: Iterable[str]) -> str:
        """The whole message, with the cycle and the facts as given."""
        by = ", ".join(facts)
        return f"{self.called} is suspended: it {self.complaint(cycle)}{f'; by {by}' if by else ''}"

    def text(self, dictionary: TermDictionary) -> str:
        """The whole message in N-Triples terms."""
        return self.sentence(self.cycle, (" ".join(map(dictionary.decode, fact)) for fact in self.facts))


def suspended_rules(
    compiled: CompiledProgram, facts: TripleIndex, tables: Tables, strata: Strata
) -> tuple[Suspended, ...]:
    """The rules that ``strata`` suspends, with their cycles over these facts."""
    if not strata.suspended:
        return ()
    cycles = negative_cycles(ordering_edges(live_edges(compiled, facts, tables)))
    found = []
    for rule in compiled.rules:
        if rule.number in strata.suspended:
            why = strata.suspended[rule.number]
            cycle = cycles.get(rule.number, why.cycle)
            rdf_type = compiled.rdf_type
            closing = dict.fromkeys(fact for edge in cycle for fact in _guards(edge, tables, facts, rdf_type))
            texts = tuple(cycle_texts(cycle, compiled.dictionary)) if cycle else ()
            found.append(
                Suspended(compiled.written(rule), rule.label, verb(rule), texts, tuple(closing) or why.late)
            )
    return tuple(found)


def _guards(edge: Edge, tables: Tables, facts: TripleIndex, rdf_type: int) -> Iterator[Fact]:
    """The guard facts of an instance with this edge; none if no such instance is left."""
    rule: CompiledRule = edge.rule
    if edge.target >= SEEDS:
        edge = replace(edge, target=edge.target - SEEDS)
    if edge.link or not rule.guards:
        return
    size, columns = tables(rule)
    row = row_of(edge, size, columns, rdf_type)
    if row is None:
        return
    for position in sorted(rule.guards):
        atom = rule.atoms[position]
        if not is_virtual(atom.p):
            s, p, o = (term if term >= 0 else int(np.asarray(columns[term])[row]) for term in atom.terms)
            if facts.relation(p).has(s, o):
                yield s, p, o
