"""The datatype module: what literals denote, as virtual relations.

From the literals that occur in facts the module derives

    VALUE(v, d)             v denotes a value of datatype d
    ILL_TYPED(v, d)         v's lexical form is not one of its own datatype d
    SAME_VALUE(v, w)        two literals that denote one value
    DIFFERENT_VALUE(v, w)   two literals that denote different values

Every literal has values in many datatypes, and differs from almost every other literal. So two of these
relations are restricted to the part that can have consequences:

- VALUE has the *shown* datatypes: those that a rule names as a class, or that occur in facts of the
  program's predicates and of MEMBER. Facts of rdfs:range and owl:allValuesFrom do not count: no rule looks
  for instances of a datatype that occurs only there.
- VALUE has all supported datatypes of literals in owl:sameAs facts: terms equal to a literal have its types.
- If rules look for types of any class (a rule reads facts of any property, or a fact is about rdf:type),
  VALUE also has the literals' own datatypes. The module is then *wide*.
- DIFFERENT_VALUE relates only literals in owl:sameAs facts.

Literals of unsupported datatypes have no known value, and occur in none of the relations.
"""

from __future__ import annotations

from collections.abc import Iterable, Set

import numpy as np

from corollary.columns import FIRST_VIRTUAL, Candidates, Relation, TripleIndex
from corollary.columns.pairs import (
    NO_COLUMN,
    NO_PAIRS,
    Pairs,
    among,
    difference,
    distinct,
    firsts,
    intersection,
    pack,
    seconds,
)
from corollary.execute.context import ExecutionContext
from corollary.kernels.sorted import Column, Keys, Mask
from corollary.language import IRI, OWL, RDF_TYPE, RDFS, constant_text
from corollary.modules.literals_in_use import LiteralsInUse
from corollary.modules.module import Answer, Fact, Module, NewModules, NotFew
from corollary.modules.tuning import MAX_FACTS_ONE_BY_ONE, MAX_TERMS_ONE_BY_ONE, MAX_WITNESSES
from corollary.program.compile import CompiledRule
from corollary.program.compiled_program import VALUE_BUILTINS, CompiledProgram, ProgramChange
from corollary.program.types_of_literals import Interest, interest_in_types
from corollary.terms.dictionary import FIRST_BLANK_NODE, FIRST_LITERAL, KIND_SHIFT, Kind, TermDictionary
from corollary.terms.values import (
    PLAIN_DATATYPES,
    STRING_DATATYPES,
    SUPPORTED_DATATYPES,
)
from corollary.terms.values import contains as has_value

RELATIONS = ("VALUE", "ILL_TYPED", "SAME_VALUE", "DIFFERENT_VALUE")


