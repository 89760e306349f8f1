"""The equality module: replaces terms in facts by equal terms (owl:sameAs).

The module takes the rules ``eq-rep-s``, ``eq-rep-p`` and ``eq-rep-o``, in the form

    [?y, ?p, ?o] :- [?x, Q, ?y], [?x, ?p, ?o]

for the subject, likewise for predicate and object. Other rules make the constant relation Q symmetric and
transitive, so that the components of Q are cliques. Semi-naive evaluation would replace one term at a time,
and join every conclusion again, once for each other member of its cliques. Here a fact gets all its
replacements in one step, and these are not feedback.

Virtual relations are no triples: the module does not replace terms in them.

A fact and all its copies are named by one of them: that of the least members of the cliques of its terms
(Motik, Nenov, Piro, Horrocks, Handling owl:sameAs via Rewriting, 2015). A named fact is replaced once,
however many of its copies are recent. All readers of the index see all copies, as plain facts. Where there
are many, the relation is compressed to the named facts and the cliques (``closure.copy_index``): a clique of
10,000 with 10,000 values takes 10,000 facts, not 100 million. If a fact is lost whose copies are not listed,
the materialisation starts over.

Invariant: after a turn, the facts are closed under replacement by the pairs of Q that the module received.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

import numpy as np

from corollary.closure.cliques import NO_CLIQUES, Cliques
from corollary.closure.compressed_relation import CompressedRelation
from corollary.closure.copy_index import CopyIndex, facts_with_copies
from corollary.closure.tuning import MIN_COPIES_PER_FACT, MIN_PAIRS_COMPRESSED
from corollary.columns import Candidates, Relation, TripleIndex, grouped
from corollary.columns.numbering import number_keys
from corollary.columns.pairs import (
    NO_KEYS,
    NO_PAIRS,
    Pairs,
    among,
    distinct,
    firsts,
    pack,
    seconds,
    sorted_unique,
)
from corollary.columns.relation import COPIES
from corollary.execute.context import ExecutionContext
from corollary.kernels.limits import at
from corollary.kernels.sorted import Column, Keys, Rows
from corollary.modules.module import Answer, External, Module, NewModules
from corollary.modules.rule_set import RuleSet
from corollary.modules.semi_naive import SemiNaive
from corollary.modules.tuning import MAX_COPIES_TOGETHER
from corollary.program.compile import CompiledRule, is_virtual
from corollary.program.compiled_program import CompiledProgram
from corollary.program.shapes import replaced_end

COPIES_LOST = "copies of facts, too many to list, may be lost"


class Equality(Module):
    """The module of all replacement rules over one relation Q. Places: 0 subject, 1 predicate, 2 object."""

    name = "equality"
    why = "terms replaced by equal terms: for whole cliques in one step"
    turn = 60

    def __init__(self, context: ExecutionContext) -> None:
        self.rules: list[CompiledRule] = []
        self._same = -1
        self._has_pairs = False  # whether Q has, or once had, facts
        self._places: set[int] = set()
        self._context = context
        self._one_step = SemiNaive("replacement of one term", context)
        self.is_waiting = False
        self._may_compress: Callable[[int], bool] = lambda predicate: False
        self._all_cliques: tuple[Relation | None, Cliques] = None, NO_CLIQUES

    @classmethod
    def claim(cls, offered: Sequence[CompiledRule], rules: RuleSet) -> Iterable[CompiledRule]:
        """The offered rules that replace terms by Q, if other rules make Q symmetric and transitive."""
        ends = [(rule, rules.recognised(replaced_end, rule)) for rule in offered]
        same = min({end[0] for _, end in ends if end is not None} & rules.equalities, default=None)
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
        self.is_waiting = True

    def remove_rules(self, numbers: Collection[int], facts: TripleIndex) -> Candidates:
        """Remove rules. Returns all conclusions of their instances over ``facts``."""
        if any(rule.number in numbers for rule in self.rules):
            self._refuse_loss(facts.predicates(), facts)
        derived = self._one_step.remove_rules(numbers, facts)
        self.rules = [rule for rule in self.rules if rule.number not in numbers]
        self._places = {end[1] for end in map(replaced_end, self.rules) if end is not None}
        return derived

    def review(self, rules: RuleSet) -> None:
        """Note which predicates may be compressed: no schema."""
        schema = rules.schema.predicates
        self._may_compress = lambda predicate: predicate not in schema and rules.may_compress(predicate)

    def reads(self, predicate: int) -> bool:
        """Whether it is Q; once Q has had facts, all predicates that are not virtual."""
        return predicate == self._same or (self._has_pairs and not is_virtual(predicate))

    def feedback(self, predicate: int, new: Pairs) -> Pairs:
        """Only facts of Q: the replacements of a replaced fact are in the same answer."""
        return new if predicate == self._same else NO_PAIRS

    def add(self, facts: TripleIndex, recent: TripleIndex) -> Answer:
        """All replacements in recent facts, and in all facts of terms that recent pairs of Q replace."""
        if not self._has_pairs and len(facts.relation(self._same)):
            self._has_pairs = True
            self.revision += 1
        changed = facts if self.is_waiting else self._changed(facts, recent)
        self.is_waiting = False
        candidates: Candidates = {}
        compressed: dict[int, Relation] = {}
        cliques = self._cliques(changed, facts)
        for predicate in self._replace_in_small(changed, cliques, facts, candidates) if len(cliques) else ():
            whole = self._replace_in(predicate, changed, cliques, facts, candidates, may_compress=True)
            if whole is not None:
                compressed[predicate] = whole
        return Answer(candidates, compressed)

    def restore(self, facts: TripleIndex, external: External) -> Candidates:
        """Note whether Q has facts: then the module reads all predicates."""
        self._has_pairs, self.is_waiting = len(facts.relation(self._same)) > 0, False
        self.revision += 1
        return {}

    def overdelete(self, facts: TripleIndex, deleted: TripleIndex, proved: TripleIndex) -> Answer:
        """All replacements in deleted facts, and in all facts of terms that deleted pairs of Q replace."""
        changed = self._changed(facts, deleted)
        candidates: Candidates = {}
        cliques = self._cliques(changed, facts)
        if len(cliques):
            self._refuse_loss(self._with_copies(changed, cliques), facts)
            for predicate in self._replace_in_small(changed, cliques, facts, candidates):
                self._replace_in(predicate, changed, cliques, facts, candidates)
        return Answer(candidates)

    def refuse_loss(self, facts: TripleIndex, deleted: TripleIndex) -> None:
        """Refuse pairs of Q whose terms are in facts with copies that are not listed."""
        pairs = deleted.relation(self._same)
        if not len(pairs) or pairs.is_compressed:
            return
        terms = distinct(np.concatenate((pairs.subject_terms(), pairs.object_terms())))
        for predicate in facts.predicates():
            relation = facts.relation(predicate)
            if relation.closed_by != COPIES:
                continue
            if (relation.subject_counts(terms) + relation.object_counts(terms)).any():
                raise NewModules(COPIES_LOST)

    def propagate_proved(self, facts: TripleIndex, recent: TripleIndex, wanted: TripleIndex) -> Candidates:
        """The wanted facts that are replacements of ``facts``."""
        return self.rederive(wanted, facts)

    def rederive(self, candidates: TripleIndex, facts: TripleIndex) -> Candidates:
        """The candidates that are replacements of other ``facts``, by the pairs of Q in ``facts``.

        Candidates with the same cliques at all places are probed together: one fact of ``facts`` with these
        cliques derives all of them. Example: for a = b, [a, p, c] derives the candidate [b, p, c].
        """
        derived: Candidates = {}
        cliques = self._cliques(candidates, facts)
        if len(cliques):
            for group in self._groups(candidates, cliques):
                self._rederive(group, candidates, facts, cliques, derived)
        return derived

    def premises(self, candidates: TripleIndex, facts: TripleIndex, proved: TripleIndex) -> Candidates:
        """The facts from which replacing one term derives a candidate, and the pairs of Q used."""
        cliques = self._cliques(candidates, facts)
        if not len(cliques):
            return {}
        self._refuse_loss(self._with_copies(candidates, cliques), facts)
        return self._one_step.premises(candidates, facts, proved)

    def commit_deletions(self, facts: TripleIndex, deleted: TripleIndex) -> None:
        """Nothing to do: the module keeps no facts."""

    def _changed(self, facts: TripleIndex, recent: TripleIndex) -> TripleIndex:
        """Recent facts, and all facts with a term that a recent pair of Q replaces.

        Of compressed relations, at least the facts from which the others follow by replacement.
        """
        same = recent.relation(self._same)
        if not len(same):
            return recent
        terms = distinct(np.concatenate((same.subject_terms(), same.object_terms())))
        found = {p: recent.relation(p) for p in recent.predicates()}
        predicates = facts.predicates()
        replaced = terms[among(terms, np.sort(np.array(predicates, np.uint32)))].tolist()
        small: list[int] = []
        for predicate in predicates:
            relation = facts.relation(predicate)
            if len(relation) == len(recent.relation(predicate)):
                continue
            if predicate in replaced and 1 in self._places:
                found[predicate] = relation
            elif (
                predicate != self._same
                and len(relation) <= MAX_COPIES_TOGETHER
                and not relation.is_compressed
            ):
                small.append(predicate)
            elif predicate != self._same:
                self._include(found, predicate, sorted_unique(self._with_terms(relation, terms)))
        if small:
            sizes = [len(facts.relation(predicate)) for predicate in small]
            keys = np.concatenate([facts.keys(predicate) for predicate in small])
            is_near = np.zeros(keys.size, np.bool_)
            for place, ends in ((0, firsts(keys)), (2, seconds(keys))):
                if place in self._places:
                    is_near |= among(ends, terms)
            names = np.repeat(np.array(small, np.uint32), sizes)[is_near]
            for predicate, part in grouped(names, keys[is_near]):
                self._include(found, predicate, part)
        return TripleIndex(found)

    @staticmethod
    def _include(found: dict[int, Relation], predicate: int, keys: Keys) -> None:
        """Add facts to those found. Precondition: ``keys`` sorted and unique."""
        if keys.size:
            known = found.get(predicate)
            found[predicate] = Relation(Pairs(keys)) if known is None else known.plus(keys)

    def _with_terms(self, relation: Relation, terms: Column) -> Keys:
        """The facts of a relation with some terms (ascending) at places where terms are replaced."""
        if relation.closed_by == COPIES:
            return facts_with_copies(relation)
        parts = []
        if 0 in self._places:
            rows, objects = relation.objects_of(terms)
            parts.append(pack(terms[rows], objects))
        if 2 in self._places:
            rows, subjects = relation.subjects_of(terms)
            parts.append(pack(subjects, terms[rows]))
        return np.concatenate(parts) if parts else NO_KEYS

    def _replace_in_small(
        self, changed: TripleIndex, cliques: Cliques, facts: TripleIndex, candidates: Candidates
    ) -> list[int]:
        """Replace in the facts of all predicates with few facts and copies. Returns the other predicates.

        The small ones are replaced together: one by one each takes some 100 µs, however few facts there are.
        """
        names = np.array(changed.predicates(), np.uint32)
        sizes = np.array([len(changed.relation(p)) for p in names.tolist()], np.int64)
        is_small = (sizes <= MAX_COPIES_TOGETHER) & (names != self._same)
        if 1 in self._places:
            is_small &= ~cliques.have(names)
        is_small[[facts.relation(p).is_compressed for p in names.tolist()]] = False
        small = np.flatnonzero(is_small)
        if small.size < 2:
            return changed.predicates()
        keys = np.concatenate([changed.keys(p) for p in names[small].tolist()])
        rows = np.repeat(small, sizes[small])
        subjects, objects = (cliques if place in self._places else NO_CLIQUES for place in (0, 2))
        first, second = subjects.least(firsts(keys)), objects.least(seconds(keys))
        copies = subjects.sizes(first) * objects.sizes(second)
        is_small &= np.bincount(rows, copies, names.size) < min(MAX_COPIES_TOGETHER, MIN_PAIRS_COMPRESSED)
        replaced = is_small[rows] & (copies > 1)
        rows, first, second = rows[replaced], first[replaced], second[replaced]
        steps, others = subjects.members(first)
        more, values = objects.members(second[steps])
        copied, keys = names[rows[steps[more]]], pack(others[more], values)
        order = np.lexsort((keys, copied))  # together, because each part is sorted else
        copied, keys = copied[order], keys[order]
        is_new = np.ones(keys.size, np.bool_)
        is_new[1:] = (keys[1:] != keys[:-1]) | (copied[1:] != copied[:-1])
        for predicate, part in grouped(copied[is_new], keys[is_new]):
            candidates.setdefault(predicate, []).append(part)
        whole: list[int] = names[~is_small].tolist()
        return whole

    def _replace_in(
        self,
        predicate: int,
        changed: TripleIndex,
        cliques: Cliques,
        facts: TripleIndex,
        candidates: Candidates,
        *,
        may_compress: bool = False,
    ) -> Relation | None:
        """Replace at every place by all members of the cliques; in facts of Q, only the predicate.

        Returns all facts of the predicate as one relation if the copies are too many to list, and
        ``may_compress``.
        """
        at(f"{self.name}, in facts of {self._context.dictionary.decode(predicate)}")
        subjects, objects = self._ends(predicate, cliques)
        others = self._equal_predicates(predicate, cliques)
        if not (len(subjects) or len(objects) or others):
            return None
        relation = changed.relation(predicate)
        copies = [facts_with_copies(relation)] if others else []
        near = _replaced(relation, subjects, objects)
        if near.size:
            index = CopyIndex.of(near, subjects, objects)
            whole = self._compressed(predicate, index, facts) if may_compress and not others else None
            if whole is not None:
                return whole
            candidates.setdefault(predicate, []).append(index.listed())
            copies.append(candidates[predicate][-1])
        for other in others:
            candidates.setdefault(other, []).extend(copies)
        return None

    def _compressed(self, predicate: int, copies: CopyIndex, facts: TripleIndex) -> Relation | None:
        """All facts of a predicate, as facts of least members and cliques.

        None if a list is as small, or if the predicate may not be compressed.
        """
        before = facts.relation(predicate)
        beside = before.overlay if isinstance(before, CompressedRelation) else 0
        is_small = len(copies) + beside < MIN_PAIRS_COMPRESSED
        if is_small or not self._may_compress(predicate) or not self._places >= {0, 2}:
            return None
        whole = self._whole_cliques(facts.relation(self._same))
        index = CopyIndex.of(facts_with_copies(before), *self._ends(predicate, whole))
        return CompressedRelation(index) if len(index) >= MIN_COPIES_PER_FACT * index.edges.size else None

    def _ends(self, predicate: int, cliques: Cliques) -> tuple[Cliques, Cliques]:
        """The cliques by which subjects and objects of facts of a predicate are replaced."""
        replaced = () if predicate == self._same else self._places
        return (cliques if 0 in replaced else NO_CLIQUES), (cliques if 2 in replaced else NO_CLIQUES)

    def _equal_predicates(self, predicate: int, cliques: Cliques) -> list[int]:
        """The other members of a predicate's clique."""
        members = cliques.members(cliques.least(np.array([predicate], np.uint32)))[1].tolist()
        return [other for other in members if other != predicate] if 1 in self._places else []

    def _cliques(self, recent: TripleIndex, facts: TripleIndex) -> Cliques:
        """At least the cliques of the terms of recent facts, by the pairs of Q in ``facts``."""
        same = facts.relation(self._same)
        if not self.rules or not len(same):
            return NO_CLIQUES
        if same.is_compressed or len(same) <= recent.fact_count():
            return self._whole_cliques(same)
        predicates = recent.predicates()
        terms = [np.array(predicates, np.uint32)]
        for predicate in predicates:
            keys = facts_with_copies(recent.relation(predicate))
            terms += [firsts(keys), seconds(keys)]
        return Cliques.of_terms(same, distinct(np.concatenate(terms)))

    def _whole_cliques(self, same: Relation) -> Cliques:
        """All cliques of a relation, remembered until the next one."""
        if self._all_cliques[0] is not same:
            self._all_cliques = same, Cliques.of(same)
        return self._all_cliques[1]

    def _with_copies(self, recent: TripleIndex, cliques: Cliques) -> Iterator[int]:
        """The predicates of recent facts that have copies."""
        for predicate in recent.predicates():
            subjects, objects = self._ends(predicate, cliques)
            if not (len(subjects) or len(objects)):
                continue
            if _replaced(recent.relation(predicate), subjects, objects).size:
                yield predicate

    def _refuse_loss(self, predicates: Iterable[int], facts: TripleIndex) -> None:
        """Raise ``NewModules`` if copies of one of the predicates are not listed."""
        if any(facts.relation(predicate).closed_by == COPIES for predicate in predicates):
            raise NewModules(COPIES_LOST)

    def _groups(self, candidates: TripleIndex, cliques: Cliques) -> Iterator[list[int]]:
        """The predicates of the candidates, grouped by clique."""
        groups: dict[int, list[int]] = {}
        for predicate in candidates.predicates():
            name = min([predicate, *self._equal_predicates(predicate, cliques)])
            groups.setdefault(name, []).append(predicate)
        yield from groups.values()

    def _rederive(
        self,
        group: list[int],
        candidates: TripleIndex,
        facts: TripleIndex,
        cliques: Cliques,
        derived: Candidates,
    ) -> None:
        """Add the derivable candidates of a group of equal predicates to ``derived``.

        Where the module is restored, ``facts`` contain the candidates: none is derived from itself.
        """
        parts = [candidates.keys(predicate) for predicate in group]
        keys = np.concatenate(parts)
        subjects, objects = (cliques if place in self._places else NO_CLIQUES for place in (0, 2))
        names = pack(subjects.least(firsts(keys)), objects.least(seconds(keys)))
        first, number = number_keys(names)
        rows, others = subjects.members(firsts(names[first]))
        more, values = objects.members(seconds(names[first])[rows])
        wanted, rows = pack(others[more], values), rows[more]
        order = np.argsort(wanted)  # ascending probes are faster
        wanted, rows = wanted[order], rows[order]
        found: Rows = np.zeros(first.size, np.int64)
        for predicate in (group[0], *self._equal_predicates(group[0], cliques)):
            found += np.bincount(rows[facts.relation(predicate).contains(wanted)], minlength=first.size)
        sources, start = found[number], 0
        for predicate, part in zip(group, parts, strict=True):
            is_derived = sources[start : start + part.size] > facts.relation(predicate).contains(part)
            derived.setdefault(predicate, []).append(part[is_derived])
            start += part.size


def _replaced(relation: Relation, subjects: Cliques, objects: Cliques) -> Keys:
    """The facts of a relation with a subject, or object, in a clique; as ``facts_with_copies``.

    Of a closure that is not listed, only these facts are.
    """
    if relation.is_compressed and (relation.closed_by != COPIES or relation.missing().is_compressed):
        rows, values = relation.objects_of(subjects.terms)
        more, others = relation.subjects_of(objects.terms)
        found = pack(subjects.terms[rows], values), pack(others, objects.terms[more])
        return sorted_unique(np.concatenate(found))
    keys = facts_with_copies(relation)
    return keys[subjects.have(firsts(keys)) | objects.have(seconds(keys))]
