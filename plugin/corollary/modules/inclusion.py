"""The inclusion module: chains of copy, inverse, domain and range rules, closed in one step.

A rule with a single data atom and no condition says that one class or property (the *source*) is included in
another (the *target*), directly or with subject and object swapped:

    D[?x] :- C[?x]
    q[?x, ?y] :- p[?x, ?y]      q[?y, ?x] :- p[?x, ?y]
    D[?x] :- p[?x, ?y]          D[?y] :- p[?x, ?y]

Class hierarchies, property hierarchies, inverses, domains and ranges are such inclusions. Usually they are
most of an ontology. The inclusions are the edges of a graph over classes and properties. An edge between
properties carries one bit: whether subject and object are swapped. The closure of the graph is computed on
arrays, once for each state of the schema, and applied to a new fact in one step. Of the own conclusions only
guards are feedback.

Invariant: ``_included`` is the closure of all rows of the own rules' families, and has been applied to every
fact received, or present when an inclusion was added. ``_held`` has the deleted facts whose types by domains
and ranges are held back; at the end of a layer there are none.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace

import numpy as np

from corollary.columns import Candidates, Relation, TripleIndex
from corollary.columns.pairs import (
    NO_KEYS,
    Pairs,
    among,
    contains,
    counts,
    distinct,
    distinct_of_sorted,
    firsts,
    follow,
    gathered,
    pack,
    seconds,
    spans,
    swap,
)
from corollary.columns.relation import COPIES
from corollary.execute.batches import Batch
from corollary.execute.context import ExecutionContext
from corollary.execute.inclusions import End, Inclusions, about_rdf_type, closed_inclusions
from corollary.execute.run_plan import extend, family_rows
from corollary.kernels.sorted import Column, Keys, Mask, Rows
from corollary.modules.guards import Guards
from corollary.modules.module import Answer, External, Fact, Module, NewModules, NotFew, Precedes
from corollary.modules.rule_set import RuleSet
from corollary.modules.semi_naive import SemiNaive
from corollary.modules.tuning import (
    MAX_FACTS_ONE_BY_ONE,
    MAX_TERMS_ONE_BY_ONE,
    MIN_FACTS_TO_COMPARE_INVERSES,
)
from corollary.program.compile import Atom, CompiledRule
from corollary.program.compiled_program import CompiledProgram
from corollary.program.shapes import InclusionShape, closed_predicate, inclusion_shape

COPIES_LOST = "a closure too large to list loses facts that were copied"


class Inclusion(Module):
    """The module of all inclusion rules of a program."""

    name = "inclusion"
    why = "one atom, copied to a class or property, or inverted: closed in one step"
    turn = 50
    closes_premises = True
    concludes_facts = True
    takes_compressed = True
    receives_again = True

    def __init__(self, context: ExecutionContext, rdf_type: int) -> None:
        self.rules: list[CompiledRule] = []
        self._shapes: list[InclusionShape] = []
        self._context = context
        self._rdf_type = rdf_type
        self._guards = Guards(rdf_type)
        self._by_guards = SemiNaive("inclusions by their guards", context)
        self._copied_by_guards = SemiNaive("sources of copies by their guards", context)
        self._included = Inclusions()
        self._held: dict[int, list[Relation]] = {}
        self._closing: list[tuple[CompiledRule, int]] = []  # with the predicates that they close
        self.is_waiting = False

    @classmethod
    def claim(cls, offered: Sequence[CompiledRule], rules: RuleSet) -> Iterable[CompiledRule]:
        """All offered rules that are inclusions."""
        return [r for r in offered if rules.recognised(inclusion_shape, r, rules.rdf_type) is not None]

    @classmethod
    def make(cls, program: CompiledProgram, context: ExecutionContext) -> Inclusion:
        """A module without rules."""
        return cls(context, program.rdf_type)

    def variants(self, rule: CompiledRule, program: CompiledProgram) -> Sequence[CompiledRule]:
        """The rule for rdf:type as a property: see ``about_rdf_type``."""
        return about_rdf_type(rule, program)

    def derives_at_least(self, rule: CompiledRule, facts: TripleIndex, explicit: TripleIndex) -> int:
        """From the sizes of the rule's sources: see ``_derived_at_least``."""
        shape = inclusion_shape(rule, self._rdf_type)
        assert shape is not None
        rows = family_rows(rule, facts, self._context)
        return _derived_at_least(shape, rows, self._rdf_type, facts, explicit)

    def add_rule(self, rule: CompiledRule) -> None:
        """Add an inclusion."""
        shape = inclusion_shape(rule, self._rdf_type)
        assert shape is not None
        self.rules.append(rule)
        self._shapes.append(shape)
        self._guards.add(rule)
        self._by_guards.add_rule(rule, rule.guards)
        if rule.guards and not (shape.from_class or shape.to_class):
            guards = tuple(rule.atoms[i] for i in sorted(rule.guards))
            marked = Atom(shape.source, self._rdf_type, shape.source)
            self._copied_by_guards.add_rule(replace(rule, atoms=guards, guards=frozenset(), heads=(marked,)))
        self.is_waiting = True

    def remove_rules(self, numbers: Collection[int], facts: TripleIndex) -> Candidates:
        """Remove rules. Returns all conclusions of their instances over ``facts``."""
        if not any(rule.number in numbers for rule in self.rules):
            return {}
        derived = self._by_guards.remove_rules(numbers, facts)
        self._copied_by_guards.drop_rules(numbers)
        kept = [(r, s) for r, s in zip(self.rules, self._shapes, strict=True) if r.number not in numbers]
        self.rules, self._shapes = [rule for rule, _ in kept], [shape for _, shape in kept]
        self._guards = Guards(self._rdf_type)
        for rule in self.rules:
            self._guards.add(rule)
        self._included = self._closure(facts)
        return derived

    def review(self, rules: RuleSet) -> None:
        """Note the rules that close relations."""
        closing = ((rule, rules.recognised(closed_predicate, rule)) for rule in rules.rules)
        self._closing = [(rule, predicate) for rule, predicate in closing if predicate is not None]

    def reads(self, predicate: int) -> bool:
        """All predicates: any may be a source of an inclusion, depending on the schema."""
        return bool(self.rules)

    def feedback(self, predicate: int, new: Pairs) -> Pairs:
        """The guards among ``new``: they may add inclusions."""
        return self._guards.part_of(predicate, new)

    def add(self, facts: TripleIndex, recent: TripleIndex) -> Answer:
        """Apply all inclusions to the recent facts, and inclusions that are new to all facts."""
        candidates: Candidates = {}
        if self.is_waiting or self._guards.are_among(recent):
            self.is_waiting = False
            included = self._closure(facts)
            self._apply(included.without(self._included), facts, candidates, facts)
            known, self._included = self._included, included
        else:
            known = self._included
        self._apply(known, recent, candidates, facts)
        return Answer(candidates)

    def restore(self, facts: TripleIndex, external: External) -> Candidates:
        """Close the inclusions, without applying them."""
        self.is_waiting, self._included = False, self._closure(facts)
        return {}

    def prepare(self, facts: TripleIndex, explicit: TripleIndex) -> None:
        """Let properties share their orders that have each other's inverse facts: all, and as many."""
        for source in self._included.inverses.distinct_firsts().tolist():
            relation = facts.relation(source)
            for target in self._included.targets(source).inverses if len(relation) else ():
                other = facts.relation(target)
                if len(other) == len(relation) and not (relation.is_compressed or other.is_compressed):
                    relation.share_inverse(other)

    def overdelete(self, facts: TripleIndex, deleted: TripleIndex, proved: TripleIndex) -> Answer:
        """Apply the closure to the deleted facts, and to the direct conclusions of inclusions that were lost.

        Deleted guards remove edges of the graph, but the closure still has all edges. So one application of
        the closure to the direct conclusions is enough, whether the further edges stay or not. Example:
        A ⊑ B ⊑ C and A[x]; without A ⊑ B, the join gives B[x], and the closure C[x].
        """
        return self.overdelete_in_order(facts, deleted, proved, lambda predicate, other: False)

    def overdelete_in_order(
        self, facts: TripleIndex, deleted: TripleIndex, proved: TripleIndex, precedes: Precedes
    ) -> Answer:
        """As ``overdelete``. Types by domains and ranges of properties that precede rdf:type are held back.

        Most of these types follow from other facts, too.
        """
        candidates: Candidates = {}
        self._refuse_copies(deleted)
        held: list[int] = []
        for predicate, relation in deleted.all_relations():
            if precedes(predicate, self._rdf_type):
                held.append(predicate)
                self._held.setdefault(predicate, []).append(relation)
        self._apply(self._included, deleted, candidates, without_types=held)
        if self._guards.are_among(deleted):
            marked = self._copied_by_guards.overdelete(facts, deleted, proved).candidates
            for keys in marked.get(self._rdf_type, ()):
                if any(facts.relation(source).is_compressed for source in {*firsts(keys).tolist()}):
                    raise NewModules(COPIES_LOST)
            direct = self._by_guards.overdelete(facts, deleted, proved).candidates
            extend(candidates, direct)
            included = {p: Relation(Pairs.of(np.concatenate(parts))) for p, parts in direct.items()}
            self._apply(self._included, TripleIndex(included), candidates)
        return Answer(candidates)

    def refuse_loss(self, facts: TripleIndex, deleted: TripleIndex) -> None:
        """Raise ``NewModules`` for edges of a compressed relation with copies, if paths lead over them."""
        for source, edges in deleted.all_relations():
            relation = facts.relation(source)
            if relation.is_compressed and not edges.is_compressed and self._has_copies(source):
                keys = edges.pairs().keys
                before, after = relation.object_counts(firsts(keys)), relation.subject_counts(seconds(keys))
                if (before + after).any():
                    raise NewModules(COPIES_LOST)

    @property
    def holds_back(self) -> Set[int]:
        """rdf:type, if there are deleted facts whose types by domains and ranges are held back."""
        return {self._rdf_type} if self._held else frozenset()

    def release(self, facts: TripleIndex, proved: TripleIndex) -> Candidates:
        """The types by domains and ranges of terms that have lost all values of a property.

        Types that follow from ``proved`` types are left out. Properties that include each other have the same
        facts, domains and ranges: one of them is looked up.
        """
        held, self._held = self._held, {}
        if (
            sum([relation.size for relations in held.values() for relation in relations])
            <= MAX_FACTS_ONE_BY_ONE
        ):
            return self._released(held, facts)
        parts: dict[End, list[Column]] = {}
        for source, relations in held.items():
            targets = self._included.targets(source)
            same, is_turned = targets.equivalent
            for inverse in (False, True):
                if targets.classes(inverse=inverse):
                    columns = [r.object_terms() if inverse else r.subject_terms() for r in relations]
                    parts.setdefault((same, inverse != is_turned), []).extend(columns)
        ends = {end: _united(columns) for end, columns in parts.items()}
        candidates: Candidates = {}
        for (source, inverse), terms in self._with_open_types(ends, proved).items():
            relation = facts.relation(source)
            counted = relation.object_counts(terms) if inverse else relation.subject_counts(terms)
            left = terms[counted == 0]
            if left.size:
                types = _all_pairs(left, self._classes_of((source, inverse)))
                candidates.setdefault(self._rdf_type, []).append(types)
        return candidates

    def _released(self, held: Mapping[int, Iterable[Relation]], facts: TripleIndex) -> Candidates:
        """As ``release``, for few facts: term by term, whether types follow from proved ones or not."""
        types: list[int] = []
        for source, relations in held.items():
            targets, left = self._included.targets(source), facts.relation(source)
            keys = [key for relation in relations for key in relation.pairs().keys.tolist()]
            for classes, occurs, terms in (
                (targets.domains, left.has_subject, {key >> 32 for key in keys}),
                (targets.ranges, left.has_object, {key & 0xFFFFFFFF for key in keys}),
            ):
                for term in terms if classes else ():
                    if not occurs(term):
                        types += [term << 32 | class_ for class_ in classes]
        return {self._rdf_type: [np.array(types, np.uint64)]} if types else {}

    def _with_open_types(self, ends: Mapping[End, Column], proved: TripleIndex) -> dict[End, Column]:
        """The terms of which not all types by the domains, or ranges, follow from proved types."""
        least = {end: self._included.least(self._classes_of(end)) for end in ends}
        together: dict[tuple[int, ...], list[Column]] = {}
        for end, terms in ends.items():
            together.setdefault(least[end], []).append(terms)
        pairs = [_all_pairs(_united(columns), classes) for classes, columns in together.items()]
        types = gathered(pairs) if pairs else NO_KEYS
        left = types[~self._follow_from_types(types, proved)]
        open_: dict[tuple[int, ...], Column] = {}
        for classes in together:
            is_of_these = among(seconds(left), np.array(sorted(classes), np.uint32))
            open_[classes] = distinct_of_sorted(firsts(left[is_of_these]))
        return {end: (some := open_[least[end]])[among(some, terms)] for end, terms in ends.items()}

    def _classes_of(self, end: End) -> tuple[int, ...]:
        """The domains of a property, or its ranges."""
        predicate, inverse = end
        return self._included.targets(predicate).classes(inverse=inverse)

    def propagate_proved(self, facts: TripleIndex, recent: TripleIndex, wanted: TripleIndex) -> Candidates:
        """Apply the closure to the recent facts. Precondition: none of them is a guard."""
        candidates: Candidates = {}
        self._apply(self._included, recent, candidates)
        return candidates

    def rederive(self, candidates: TripleIndex, facts: TripleIndex) -> Candidates:
        """The candidates that the closure derives. Precondition: ``facts`` have the guards of the closure."""
        derived: Candidates = {}
        for target, source, inverse in self._copies(candidates, facts.complete):
            wanted, there = candidates.relation(target), facts.relation(source)
            if not there.size:
                continue
            is_own_inverse = inverse and target == source
            missing = wanted.missing_inverses() if wanted.is_compressed and is_own_inverse else None
            if missing is not None:
                found = swap(there.common(missing.pairs().keys))
            elif wanted.is_compressed:
                if there.is_compressed:
                    raise NewModules(COPIES_LOST)
                found = wanted.common((there.inverse() if inverse else there).pairs().keys)
            else:
                pairs = wanted.pairs()
                found = there.common(pairs.by_object if inverse else pairs.keys)
                found = swap(found) if inverse else found
            derived.setdefault(target, []).append(found)
        types = candidates.relation(self._rdf_type)
        if len(types):
            derived.setdefault(self._rdf_type, []).append(self._supported(types.pairs().keys, facts))
        return derived

    def supported(self, candidates: TripleIndex, facts: TripleIndex) -> Candidates:
        """Few types, most of which follow from others."""
        types = candidates.relation(self._rdf_type)
        if not 0 < types.size <= MAX_FACTS_ONE_BY_ONE or types.is_compressed:
            return {}
        return {self._rdf_type: [self._supported(types.pairs().keys, facts)]}

    def premises(self, candidates: TripleIndex, facts: TripleIndex, proved: TripleIndex) -> Candidates:
        """The facts from which the closure derives a candidate, but for properties with only proved facts."""

        def is_open(predicate: int) -> bool:
            return facts.relation(predicate).size > proved.relation(predicate).size

        read: Candidates = {}
        for target, source, inverse in self._copies(candidates):
            if not is_open(source):
                continue
            pairs = candidates.relation(target).pairs()
            found = facts.relation(source).common(pairs.by_object if inverse else pairs.keys)
            read.setdefault(source, []).append(found)
        types = candidates.relation(self._rdf_type)
        if len(types):
            within = self._included.classes
            includes = counts(within.by_object, seconds(types.keys())) > 0
            included = types.pairs().keys[includes]
            rows, classes, is_within = self._other_types(included, facts)
            read.setdefault(self._rdf_type, []).append(
                pack(firsts(included)[rows[is_within]], classes[is_within])
            )
            classes = types.object_terms()
            for (source, inverse), numbers in self._ends(classes, is_open).items():
                _, terms = types.subjects_of(classes[numbers])
                relation, ends = facts.relation(source), distinct(terms)
                rows, others = relation.subjects_of(ends) if inverse else relation.objects_of(ends)
                near = ends[rows]
                read.setdefault(source, []).append(pack(others, near) if inverse else pack(near, others))
        return read

    def conclusions_of(self, fact: Fact, facts: TripleIndex, proved: TripleIndex) -> Iterable[Fact]:
        """By the closure of the inclusions."""
        subject, predicate, value = fact
        rdf_type, included = self._rdf_type, self._included
        found: list[Fact] = []
        if predicate == rdf_type:
            found += [(subject, rdf_type, class_) for class_ in included.classes.seconds_of(value)]
        if predicate in included.copied():
            targets = included.targets(predicate)
            found += [(subject, target, value) for target in targets.properties]
            found += [(value, target, subject) for target in targets.inverses]
            found += [(subject, rdf_type, class_) for class_ in targets.domains]
            found += [(value, rdf_type, class_) for class_ in targets.ranges]
        return found

    def instances_of(self, fact: Fact, facts: TripleIndex) -> Iterable[Sequence[Fact]]:
        """By the closure of the inclusions."""
        subject, predicate, value = fact
        for source in self._included.sources(predicate):
            end, other = (value, subject) if source.inverse else (subject, value)
            if facts.relation(source.predicate).has_key(end << 32 | other):
                yield ((end, source.predicate, other),)
        if predicate != self._rdf_type:
            return
        within = self._included.classes
        for class_ in facts.relation(predicate).objects(subject):
            if within.has(class_ << 32 | value):
                yield ((subject, predicate, class_),)
        for source in self._included.ends(value):
            known, inverse = source.predicate, source.inverse
            relation = facts.relation(known)
            ends = relation.column_of_subjects(subject) if inverse else relation.column_of_objects(subject)
            for other in ends[:MAX_FACTS_ONE_BY_ONE].tolist():
                yield ((other, known, subject) if inverse else (subject, known, other),)
            if ends.size > MAX_FACTS_ONE_BY_ONE:
                raise NotFew

    def commit_deletions(self, facts: TripleIndex, deleted: TripleIndex) -> None:
        """Remove the inclusions that deleted guards supported. New ones are applied later, by ``add``."""
        assert not self._held
        if self._guards.are_among(deleted):
            lost = self._included.without(self._closure(facts))
            self._included = self._included.without(lost)

    def _copies(
        self, candidates: TripleIndex, complete: Set[int] = frozenset()
    ) -> Iterator[tuple[int, int, bool]]:
        """(target, source, is inverse) for all candidates' properties, and the sources of each.

        Without sources whose facts are known to be among those of a ``complete`` one.
        """
        for target in candidates.all_predicates():
            for source in self._included.sources(target):
                if complete.isdisjoint(source.within):
                    yield target, source.predicate, source.inverse

    def _supported(self, types: Keys, facts: TripleIndex) -> Keys:
        """The rdf:type facts among ``types`` (sorted) that the closure derives from ``facts``."""
        if types.size <= MAX_FACTS_ONE_BY_ONE and not facts.relation(self._rdf_type).is_compressed:
            return types[[self._is_supported(key >> 32, key & 0xFFFFFFFF, facts) for key in types.tolist()]]
        found = self._follow_from_types(types, facts)
        by_class, by_object = types[found], Pairs(types[~found]).by_object
        return np.concatenate((by_class, swap(by_object[self._have_ends(by_object, facts)])))

    def _have_ends(self, types: Keys, facts: TripleIndex) -> Mask:
        """Which of some rdf:type facts, as pairs (class, term), a domain or a range derives.

        Precondition: the pairs are sorted.
        """
        column, terms = firsts(types), seconds(types)
        classes = distinct_of_sorted(column)
        starts, ends = column.searchsorted(classes), column.searchsorted(classes, side="right")
        sources = self._ends(classes, _has_facts(facts), facts.complete)
        found: Mask = np.zeros(types.size, np.bool_)
        open_: dict[tuple[int, ...], Rows] = {}  # the rows of some classes that were left when last looked up
        for (source, inverse), numbers in sorted(
            sources.items(), key=lambda s: -facts.relation(s[0][0]).size
        ):
            some, relation = tuple(numbers), facts.relation(source)
            rows = open_[some] if some in open_ else spans(starts[numbers], ends[numbers])
            rows = open_[some] = rows[~found[rows]]
            if rows.size:
                probes = terms[rows]
                sizes = relation.object_counts(probes) if inverse else relation.subject_counts(probes)
                found[rows[sizes > 0]] = True
        return found

    def _follow_from_types(self, types: Keys, facts: TripleIndex) -> Mask:
        """Which of some rdf:type facts are among the facts, or follow from another type of the same term."""
        rows, classes, is_within = self._other_types(types, facts)
        found: Mask = np.zeros(types.size, np.bool_)
        found[rows[is_within | (classes == seconds(types)[rows])]] = True
        return found

    def _other_types(self, types: Keys, facts: TripleIndex) -> tuple[Rows, Column, Mask]:
        """The classes of the terms of some rdf:type facts (rows), and which are within the row's class."""
        rows, classes = facts.relation(self._rdf_type).objects_of(firsts(types))
        return rows, classes, contains(self._included.classes.keys, pack(classes, seconds(types)[rows]))

    def _is_supported(self, individual: int, class_: int, facts: TripleIndex) -> bool:
        """As ``_supported``, for one fact."""
        within = self._included.classes
        for other in facts.relation(self._rdf_type).objects(individual):
            if within.has(other << 32 | class_):
                return True
        for end in self._included.ends(class_):
            relation = facts.relation(end.predicate)
            if not (relation.size and facts.complete.isdisjoint(end.within)):
                continue
            if relation.has_object(individual) if end.inverse else relation.has_subject(individual):
                return True
        return False

    def _ends(
        self, classes: Column, is_read: Callable[[int], bool], complete: Set[int] = frozenset()
    ) -> dict[End, list[int]]:
        """The properties read with a domain or range among the classes, each with the places of these.

        Without those whose facts are known to be among those of a ``complete`` one.
        """
        found: dict[End, list[int]] = {}
        read: dict[int, bool] = {}
        for number, class_ in enumerate(classes.tolist()):
            for end in self._included.ends(class_):
                if end.predicate not in read:
                    read[end.predicate] = is_read(end.predicate)
                if read[end.predicate] and complete.isdisjoint(end.within):
                    found.setdefault((end.predicate, end.inverse), []).append(number)
        return found

    def _closure(self, facts: TripleIndex) -> Inclusions:
        """The closure of all inclusions, given the guards among ``facts``."""
        rules = zip(self.rules, self._shapes, strict=True)
        return closed_inclusions(rules, facts, self._context, self._rdf_type)

    def _refuse_copies(self, deleted: TripleIndex) -> None:
        """Raise ``NewModules`` if deleted facts that are not listed have copies other than their inverses."""
        for source, relation in deleted.all_relations():
            if relation.is_compressed and (
                self._has_copies(source)
                or (
                    self._included.inverses.has(source << 32 | source) and relation.missing_inverses() is None
                )
            ):
                raise NewModules(COPIES_LOST)

    def _generators(self, recent: Relation, source: int, target: int, facts: TripleIndex) -> Keys | None:
        """Recent facts whose copies lead to the other copies; None if all must be copied."""
        known = facts.relation(source)
        if len(known.missing()) or not (recent.closed_by == COPIES or self._is_closed(target, facts)):
            return None
        keys = recent.generators()
        return keys if known.contains(keys).all() else None

    def _is_closed(self, predicate: int, facts: TripleIndex) -> bool:
        """Whether a rule closes a predicate, given the guards among ``facts``."""
        for rule, closed in self._closing:
            rows = None if closed >= 0 else family_rows(rule, facts, self._context)
            if closed == predicate or (rows is not None and rows.size and predicate in rows.column(closed)):
                return True
        return False

    def _has_copies(self, predicate: int) -> bool:
        """Whether facts of a predicate are copied to another one."""
        targets = self._included.targets(predicate)
        return any(target != predicate for target in (*targets.properties, *targets.inverses))

    def _apply(
        self,
        included: Inclusions,
        facts: TripleIndex,
        candidates: Candidates,
        whole: TripleIndex | None = None,
        without_types: Collection[int] = (),
    ) -> None:
        """Add the conclusions from all ``facts`` to the candidates; of some predicates no types.

        Of a compressed source that is a whole closure only the generators are copied, if the target is closed
        in the same way: they lead to the other copies. All properties are closed under replacement of terms.
        """
        if not len(included):
            return
        inverses = _inverse_predicates(included, facts) if included.inverses.keys.size else {}
        copied = included.copied()
        for source, relation in facts.all_relations():
            if source not in copied:
                continue
            targets = included.targets(source)
            other = inverses.get(source)
            for copies, inverse in ((targets.properties, False), (targets.inverses, True)):
                for target in copies:
                    if inverse and other is not None:
                        if target != other and not included.properties.has(other << 32 | target):
                            candidates.setdefault(target, []).append(facts.relation(other).pairs().keys)
                        continue
                    keys = None
                    if relation.is_compressed and whole is None and inverse and target == source:
                        missing = relation.missing_inverses()
                        keys = None if missing is None else swap(missing.pairs().keys)
                    elif relation.is_compressed and whole is not None:
                        keys = self._generators(relation, source, target, whole)
                    if keys is not None:
                        keys = swap(keys) if inverse else keys
                    else:
                        pairs = relation.pairs()
                        keys = pairs.by_object if inverse else pairs.keys  # sorted: cheap to merge
                    candidates.setdefault(target, []).append(keys)
            if source in without_types:
                continue
            for inverse in (False, True):
                if classes := targets.classes(inverse=inverse):
                    ends = relation.object_terms() if inverse else relation.subject_terms()
                    candidates.setdefault(self._rdf_type, []).append(_all_pairs(ends, classes))
        types = facts.relation(self._rdf_type)
        if types.size:
            found = follow(types.pairs().by_object, included.classes.keys)
            candidates.setdefault(self._rdf_type, []).append(found)