class Datatypes(Module):
    """The module of literals' values: it has no rules of its own."""

    name = "datatypes"
    why = "values of literals"
    turn = 20

    def __init__(
        self,
        dictionary: TermDictionary,
        predicates: Iterable[int],
        classes: Iterable[int],
        interest: Interest,
    ) -> None:
        """``predicates`` and ``classes`` are the constants of the program's body atoms."""
        self.rules: list[CompiledRule] = []
        self._dictionary = dictionary
        self._interest = interest
        self._is_asked = True
        self._named = {name: dictionary.encode(name) for name in RELATIONS}
        self._rdf_type = dictionary.encode(f"<{RDF_TYPE.value}>")
        self._predicates = {p for p in predicates if p < FIRST_VIRTUAL}
        self._same_as = dictionary.encode(f"<{OWL}sameAs>")
        self._silent = {dictionary.encode(f"<{RDFS}range>"), dictionary.encode(f"<{OWL}allValuesFrom>")}
        self._member = dictionary.encode("MEMBER")
        self._in_rules = frozenset(classes)
        self._used = LiteralsInUse(dictionary)
        self._datatypes: dict[int, str] = {}
        self._looked_up = 0
        self._shown: set[str] = set()
        self._equated: Keys = np.empty(0, np.uint64)
        self._overdeleted: Column = NO_COLUMN  # literals, ascending, all of whose virtual facts were returned
        self._loses = False  # whether ``overdelete`` has received facts that the module minds
        self._scanned = False
        self._is_started = False
        self._about_rdf_type: dict[int, tuple[Relation, bool]] = {}  # the last relation, and its answer
        self._is_wide = False  # whether VALUE has the literals' own datatypes

    @classmethod
    def is_needed(cls, program: CompiledProgram) -> bool:
        """Whether rules use the virtual relations of values."""
        return program.uses(VALUE_BUILTINS)

    @classmethod
    def make(cls, program: CompiledProgram, context: ExecutionContext) -> Datatypes:
        """A module for the constants of a program."""
        return cls(program.dictionary, program.predicates(), program.classes(), interest_in_types(program))

    def take_up(self, change: ProgramChange, facts: TripleIndex) -> None:
        """Raises ``NewModules`` if the new program needs VALUE facts that this module has not derived."""
        was_asked, self._is_asked = self._is_asked, self.is_needed(change.program)
        if self._is_asked and not (
            was_asked
            and interest_in_types(change.program) is self._interest
            and self.widen(change.inserted, facts)
        ):
            raise NewModules("the rules ask for values of other literals, and need other modules for that")

    def widen(self, rules: Iterable[CompiledRule], facts: TripleIndex) -> bool:
        """Add the constants of further rules. ``facts`` are all facts so far.

        Returns False if ``facts`` then show further datatypes: this module cannot serve the new program.
        """
        atoms = [atom for rule in rules for atom in rule.atoms if 0 <= atom.p < FIRST_VIRTUAL]
        news = TripleIndex({p: facts.relation(p) for p in {atom.p for atom in atoms} - self._predicates})
        self._predicates |= {atom.p for atom in atoms}
        self._in_rules |= {atom.o for atom in atoms if atom.p == self._rdf_type and atom.o >= 0}
        return self._shown_datatypes(news) <= self._shown and (self._is_wide or not self._looks_at_all(news))

    @property
    def _telling(self) -> Set[int]:
        """The predicates whose facts show the datatypes that occur in them."""
        return self._predicates - self._silent | {self._member}

    def reads(self, predicate: int) -> bool:
        """All ordinary predicates, and MEMBER."""
        return predicate < FIRST_VIRTUAL or predicate == self._member

    def feedback(self, predicate: int, new: Pairs) -> Pairs:
        """None: virtual relations of values are no premises of the module."""
        return NO_PAIRS

    def ignores(self, terms: Set[int]) -> bool:
        """Terms that are no literals, and show no datatype."""
        return self._is_started and not self._minds_terms(terms)

    def ignores_loss(self, predicates: Iterable[int], terms: Set[int]) -> bool:
        """As ``ignores``, unless a fact is of owl:sameAs."""
        return self._same_as not in predicates and not self._minds_terms(terms)

    def add(self, facts: TripleIndex, recent: TripleIndex) -> Answer:
        """The four relations for new literals, and VALUE of all literals for newly shown datatypes."""
        if self._is_started and not self._minds(recent):
            return Answer({})
        found: dict[str, list[Keys]] = {}
        news = recent if self._is_started else facts
        self._is_started = True
        shown = self._shown | self._shown_datatypes(news)
        if not self._is_wide and self._looks_at_all(news):
            self._is_wide = True
            shown |= self._own_datatypes(facts)
        elif self._is_wide:
            shown |= self._own_datatypes(news)
        # without marked literals and shown datatypes, plain literals denote themselves and have no VALUE
        if len(self._dictionary.literal_forms.markers) > 1 or shown:
            literals = _literals(recent if self._scanned else facts)
            literals = literals[~self._used.among(literals)]
            self._scanned = True
            if literals.size:
                self._compare(literals, found)
                self._derive_datatypes(literals, self._shown, found)
            if shown - self._shown:
                self._derive_datatypes(self._used.all(), shown - self._shown, found)
                self._shown |= shown
        self._derive_equated(facts, found)
        return Answer({self._named[name]: keys for name, keys in found.items()})

    def _minds(self, recent: TripleIndex) -> bool:
        """Whether recent facts may have literals, show a datatype, or make the module wide."""
        terms = recent.few_terms(MAX_FACTS_ONE_BY_ONE)
        return terms is None or self._minds_terms(terms)

    def _minds_terms(self, terms: Set[int]) -> bool:
        """As ``_minds``, for the subjects and objects of some facts."""
        if max(terms, default=0) >= FIRST_LITERAL or self._rdf_type in terms:
            return True
        is_known = max([t for t in terms if t < FIRST_BLANK_NODE], default=-1) < self._looked_up
        return not terms.isdisjoint(self._datatypes if is_known else self._supported())

    def _minds_loss(self, deleted: TripleIndex) -> bool:
        """As ``_minds``, for deleted facts."""
        return deleted.relation(self._same_as).size > 0 or self._minds(deleted)

    def overdelete(self, facts: TripleIndex, deleted: TripleIndex, proved: TripleIndex) -> Answer:
        """The virtual facts about literals in deleted facts, unless these are in ``proved`` facts, too.

        Not again for literals of earlier calls: their types are deleted after them.
        VALUE also for all literals, of the datatypes that deleted facts show and ``proved`` does not. All
        virtual facts if the module is wide, or if a deleted fact is of owl:sameAs.
        """
        if not self._minds_loss(deleted):
            return Answer({})
        self._loses = True
        predicates = self._named.values()
        relations = {p: facts.relation(p) for p in predicates if len(facts.relation(p))}
        if self._is_wide or len(deleted.relation(self._same_as)):
            return Answer({predicate: [relation.pairs().keys] for predicate, relation in relations.items()})
        literals = _literals(deleted).astype(np.uint32) if relations else NO_COLUMN
        derived: Candidates = {}
        literals = literals[~among(literals, self._overdeleted)]
        literals = literals[~occur(literals, proved)] if literals.size else literals
        if literals.size:
            self._overdeleted = distinct(np.concatenate((self._overdeleted, literals)))
        for predicate, relation in relations.items() if literals.size else ():
            rows, others = relation.objects_of(literals)
            derived[predicate] = [pack(literals[rows], others)]
            if relation.has_literals:
                rows, others = relation.subjects_of(literals)
                derived[predicate].append(pack(others, literals[rows]))
        value = self._named["VALUE"]
        if value in relations:
            hidden = self._not_shown(map(self._id, self._shown_datatypes(deleted)), proved)
            if hidden.size:
                rows, others = relations[value].subjects_of(hidden)
                derived.setdefault(value, []).append(pack(others, hidden[rows]))
        return Answer(derived)

    def conclusions_of(self, fact: Fact, facts: TripleIndex, proved: TripleIndex) -> Iterable[Fact]:
        """None, if its literal has no virtual facts, or occurs in a proved fact, too."""
        subject, predicate, value = fact
        if predicate == self._same_as or not self._supported().keys().isdisjoint((subject, value)):
            raise NotFew
        if self._rdf_type in (subject, value) or self._is_wide:
            raise NotFew
        self._loses = True
        relations = [facts.relation(predicate) for predicate in self._named.values()]
        for literal in (subject, value):
            if literal < FIRST_LITERAL or proved.relation(predicate).has_object(literal):
                continue
            if any(r.size and (r.has_subject(literal) or r.has_object(literal)) for r in relations):
                raise NotFew
        return ()

    def witnesses(self, candidates: TripleIndex, facts: TripleIndex, proved: TripleIndex) -> Candidates:
        """Some facts that show the datatypes of literals among the candidates, if no proved fact does."""
        value, found = self._named["VALUE"], Candidates()
        types = candidates.relation(self._rdf_type)
        if types.legal_count() == len(types) and not len(candidates.relation(value)):
            return found
        of_literals = types.pairs().keys[types.legal_count() :]
        names = distinct(seconds(np.concatenate((of_literals, candidates.keys(value)))))
        supported = self._supported()
        shown = [name for name in names.tolist() if supported.get(name) in self._shown]
        for datatype in self._not_shown(shown, proved).tolist():
            for predicate in sorted(self._telling):
                relation = facts.relation(predicate)
                if relation.has_object(datatype):
                    subjects = relation.some_subjects(datatype, MAX_WITNESSES)
                    keys = pack(subjects, np.full(subjects.size, datatype, np.uint32))
                    found.setdefault(predicate, []).append(keys)
        return found

    def propagate_proved(self, facts: TripleIndex, recent: TripleIndex, wanted: TripleIndex) -> Candidates:
        """The wanted facts about literals in ``facts``.

        Of recent literals only, unless recent facts show datatypes.
        """
        relations = {*self._named.values()} & {*wanted.all_predicates()}
        if not relations:
            return {}
        shown = {self._id(datatype) for datatype in self._shown_datatypes(recent)} - self._in_rules
        if shown or self._is_wide or len(recent.relation(self._same_as)):
            return self.rederive(wanted, facts)
        literals, parts = _literals(recent).astype(np.uint32), {}
        for predicate in relations:
            keys = wanted.keys(predicate)
            of_recent = among(firsts(keys), literals) | among(seconds(keys), literals)
            parts[predicate] = Relation(Pairs(keys[of_recent]))
        return self.rederive(TripleIndex(parts), facts)

    def rederive(self, candidates: TripleIndex, facts: TripleIndex) -> Candidates:
        """The candidates whose literals occur in ``facts``, and whose datatypes ``facts`` show."""
        found: Candidates = {}
        for name, predicate in self._named.items():
            relation = candidates.relation(predicate)
            if not len(relation):
                continue
            keys = relation.pairs().keys
            kept = occur(firsts(keys), facts)
            if name == "VALUE":
                shown = self._shown_among(distinct(seconds(keys)), facts)
                kept &= among(seconds(keys), shown) | among(firsts(keys), self._ends_of_same_as(facts))
            elif name != "ILL_TYPED":
                kept &= occur(seconds(keys), facts)
            if name == "DIFFERENT_VALUE":
                equated = self._ends_of_same_as(facts)
                kept &= among(firsts(keys), equated) & among(seconds(keys), equated)
            found[predicate] = [keys[kept]]
        return found

    def premises(self, candidates: TripleIndex, facts: TripleIndex, proved: TripleIndex) -> Candidates:
        """The facts in which the candidates' literals occur.

        Also the facts that may show the candidates' datatypes, unless ``proved`` shows them. Predicates with
        only proved facts are left out.
        """
        derived = [candidates.relation(predicate) for predicate in self._named.values()]
        keys = np.concatenate([relation.pairs().keys for relation in derived])
        if not keys.size:
            return {}
        ends = np.concatenate((firsts(keys), seconds(keys)))
        if self._looks_at_all(facts):
            more = [self._rdf_type, *_literals(facts)]
            names = ends = distinct(np.concatenate((ends, np.array(more, np.uint32))))
        else:
            datatypes = distinct(seconds(derived[RELATIONS.index("VALUE")].keys()))
            names = self._not_shown(datatypes.tolist(), proved)
            ends = distinct(np.concatenate((ends[ends >= FIRST_LITERAL], names)))
        read: Candidates = {}
        for predicate, relation in facts.relations():
            if len(proved.relation(predicate)) == len(relation):
                continue  # candidates do not follow from these, or they would be proved
            ones = ends if relation.legal_count() < len(relation) else names
            if ones.size:
                rows, others = relation.objects_of(ones)
                read[predicate] = [pack(ones[rows], others)]
            ones = ends if relation.has_literals else names
            if ones.size:
                rows, others = relation.subjects_of(ones)
                read.setdefault(predicate, []).append(pack(others, ones[rows]))
        read[self._member] = [facts.keys(self._member)]
        return read

    def commit_deletions(self, facts: TripleIndex, deleted: TripleIndex) -> None:
        """Forget literals that no longer occur, and datatypes no longer shown: both may be new again."""
        if not self._loses:  # nothing that the module minds was deleted: it was told of the rest
            return
        self._overdeleted, self._loses = NO_COLUMN, False
        if self._is_wide or {*map(self._id, self._shown_datatypes(deleted))} - self._in_rules:
            self._is_wide = self._looks_at_all(facts)
            if self._is_wide:
                self._shown &= self._all_shown(facts)
            else:
                hidden = self._not_shown(map(self._id, self._shown), facts).tolist()
                self._shown = {datatype for datatype in self._shown if self._id(datatype) not in hidden}
        if len(deleted.relation(self._same_as)):
            self._equated = intersection(self._equated, self._ends_of_same_as(facts).astype(np.uint64))
        literals = _literals(deleted)
        literals = literals[self._used.among(literals)]
        if literals.size:
            self._used.drop(literals[~occur(literals.astype(np.uint32), facts)])

    def _ends_of_same_as(self, facts: TripleIndex) -> Column:
        """The literals in owl:sameAs facts, ascending, as uint32."""
        same_as = facts.relation(self._same_as)
        ends = distinct(np.concatenate((same_as.subject_terms(), same_as.object_terms())))
        return ends[ends >= FIRST_LITERAL]

    def _compare(self, literals: Keys, found: dict[str, list[Keys]]) -> None:
        """Add ILL_TYPED and SAME_VALUE facts of new literals."""
        same, ill_typed = self._used.take(literals)
        if same:
            found.setdefault("SAME_VALUE", []).append(np.array(same, np.uint64))
        if ill_typed:
            keys = [literal << 32 | self._id(datatype) for literal, datatype in ill_typed]
            found.setdefault("ILL_TYPED", []).append(np.array(keys, np.uint64))

    def _derive_datatypes(self, literals: Keys, datatypes: Set[str], found: dict[str, list[Keys]]) -> None:
        """Add the VALUE facts of some literals (sorted) for some datatypes."""
        is_plain = self._used.is_plain(literals)
        for datatype in sorted(datatypes):
            name = self._id(datatype)
            members = self._used.of_datatype(literals, datatype)
            if datatype in PLAIN_DATATYPES:
                members = np.concatenate((members, literals[is_plain]))
            elif datatype in STRING_DATATYPES:
                plain = [i for i in literals[is_plain].tolist() if self._is_of(i, datatype)]
                members = np.concatenate((members, np.array(plain, np.uint64)))
            if members.size:
                column = members.astype(np.uint32)
                found.setdefault("VALUE", []).append(pack(column, np.full(column.size, name, np.uint32)))

    def _is_of(self, literal: int, datatype: str) -> bool:
        value = self._used.value(literal)
        return value is not None and has_value(datatype, value)

    def _shown_datatypes(self, facts: TripleIndex) -> set[str]:
        """The supported datatypes in facts of the program's predicates, and those that its rules name."""
        ids = self._supported()
        terms = facts.few_terms(MAX_FACTS_ONE_BY_ONE)
        if terms is not None and terms.isdisjoint(ids):
            return {ids[i] for i in self._in_rules & ids.keys()}
        known = np.array(sorted(ids.keys() - self._in_rules), np.uint32)
        shown = {ids[i] for i in ids.keys() & self._in_rules}
        for predicate in facts.known_predicates & self._telling if known.size else ():
            relation = facts.relation(predicate)
            if len(relation):
                found = (relation.subject_counts(known) > 0) | relation.has_objects(known)
                shown |= {ids[i] for i in known[found].tolist()}
        return shown

    def _supported(self) -> dict[int, str]:
        """The supported datatypes by id, as far as the dictionary has them."""
        known, count = self._looked_up, self._dictionary.count(Kind.IRI)  # ids do not change
        new = count - known
        if new >= len(SUPPORTED_DATATYPES):
            found = {self._dictionary.find(f"<{name}>"): name for name in SUPPORTED_DATATYPES}
            self._datatypes = {number: name for number, name in found.items() if number is not None}
        elif new:
            ids = [Kind.IRI << KIND_SHIFT | number for number in range(known, count)]
            names = (text[1:-1] for text in self._dictionary.decode_all(ids))
            added = {i: name for i, name in zip(ids, names, strict=True) if name in SUPPORTED_DATATYPES}
            self._datatypes = {**self._datatypes, **added}
        self._looked_up = count
        return self._datatypes

    def _not_shown(self, ids: Iterable[int], facts: TripleIndex) -> Column:
        """The ids, ascending, that no rule names, and that no fact of the program's predicates shows."""
        left = sorted(set(ids) - self._in_rules)
        for relation in facts.relations_of(self._telling).values() if left else ():
            if not left:
                break
            if relation.size:
                left = [i for i in left if not (relation.has_object(i) or relation.has_subject(i))]
        return np.array(left, np.uint32)

    def _shown_among(self, ids: Column, facts: TripleIndex) -> Column:
        """Those of the ids (ascending) that are of datatypes which ``facts`` or rules show."""
        if self._looks_at_all(facts):
            shown = [self._id(datatype) for datatype in self._all_shown(facts)]
            return np.sort(np.array(shown, np.uint32))
        ids = np.array([i for i in ids.tolist() if i in self._supported()], np.uint32)
        return ids[~among(ids, self._not_shown(ids.tolist(), facts))]

    def _looks_at_all(self, facts: TripleIndex) -> bool:
        """Whether ``facts`` make the module wide."""
        if self._interest is not Interest.IN_FACTS:
            return self._interest is Interest.IN_ALL
        for predicate, relation in facts.relations_of(self._predicates).items():
            last = self._about_rdf_type.get(predicate)
            if last is None or last[0] is not relation:
                term = np.array([self._rdf_type], np.uint32)
                found = relation.has_subject(self._rdf_type) or bool(relation.has_objects(term)[0])
                last = self._about_rdf_type[predicate] = (relation, found)
            if last[1]:
                return True
        return False

    def _all_shown(self, facts: TripleIndex) -> set[str]:
        """The datatypes of VALUE facts for literals that are not in owl:sameAs facts."""
        shown = self._shown_datatypes(facts)
        return shown | self._own_datatypes(facts) if self._looks_at_all(facts) else shown

    def _own_datatypes(self, facts: TripleIndex) -> set[str]:
        """The supported datatypes of the literals in ``facts``."""
        return self._used.own_datatypes(_literals(facts))

    def _derive_equated(self, facts: TripleIndex, found: dict[str, list[Keys]]) -> None:
        """Add VALUE for all datatypes, and DIFFERENT_VALUE, of literals that are new in owl:sameAs facts.

        Cost: a comparison of every new literal with every literal in owl:sameAs facts.
        """
        same_as = facts.relation(self._same_as)
        if not len(same_as):
            return
        equated = self._ends_of_same_as(facts).astype(np.uint64)
        new = difference(equated, self._equated)
        if not new.size:
            return
        self._equated = equated
        self._derive_datatypes(new, SUPPORTED_DATATYPES, found)
        different: list[int] = []
        values = [(literal, self._used.value(literal)) for literal in equated.tolist()]
        for literal in new.tolist():
            value = self._used.value(literal)
            if value is not None:
                for other, other_value in values:
                    if other_value is not None and other_value != value:
                        different += [literal << 32 | other, other << 32 | literal]
        if different:
            found.setdefault("DIFFERENT_VALUE", []).append(np.array(different, np.uint64))

    def _id(self, datatype: str) -> int:
        return self._dictionary.encode(constant_text(IRI(datatype)))


