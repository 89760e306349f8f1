"""Rules that the facts suspend: which, by what cycle, and which facts close it.

Data are data: a fact never makes a program wrong. If the facts at hand let a rule with negation or an
aggregate depend on its own conclusion, that rule is left out for as long as they do; all others are applied.

Let P be the program, E the explicit facts, M the closure of E under the monotone rules of P. The suspended
rules S are found in rounds, and only come. First those whose negative edge lies inside a strongly connected
component of the rule instances over M. Then P without S is evaluated, stratum by stratum, to I. Then those
whose edge lies inside a component over I, and those for which facts came late (``Suspension``). If there are
any, or if the order over I is another, all starts over without them. So S depends on P and E alone: a rule
whose own conclusions close its cycle stays left out, though these are gone then.

Mostly no stratum leads to schema facts. Then the instances over I are those over M, one round finds S, and
maintenance compares the cycles over the new I with S. Else (``schema_depends_on_strata``) it starts over.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from corollary.columns.triples import TripleIndex
from corollary.language import Rule
from corollary.program.compile import CompiledRule, Tables, is_virtual
from corollary.program.compiled_program import CompiledProgram
from corollary.program.dependencies import live_edges, row_of
from corollary.program.edges import Edge
from corollary.program.stratify import Strata, cycle_texts, negative_cycles, verb
from corollary.terms.dictionary import TermDictionary

Fact = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Suspended:
    """A rule as it was written, what it does with what it reads, and its cycle, as N-Triples terms.

    ``facts`` close the cycle: without any one of them there is none, or another. If the rules show no cycle,
    they are facts that follow from the rule's conclusions and match what it negates or aggregates over.
    """

    rule: Rule
    label: str
    verb: str
    cycle: tuple[str, ...]
    facts: tuple[Fact, ...]

    @property
    def called(self) -> str:
        """The rule in a sentence."""
        return f"rule {self.label}" if self.rule.name else self.label

    def complaint(self, cycle: Sequence[str]) -> str:
        """What is wrong with it; the cycle may be written with prefixes."""
        told = f": {' -> '.join(cycle)}" if cycle else ""
        return f"{self.verb} what depends on its own conclusion{told}"

    def sentence(self, cycle: Sequence[str], facts: Iterable[str]) -> str:
        """That it is suspended, and why; the facts may be written with prefixes, too."""
        by = ", ".join(facts)
        return f"{self.called} is suspended: it {self.complaint(cycle)}{f'; by {by}' if by else ''}"

    def text(self, dictionary: TermDictionary) -> str:
        """The sentence in N-Triples terms."""
        return self.sentence(self.cycle, (" ".join(map(dictionary.decode, fact)) for fact in self.facts))


def suspended_rules(
    compiled: CompiledProgram, facts: TripleIndex, tables: Tables, strata: Strata
) -> tuple[Suspended, ...]:
    """The rules that strata leave out, over these facts."""
    if not strata.suspended:
        return ()
    cycles = negative_cycles(live_edges(compiled, facts, tables))
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
    """The facts that bring the instance with an edge; an instance that is gone has none."""
    rule: CompiledRule = edge.rule
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