def _united(columns: list[Column]) -> Column:
    """The terms of some columns, ascending. Precondition: each column ascends."""
    return columns[0] if len(columns) == 1 else distinct(np.concatenate(columns))


def _all_pairs(terms: Column, classes: Sequence[int]) -> Keys:
    """All pairs of a term and a class."""
    if len(classes) == 1:
        return pack(terms, np.full(terms.size, classes[0], np.uint32))
    if terms.size <= MAX_TERMS_ONE_BY_ONE:
        return np.array([term << 32 | class_ for term in terms.tolist() for class_ in classes], np.uint64)
    high = terms.astype(np.uint64) << np.uint64(32)
    return (high[:, None] | np.array(classes, np.uint64)).ravel()


def _inverse_predicates(included: Inclusions, facts: TripleIndex) -> dict[int, int]:
    """Predicates with many facts, each with one whose facts are the same with subject and object exchanged.

    To copy the inverses of the first is to copy the second: r and its inverse, closed under transitivity.
    """
    found: dict[int, int] = {}
    for source, relation in facts.all_relations():
        if len(relation) < MIN_FACTS_TO_COMPARE_INVERSES or relation.is_compressed or source in found:
            continue
        for other in included.targets(source).inverses:
            inverse = facts.relation(other)
            if len(inverse) != len(relation) or inverse.is_compressed:
                continue
            by_object, keys = relation.pairs().by_object, inverse.pairs().keys
            if by_object is keys or np.array_equal(by_object, keys):
                found[source], found[other] = other, source
                break
    return found