def _literals(facts: TripleIndex) -> Keys:
    """The distinct literals in facts (as subjects too, which RDF forbids), as sorted uint64."""
    parts: list[Column] = []
    for _, relation in facts.relations():
        if relation.has_literals:
            objects = relation.object_terms() if relation.is_compressed else seconds(relation.pairs().keys)
            parts.append(objects[objects >= FIRST_LITERAL])
        if relation.legal_count() < len(relation):
            subjects = relation.subject_terms()
            parts.append(subjects[subjects >= FIRST_LITERAL])
    literals = distinct(np.concatenate(parts or [np.empty(0, np.uint32)]))
    return literals[literals < FIRST_VIRTUAL].astype(np.uint64)


def _occurs(literal: int, facts: TripleIndex) -> bool:
    """Whether a literal occurs in a fact."""
    for _, relation in facts.relations():
        if not relation.mentions_literals:
            continue
        if relation.has_literals and relation.has_object(literal):
            return True
        if relation.legal_count() < relation.size and relation.has_subject(literal):
            return True
    return False


def occur(terms: Column, facts: TripleIndex) -> Mask:
    """For each term, whether it occurs in a fact. Precondition: ``terms`` are literals."""
    if terms.size <= MAX_TERMS_ONE_BY_ONE:
        return np.array([_occurs(term, facts) for term in terms.tolist()], np.bool_)
    left, relations = distinct(terms), [relation for _, relation in facts.relations()]
    for relation in sorted(relations, key=len, reverse=True):
        if left.size and relation.has_literals:
            left = left[relation.object_counts(left) == 0]
        if left.size and relation.legal_count() < len(relation):
            left = left[relation.subject_counts(left) == 0]
    return ~among(terms, left)
