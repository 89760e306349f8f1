"""The equality module: replaces terms in facts by equal terms (owl:sameAs).

The module takes the rules ``eq-rep-s``, ``eq-rep-p`` and ``eq-rep-o``, in the form

    [?y, ?p, ?o] :- [?x, Q, ?y], [?x, ?p, ?o]

for the subject, likewise for predicate and object. Other rules make the constant relation Q symmetric and
transitive, so that the components of Q are cliques. Semi-naive evaluation would replace one term at a time,
and join every conclusion again, once for each other member of its cliques. Here a fact gets all its
replacements in one step, and these are not feedback.

Virtual relations are no triples: the module does not replace terms in them.

Cliques are materialised. One representative for each clique (Motik, Nenov, Piro, Horrocks, Handling
owl:sameAs via Rewriting, 2015) would need less memory. But then every reader of the index would have to
expand the cliques: patterns, counts, FILTERs on IRIs, SPARQL's bag semantics, rules with built-ins, and the
distinction between explicit and inferred facts. Here all readers see plain facts.

Invariant: after a turn, the facts are closed under replacement by the pairs of Q that the module received.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

import numpy as np

from corollary.closure.reachability import Paths
from corollary.columns import Candidates, Relation, TripleIndex
from corollary.columns.pairs import NO_KEYS, NO_PAIRS, Pairs, distinct, firsts, join, pack, seconds
from corollary.execute.context import ExecutionContext
from corollary.execute.filters import number_keys
from corollary.execute.run_plan import extend
from corollary.kernels.limits import at
from corollary.kernels.sorted import Column, Keys, Mask
from corollary.modules.module import Module
from corollary.modules.rule_set import RuleSet
from corollary.modules.semi_naive import SemiNaive
from corollary.program.compile import CompiledRule, is_virtual
from corollary.program.compiled_program import CompiledProgram
from corollary.program.shapes import closed_predicate, replaced_end, symmetric_predicate


class Equality(Module):
    """The module of all replacement rules over one relation Q. Places: 0 subject, 1 predicate, 2 object."""

    name = "equality"
    why = "terms replaced by equal terms: for whole cliques in one step"
    turn = 60

    def __init__(self, context: ExecutionContext) -> None:
        self.rules: list[CompiledRule] = []
        self._same = -1
        self._places: set[int] = set()
        self._context = context
        self._one_step = SemiNaive("replacement of one term", context)
        self._waiting = False

    @classmethod
    def claim(cls, offered: Sequence[CompiledRule], rules: RuleSet) -> Iterable[CompiledRule]:
        """The offered rules that replace terms by Q, if other rules make Q symmetric and transitive."""
        ends = [(rule, rules.recognised(replaced_end, rule)) for rule in offered]
        symmetric = {rules.recognised(symmetric_predicate, rule) for rule in rules.rules}
        closed = {rules.recognised(closed_predicate, rule) for rule in rules.rules}
        same = min({end[0] for _, end in ends if end is not None} & symmetric & closed, default=None)
        return [rule for rule, end in ends if end is not None and end[0] == same]

    @classmethod
    def minds(cls, rule: CompiledRule, rules: RuleSet) -> bool:
        """Whether the rule replaces terms."""
        return rules.recognised(replaced_end, rule) is not None

    @classmethod
    def make(cls, program: CompiledProgram, context: ExecutionContext) -> Equality:
        """A module without rules."""
        return cls(context)

    def add_rule(self, rule: CompiledRule) -> None:
        """Add a rule. Precondition: ``replaced_end`` finds the same relation Q as for the other rules."""
        end = replaced_end(rule)
        assert end is not None and (not self.rules or end[0] == self._same)
        self.rules.append(rule)
        self._same = end[0]
        self._places.add(end[1])
        same = {position for position, atom in enumerate(rule.atoms) if atom.p >= 0}
        self._one_step.add_rule(rule, same)
        self._waiting = True

    def remove_rules(self, numbers: Collection[int], facts: TripleIndex) -> Candidates:
        """Remove rules. Returns all conclusions of their instances over ``facts``."""
        derived = self._one_step.remove_rules(numbers, facts)
        self.rules = [rule for rule in self.rules if rule.number not in numbers]
        self._places = {end[1] for end in map(replaced_end, self.rules) if end is not None}
        return derived

    def reads(self, predicate: int) -> bool:
        """Whether the predicate is not virtual, provided that there are rules."""
        return bool(self.rules) and not is_virtual(predicate)

    def feedback(self, predicate: int, new: Pairs) -> Pairs:
        """Only facts of Q: the replacements of a replaced fact are in the same answer."""
        return new if predicate == self._same else NO_PAIRS

    def add(self, facts: TripleIndex, recent: TripleIndex) -> Candidates:
        """All replacements in recent facts, and replacements by recent pairs of Q in all facts."""
        candidates: Candidates = {}
        if self._waiting:
            self._waiting = False
            self._replace(facts, facts, candidates)
            return candidates
        self._replace(recent, facts, candidates)
        self._replace_by(recent.relation(self._same), facts, candidates)
        return candidates

    def overdelete(self, facts: TripleIndex, deleted: TripleIndex, proved: TripleIndex) -> Candidates:
        """All replacements in deleted facts, and replacements by deleted pairs of Q in all facts."""
        candidates: Candidates = {}
        self._replace(deleted, facts, candidates)
        self._replace_by(deleted.relation(self._same), facts, candidates)
        return candidates

    def propagate_proved(self, facts: TripleIndex, recent: TripleIndex, wanted: TripleIndex) -> Candidates:
        """The wanted facts that are replacements of ``facts``."""
        return self.rederive(wanted, facts)

    def rederive(self, candidates: TripleIndex, facts: TripleIndex) -> Candidates:
        """The candidates that are replacements of ``facts``, by the pairs of Q in ``facts``.

        Candidates with the same cliques at all places are probed together: one fact of ``facts`` with these
        cliques derives all of them. Example: for a = b, [a, p, c] derives the candidate [b, p, c].
        """
        derived: Candidates = {}
        cliques = self._cliques(candidates, facts)
        if cliques.size:
            for group in self._groups(candidates, cliques):
                self._rederive(group, candidates, facts, cliques, derived)
        return derived

    def premises(self, candidates: TripleIndex, facts: TripleIndex, proved: TripleIndex) -> Candidates:
        """The facts from which replacing one term derives a candidate, and the pairs of Q used."""
        if not len(facts.relation(self._same)):
            return {}
        return self._one_step.premises(candidates, facts, proved)

    def commit_deletions(self, facts: TripleIndex, deleted: TripleIndex) -> None:
        """Nothing to do: the module keeps no facts."""

    def _replace(self, recent: TripleIndex, facts: TripleIndex, candidates: Candidates) -> None:
        """Add the replacements in all recent facts to the candidates."""
        if self.rules and len(facts.relation(self._same)):
            for predicate in recent.predicates():
                self._replace_in(predicate, recent.keys(predicate), facts, candidates)

    def _replace_by(self, same: Relation, facts: TripleIndex, candidates: Candidates) -> None:
        """Replace one term in all facts by the pairs ``same``, then all terms in the results: no feedback."""
        if not len(same):
            return
        first = self._one_step.overdelete(facts, TripleIndex({self._same: same}), facts)
        indexed = {predicate: Pairs.of(np.concatenate(parts)) for predicate, parts in first.items()}
        extend(candidates, {predicate: [pairs.keys] for predicate, pairs in indexed.items()})
        for predicate, pairs in indexed.items():
            self._replace_in(predicate, pairs.keys, facts, candidates)

    def _replace_in(self, predicate: int, keys: Keys, facts: TripleIndex, candidates: Candidates) -> None:
        """Replace at every place by all members of the cliques; in facts of Q, only the predicate."""
        at(f"{self.name}, in facts of {self._context.dictionary.decode(predicate)}")
        same = facts.relation(self._same)
        replaced = [keys]
        if 0 in self._places and predicate != self._same:
            rows, others = same.objects_of(firsts(keys))
            replaced.append(pack(others, seconds(keys[rows])))
        if 2 in self._places and predicate != self._same:
            for part in tuple(replaced):
                rows, others = same.objects_of(seconds(part))
                replaced.append(pack(firsts(part[rows]), others))
        more = [part for part in replaced[1:] if part.size]
        if more:
            candidates.setdefault(predicate, []).extend(more)
        if 1 in self._places:
            for other in same.objects(predicate):
                candidates.setdefault(other, []).extend([keys, *more])

    def _cliques(self, candidates: TripleIndex, facts: TripleIndex) -> Keys:
        """Packed pairs (term, member of its clique, the term included), sorted, for the candidates' terms."""
        same = facts.relation(self._same)
        if not self.rules or not len(same):
            return NO_KEYS
        predicates = candidates.predicates()
        terms = [np.array(predicates, np.uint32)]
        for predicate in predicates:
            pairs = candidates.relation(predicate).pairs()
            terms += [pairs.distinct_firsts(), pairs.distinct_seconds()]
        return Paths(same, symmetric=True).starting(distinct(np.concatenate(terms)))

    def _groups(self, candidates: TripleIndex, cliques: Keys) -> Iterator[list[int]]:
        """The predicates of the candidates, grouped by clique."""
        groups: dict[int, list[int]] = {}
        for predicate in candidates.predicates():
            name = int(self._named(1, np.array([predicate], np.uint32), cliques)[0])
            groups.setdefault(name, []).append(predicate)
        yield from groups.values()

    def _rederive(
        self,
        group: list[int],
        candidates: TripleIndex,
        facts: TripleIndex,
        cliques: Keys,
        derived: Candidates,
    ) -> None:
        """Add the derivable candidates of a group of equal predicates to ``derived``."""
        parts = [candidates.keys(predicate) for predicate in group]
        keys = np.concatenate(parts)
        names = pack(self._named(0, firsts(keys), cliques), self._named(2, seconds(keys), cliques))
        first, number = number_keys(names)
        rows = np.arange(first.size)
        subjects, objects = firsts(keys[first]), seconds(keys[first])
        for place in (0, 2):
            if place in self._places:
                more, others = join(cliques, subjects if place == 0 else objects)
                rows = np.concatenate((rows, rows[more]))
                inverse = (others, objects[more]) if place == 0 else (subjects[more], others)
                subjects, objects = (
                    np.concatenate(p) for p in zip((subjects, objects), inverse, strict=True)
                )
        wanted = pack(subjects, objects)
        order = np.argsort(wanted)  # ascending probes are faster
        wanted, rows = wanted[order], rows[order]
        found: Mask = np.zeros(first.size, np.bool_)
        predicates = [group[0]]
        if 1 in self._places:
            predicates += join(cliques, np.array(group[:1], np.uint32))[1].tolist()
        for predicate in predicates:
            found[rows[facts.relation(predicate).contains(wanted)]] = True
        is_derived = found[number]
        start = 0
        for predicate, part in zip(group, parts, strict=True):
            derived.setdefault(predicate, []).append(part[is_derived[start : start + part.size]])
            start += part.size

    def _named(self, place: int, terms: Column, cliques: Keys) -> Column:
        """The least member of each term's clique; the term itself if the place is not replaced."""
        if place not in self._places:
            return terms
        known = firsts(cliques)
        rows = np.minimum(np.searchsorted(known, terms), known.size - 1)  # the first row of each term
        least = np.minimum(seconds(cliques[rows]), terms)
        return np.where(known[rows] == terms, least, terms).astype(np.uint32)