def _derived_at_least(
    shape: InclusionShape, rows: Batch, rdf_type: int, facts: TripleIndex, explicit: TripleIndex
) -> int:
    """A lower bound on the number of non-explicit facts that a rule derives, given its family's rows.

    For each target: the size of its largest source, less its explicit facts.
    """
    if not rows.size:
        return 0
    row_targets = rows.column(shape.target)
    targets = distinct(row_targets)
    derived: Rows = np.zeros(targets.size, np.int64)
    from_each = _derived(shape, rows.column(shape.source), rdf_type, facts)
    np.maximum.at(derived, np.searchsorted(targets, row_targets), from_each)
    types = explicit.relation(rdf_type)
    given = types.object_counts(targets) if shape.to_class else _sizes(targets, explicit)
    return int(np.maximum(derived - given, 0).sum())


def _derived(shape: InclusionShape, sources: Column, rdf_type: int, facts: TripleIndex) -> Rows:
    """The number of distinct facts that the rule derives from each source."""
    if shape.from_class:
        return facts.relation(rdf_type).object_counts(sources)
    properties = distinct(sources)
    if shape.to_class:
        relations = map(facts.relation, properties.tolist())
        ends = (r.object_terms() if shape.is_inverse else r.subject_terms() for r in relations)
        sizes = np.array([column.size for column in ends], np.int64)
    else:
        sizes = _sizes(properties, facts)
    return sizes[np.searchsorted(properties, sources)]


def _sizes(predicates: Column, facts: TripleIndex) -> Rows:
    return np.array([facts.relation(p).size for p in predicates.tolist()], np.int64)


def _has_facts(facts: TripleIndex) -> Callable[[int], bool]:
    """The test whether a predicate has facts."""
    return lambda predicate: facts.relation(predicate).size > 0
