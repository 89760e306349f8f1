"""Which programs are evaluated on partitions of the facts, and by which rules.

Facts are at home at their subjects. So a task finds every instance of a rule whose data atoms have one
subject. An atom with the shared variable as object reads a *copy* of its predicate instead. Copies are at
home at their objects: ``[?u, a, :C] :- [?u, :p, ?v], [?v, a, :D]`` becomes

    [?u, :p-by-object, ?v] :- [?u, :p, ?v] .
    [?u, a, :C] :- [?u, :p-by-object, ?v], [?v, a, :D] .

Each instance of such a rule has its premises in one partition only. Where the head has another subject, as
here, the fact goes *away*: the head has a predicate of its own, which no rule reads, until the fact is at
home. So what follows from the fact is derived there only.

A rule such as ``[?u, ?p, ?w] :- [?u, ?p, ?v], [?v, owl:sameAs, ?w]`` would need copies of all predicates.
If it has too many instances for that, all partitions get *replicas* of the facts of its constant predicates,
and read these in place of the facts; the other atoms share a subject.

Data atoms that share no variable are joined in steps (``step_rules``).

The relations of copies, replicas, steps and facts that go away are virtual: no variable of a rule stands for
them.

The literature calls the shared variable a discriminating variable, and has shown when a program may be cut:
Ganguly, Silberschatz and Tsur (SIGMOD 1990), Wolfson and Silberschatz (SIGMOD 1988). Weaver and Hendler (ISWC
2009) cut RDFS in this way, with the schema at every processor; Shaw, Koutris, Howe and Suciu (Datalog 2.0,
2012), Seo, Park, Shin and Lam (VLDB 2013) and BigDatalog (Shkapsky et al., SIGMOD 2016) evaluate recursive
programs semi-naively on partitions, with an exchange of new facts between the rounds.

Rules that no facts can match would forbid most cuts: OWL 2 RL has a few. So they are found first, on an
*outline*: the facts with one term in place of all that neither the schema nor the rules know, closed under
the rules without their filters. This is a homomorphism. So a rule without a match in the outline has none in
the facts.

A rule such as ``[?y, owl:sameAs, ?z] :- [?x, :p, ?y], [?x, :p, ?z], FILTER(!sameTerm(?y, ?z))`` matches in
every outline, and in few facts. At first it is left out of the outline, and its conclusions are *watched*.
If tasks come upon any, the program is cut again, strictly.

A rule may conclude schema facts from data: under ``rdfs``, that the new property of a user's rule is an
``rdf:Property``. The outline shows which facts these may be. They are *expected*: the program is cut without
them, and if tasks come upon some, these join the schema, and the program is cut again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, replace

import numpy as np

from corollary.columns import FIRST_VIRTUAL, Candidates, Pairs, Relation, TripleIndex
from corollary.columns.pairs import NO_KEYS, among, difference, firsts, seconds
from corollary.evaluate import materialise
from corollary.evaluate.engine import Engine
from corollary.execute.batches import Batch
from corollary.execute.context import ExecutionContext
from corollary.execute.filters import core
from corollary.execute.run_plan import distinct_rows, emit, run, sizes
from corollary.kernels.sorted import Keys
from corollary.language import (
    IRI,
    OWL,
    RDF,
    Builtin,
    Call,
    Constant,
    Expression,
    Filter,
    Literal,
    Program,
    Rule,
    Term,
    Triple,
    Variable,
    constant_text,
    parse_constant,
    substitute,
    variables,
)
from corollary.language.model import Reserved
from corollary.loaders.spark.schema import Schema
from corollary.loaders.spark.step_rules import agreeing, in_steps
from corollary.loaders.spark.tuning import MAX_PAIRS_OF_STEP, MAX_RULES_CUT
from corollary.plan.delta_plans import full_plan
from corollary.plan.steps import Age
from corollary.program.compile import CompiledRule
from corollary.program.compiled_program import CompiledProgram
from corollary.program.stratify import called
from corollary.terms.dictionary import FIRST_LITERAL, KIND_SHIFT, Kind, TermDictionary
from corollary.terms.values import SUPPORTED_DATATYPES

ANY_RESOURCE, ANY_LITERAL = "<corollary:any>", '"any"^^<corollary:any>'
"""The terms of an outline that stand for all others."""

LOGICAL, BY_IDS = frozenset(("!", "&&", "||")), frozenset(("sameterm", "isiri", "isblank", "isliteral"))
"""Logical operators, and the functions that ids decide, without the texts of terms."""


class CannotCut(Exception):
    """A program is not evaluated on partitions. The message is the reason."""


@dataclass(frozen=True)
class ProgramCut:
    """The rules for partitions over a dictionary, the facts that all partitions have, and the copies.

    ``everywhere`` is closed under the program. ``copies`` maps the predicates of copies and replicas to those
    that are copied, ``away`` predicates for facts that go away to their own. ``replicas`` are those of
    ``copies`` that are at home in all partitions, ``steps`` the predicates of steps (``step_rules``).
    ``internal`` has the ids of all these predicates, which only the cut uses.
    ``of_values`` are further rules: each has one atom, about values of literals. ``watched`` are predicates:
    if facts of them follow, the cut is void; so it is if some of the schema facts ``expected`` follow.
    """

    program: Program
    dictionary: TermDictionary
    everywhere: dict[int, Keys]
    copies: dict[int, int]
    replicas: frozenset[int]
    steps: frozenset[int]
    away: dict[int, int]
    internal: range
    of_values: tuple[CompiledRule, ...]
    watched: frozenset[int]
    expected: dict[int, Keys]


def constants(program: Program) -> Iterator[str]:
    """The texts of all constants in filters."""

    def inside(expression: Expression) -> Iterator[str]:
        if isinstance(expression, Call):
            for argument in expression.arguments:
                yield from inside(argument)
        elif not isinstance(expression, Variable):
            yield constant_text(expression)

    for rule in program:
        for element in rule.body:
            if isinstance(element, Filter):
                yield from inside(element.expression)


def cut_program(
    schema: Schema,
    dictionary: TermDictionary,
    outline: Candidates,
    *,
    large: Set[int],
    pairs: Callable[[int], int],
    has_equal_literals: bool,
    is_strict: bool,
) -> ProgramCut:
    """Cut a program, given its closed schema. Raises ``CannotCut``, with a reason.

    ``dictionary`` is a copy of the schema's, and gets more terms. ``outline`` are the explicit facts with
    ``ANY_RESOURCE`` and ``ANY_LITERAL`` in place of the terms that the schema does not know. Facts of the
    predicates ``large`` are not replicated. ``pairs`` gives the number of pairs of facts of a predicate that
    have one object. ``has_equal_literals``: there are SAME_VALUE facts. ``is_strict``: nothing is to be
    watched for.
    """
    cutting = _Cutting(schema, dictionary, large, pairs)
    more = cutting.outline_of_values(has_equal_literals=has_equal_literals)
    for predicate, parts in more.items():
        outline.setdefault(predicate, []).extend(parts)
    return cutting.cut(outline, is_strict=is_strict)


class _Cutting:
    """The state while a program is cut: the closed outline, and the rules for partitions so far."""

    def __init__(
        self, schema: Schema, dictionary: TermDictionary, large: Set[int], pairs: Callable[[int], int]
    ) -> None:
        self._on_driver = schema.on_driver
        self._large, self._pairs = large, pairs
        self._dictionary = dictionary
        self._rdf_type = schema.compiled.rdf_type
        self._uses_values = bool(schema.compiled.predicates() & schema.on_driver.values)
        self._lengths = schema.compiled.lengths
        self._schema = {p: schema.index.keys(p) for p in schema.index.all_predicates() if p < FIRST_VIRTUAL}
        self._any = dictionary.encode(ANY_RESOURCE)
        self._unknown = np.sort(np.array((self._any, dictionary.encode(ANY_LITERAL)), np.uint32))
        self._cells = {dictionary.find(f"<{RDF}{name}>") for name in ("first", "rest")}
        self._expected: dict[int, Keys] = {}
        rules = [rule for rule in schema.compiled.rules if rule.heads and rule.source.body]
        left = [rule for rule in rules if not self._on_driver.is_local(rule)]
        for rule in left:
            if not rule.is_monotone:
                raise CannotCut(f"{called(rule)} has negation or aggregates")
        about_values = [rule for rule in left if self._reads_values(rule)]
        self._about_values = [found for rule in about_values for found in self._without_schema(rule)]
        others = [rule for rule in left if not self._reads_values(rule)]
        self._written = list(dict.fromkeys(map(schema.compiled.written, others)))
        self._source = schema.compiled.source
        self._copies: dict[int, IRI] = {}
        self._replicas: dict[int, IRI] = {}
        self._steps: list[IRI] = []
        self._away: dict[int, IRI] = {}
        self._rules: dict[Rule, None] = {}

    def cut(self, outline: Candidates, *, is_strict: bool) -> ProgramCut:
        """The cut for the outline of the facts and of the values of literals."""
        compiled = self._compiled(self._written)
        optimistic = {} if is_strict else {r: w for r in self._written if (w := self._watched(compiled, r))}
        watched = frozenset(predicate for found in optimistic.values() for predicate in found)
        rules = [replace(rule, heads=()) if rule in optimistic else rule for rule in self._written]
        closed = self._closed(outline, rules)
        if any(self._new(closed, predicate).size for predicate in watched):
            return self.cut(outline, is_strict=True)
        self._check(closed)
        closed = self._without_expected(closed)
        context = ExecutionContext(self._dictionary)
        for rule in self._written:
            for form in compiled.forms_of(_without_filters(rule)):
                rows = run(full_plan(form, sizes(closed)), {Age.ALL: closed}, form, context)
                if rows.size:
                    self._take(rule, form, rows)
        return self._whole(watched)

    def _compiled(self, rules: Iterable[Rule]) -> CompiledProgram:
        """Rules without their filters."""
        bare = Program(tuple(dict.fromkeys(map(_without_filters, rules))))
        compiled = CompiledProgram(bare, self._dictionary, unrolls_all=True)
        compiled.unroll(self._lengths)
        return compiled

    def _closed(self, outline: Candidates, rules: Iterable[Rule]) -> TripleIndex:
        """What follows from the schema and the outline, and the lists that some rule reads."""
        index = TripleIndex()
        for facts in ({p: [keys] for p, keys in self._schema.items()}, outline):
            for predicate, parts in facts.items():
                index.add_new(predicate, list(parts))
        return Engine(index, self._compiled(rules)).fixpoint.index

    def _watched(self, compiled: CompiledProgram, rule: Rule) -> set[int]:
        """The predicates that a rule concludes, if it joins data, and filters what it joins; else none."""
        filtered = {v for e in rule.body if isinstance(e, Filter) for v in variables(e.expression)}
        found: set[int] = set()
        for form in compiled.forms_of(_without_filters(rule)):
            named = {Variable(form.names[-1 - v]) for v in form.guarded}
            predicates = {head.p for head in form.heads}
            if filtered <= named or len(self._data(form)) < 2 or min(predicates) < 0:
                return set()
            found |= predicates
        return set() if self._rdf_type in found else found

    def _data(self, form: CompiledRule) -> list[int]:
        """The positions of atoms whose facts are not all schema."""
        return [i for i, atom in enumerate(form.atoms) if not self._on_driver.has(atom)]

    def _reads_values(self, rule: CompiledRule) -> bool:
        return any(atom.p in self._on_driver.values for atom in rule.read)

    def _without_schema(self, rule: CompiledRule) -> list[CompiledRule]:
        """The instances of a rule for its matches in the schema: rules with one atom, about values."""
        elements = [e for e in rule.source.body if isinstance(e, Triple | Builtin)]
        is_schema = [self._on_driver.has(atom) for atom in rule.atoms]
        read = tuple(e for e, is_read in zip(elements, is_schema, strict=True) if is_read)
        rest = tuple(e for e, is_read in zip(elements, is_schema, strict=True) if not is_read)
        schema = tuple(e for e in read if isinstance(e, Triple))
        if len(rest) > 1 or len(schema) < len(read) or rule.conditions:
            raise CannotCut(f"{called(rule)} joins values of literals with facts")
        if not schema:
            return [rule]
        (form,) = CompiledProgram(Program((Rule(schema, schema),)), self._dictionary).rules
        index = TripleIndex({p: Relation(Pairs(keys)) for p, keys in self._schema.items()})
        plan = full_plan(form, sizes(index))
        rows = run(plan, {Age.ALL: index}, form, ExecutionContext(self._dictionary))
        if rows.size > MAX_RULES_CUT:
            raise CannotCut(f"{called(rule)} joins values of literals with {rows.size:,} schema facts")
        bare = replace(rule.source, body=rest)
        instances = tuple(substitute(bare, self._mapping(form, ids)) for ids in _by_row(rows))
        for instance in instances:
            _refuse_what_is_no_triple(instance, rule)
        return CompiledProgram(Program(instances), self._dictionary).rules

    def _mapping(self, form: CompiledRule, ids: Mapping[int, int]) -> dict[Variable, Term]:
        """The terms of a rule's variables, given ids."""
        if any(term >= FIRST_VIRTUAL for term in ids.values()):
            raise CannotCut(f"{called(form)} joins lists with facts")
        return {Variable(form.names[-1 - v]): self._constant(term) for v, term in ids.items()}

    def outline_of_values(self, *, has_equal_literals: bool) -> Candidates:
        """What may follow from the values of literals: at least what does."""
        encode = self._dictionary.encode
        literals = np.arange(self._dictionary.count(Kind.LITERAL), dtype=np.uint32) + np.uint32(FIRST_LITERAL)
        datatypes = np.array([encode(f"<{name}>") for name in sorted(SUPPORTED_DATATYPES)], np.uint32)
        pairs = {"VALUE": datatypes, "ILL_TYPED": datatypes}
        if has_equal_literals:
            pairs["SAME_VALUE"] = literals
        seconds_of = {encode(name): ends for name, ends in pairs.items()}
        found: Candidates = {}
        for rule in self._about_values:
            (atom,) = rule.atoms
            # other pairs are compared only in owl:sameAs facts, which ``_check`` refuses
            ends = seconds_of.get(atom.p, literals[:0])
            columns = np.repeat(literals, ends.size), np.tile(ends, literals.size)
            named = zip((atom.s, atom.o), columns, strict=True)
            batch = Batch(columns[0].size, {term: column for term, column in named if term < 0})
            emit(rule.heads, batch, found)
        return found

    def _check(self, closed: TripleIndex) -> None:
        """Find the schema facts that are expected. Refuse those of unknown terms, and equal literals."""
        if len(closed.relation(self._any)):
            raise CannotCut("a rule concludes facts of properties that data name")
        for predicate in closed.predicates():
            keys = self._on_driver.only(predicate, closed.keys(predicate))
            keys = difference(keys, self._schema.get(predicate, NO_KEYS))
            is_unknown = among(firsts(keys), self._unknown) | among(seconds(keys), self._unknown)
            if is_unknown.any() or (keys.size and predicate in self._cells):
                raise CannotCut(f"data lead to schema facts: {self._dictionary.decode(predicate)}")
            if keys.size:
                self._expected[predicate] = keys
        same_as = self._dictionary.find(f"<{OWL}sameAs>")
        if self._uses_values and same_as is not None:
            keys = closed.keys(same_as)
            if (firsts(keys) >= FIRST_LITERAL).any() or (seconds(keys) >= FIRST_LITERAL).any():
                raise CannotCut("literals may be equal: their values are compared pairwise")

    def _without_expected(self, closed: TripleIndex) -> TripleIndex:
        """The closed outline with no schema facts but those of the schema: guards match nothing else."""
        relations = dict(closed.relations_of(closed.all_predicates()))
        for predicate, keys in self._expected.items():
            relations[predicate] = Relation(Pairs(difference(closed.keys(predicate), keys)))
        return TripleIndex(relations)

    def _new(self, closed: TripleIndex, predicate: int) -> Keys:
        """The facts of a predicate in the outline that are not in the schema."""
        return difference(closed.keys(predicate), self._schema.get(predicate, NO_KEYS))

    def _take(self, written: Rule, form: CompiledRule, rows: Batch) -> None:
        """Add the rules for partitions that a rule needs which has matches: itself, or its instances."""
        filters = [element for element in written.body if isinstance(element, Filter)]
        guarded = {Variable(form.names[-1 - v]) for v in form.guarded}
        for element in filters:
            if not (variables(element.expression) <= guarded or is_by_ids(core(element.expression))):
                raise CannotCut(f"{called(form)} compares values of data")
        data = self._data(form)
        if not data:
            self._rules[written] = None
            return
        shared = form.atoms[data[0]].s if len(data) == 1 else self._shared(form, data)
        if shared is None:
            self._take_in_steps(form, filters, rows, data)
            return
        by_object = [i for i in data if form.atoms[i].s != shared]
        away = [i for i, head in enumerate(form.heads) if head.s != shared]
        names = {form.atoms[i].p for i in by_object} | {form.heads[i].p for i in away}
        fixed = form.guarded | {name for name in names if name < 0}
        if not by_object and all(form.heads[i].p >= 0 for i in away):
            self._rules[self._with_heads_away(written, {i: form.heads[i].p for i in away})] = None
            return
        rows = distinct_rows(rows, sorted(fixed)) if fixed else Batch.start()
        if rows.size + len(self._rules) > MAX_RULES_CUT:
            if by_object:
                written, shared = self._replicating(written, form, data)
            constant = {i: h.p for i, h in enumerate(form.heads) if h.s != shared and h.p >= 0}
            self._rules[self._with_heads_away(written, constant)] = None
            return
        for ids in _by_row(rows):
            instance = self._instance(form, filters, ids, by_object)
            predicates = {i: ids.get(form.heads[i].p, form.heads[i].p) for i in away}
            self._rules[self._with_heads_away(instance, predicates)] = None

    def _take_in_steps(
        self, form: CompiledRule, filters: Iterable[Filter], rows: Batch, data: list[int]
    ) -> None:
        """Add rules for the steps of a join whose data have no variable in common."""
        named = {form.atoms[i].p for i in data} | {head.p for head in form.heads}
        fixed = form.guarded | {name for name in named if name < 0}
        rows = distinct_rows(rows, sorted(fixed)) if fixed else Batch.start()
        if rows.size * (len(data) - 1) + len(self._rules) > MAX_RULES_CUT:
            raise CannotCut(f"{called(form)} joins facts in steps, and has {rows.size:,} instances")
        for ids in _by_row(rows):
            steps = in_steps(self._instance(form, filters, ids, ()), self._step)
            if steps is None:
                raise CannotCut(f"{called(form)} joins facts that have no subject or object in common")
            self._refuse_many_pairs(form, steps)
            for rule in steps:
                bare = _without_filters(rule)
                (step,) = CompiledProgram(Program((bare,)), self._dictionary).rules
                self._take(rule, step, Batch.start())

    def _refuse_many_pairs(self, form: CompiledRule, steps: Iterable[Rule]) -> None:
        """Refuse steps that make facts of all pairs of terms that agree in a property, if these are many."""
        for name in sorted({constant_text(predicate) for step in steps for predicate in agreeing(step)}):
            count = self._pairs(self._dictionary.encode(name))
            if count > MAX_PAIRS_OF_STEP:
                raise CannotCut(f"{called(form)} joins {name} in steps, and {count:,} pairs agree in it")

    def _step(self) -> IRI:
        self._steps.append(IRI(f"corollary:step:{len(self._steps)}"))
        return self._steps[-1]

    def _with_heads_away(self, rule: Rule, predicates: Mapping[int, int]) -> Rule:
        """The rule with other predicates for some heads, by their position."""
        heads = list(rule.heads)
        for position, predicate in predicates.items():
            name = self._away.setdefault(predicate, IRI(f"corollary:away:{len(self._away)}"))
            heads[position] = replace(heads[position], predicate=name)
        return replace(rule, heads=tuple(heads))

    def _replicating(self, written: Rule, form: CompiledRule, data: list[int]) -> tuple[Rule, int]:
        """The rule with replicas of the facts of constant predicates, and the subject of its other data."""
        others = [i for i in data if not self._may_be_replicated(form.atoms[i].p)] or data[:1]
        subjects = {form.atoms[i].s for i in others}
        elements = [e for e in form.source.body if isinstance(e, Triple)]
        if len(subjects) > 1 or len(elements) < len(form.atoms):
            raise CannotCut(f"{called(form)} joins by objects, and has more than {MAX_RULES_CUT:,} instances")
        for i in set(data).difference(others):
            elements[i] = replace(elements[i], predicate=self._replica(form.atoms[i].p))
        filters = (e for e in written.body if isinstance(e, Filter))
        return replace(form.source, body=(*elements, *filters)), subjects.pop()

    def _may_be_replicated(self, predicate: int) -> bool:
        return predicate >= 0 and predicate != self._rdf_type and predicate not in self._large

    def _replica(self, predicate: int) -> IRI:
        return self._replicas.setdefault(predicate, IRI(f"corollary:replica:{len(self._replicas)}"))

    def _shared(self, form: CompiledRule, data: Iterable[int]) -> int | None:
        """The variable that all data atoms share as subject or object; as subject in the most of them."""
        atoms = [form.atoms[i] for i in data]
        ends = [{atom.s} if atom.p == self._rdf_type else {atom.s, atom.o} for atom in atoms]
        common = sorted((v for v in set.intersection(*ends) if v < 0), reverse=True)
        return max(common, key=lambda v: sum(atom.s == v for atom in atoms), default=None)

    def _instance(
        self, form: CompiledRule, filters: Iterable[Filter], ids: Mapping[int, int], by_object: Iterable[int]
    ) -> Rule:
        """The instance for one row of guards, without them; atoms ``by_object`` read copies."""
        mapping = self._mapping(form, ids)
        elements = [e for e in form.source.body if isinstance(e, Triple | Builtin)]
        body: list[Triple | Filter] = []
        for position, (element, atom) in enumerate(zip(elements, form.atoms, strict=True)):
            if position in form.guards and self._on_driver.has(atom):
                continue
            if isinstance(element, Builtin):
                raise CannotCut(f"{called(form)} joins lists with facts")
            if position in by_object:
                copy = self._copy(ids.get(atom.p, atom.p))
                element = replace(element, predicate=copy)
            body.append(element)
        rule = substitute(replace(form.source, body=(*body, *filters)), mapping)
        _refuse_what_is_no_triple(rule, form)
        return rule

    def _copy(self, predicate: int) -> IRI:
        if predicate == self._rdf_type:
            raise CannotCut("a rule joins facts by their class")
        return self._copies.setdefault(predicate, IRI(f"corollary:by-object:{len(self._copies)}"))

    def _constant(self, term: int) -> Constant:
        return parse_constant(self._dictionary.decode(term))

    def _whole(self, watched: frozenset[int]) -> ProgramCut:
        subject, end = Variable("subject"), Variable("object")
        copied = [*self._copies.items(), *self._replicas.items()]
        for predicate, copy in copied:
            name = self._constant(predicate)
            rule = Rule((Triple(subject, copy, end),), (Triple(subject, name, end),))
            self._rules[rule] = None
        names = {*self._copies.values(), *self._replicas.values(), *self._steps, *self._away.values()}
        rules = (_with_hidden(rule, names) for rule in self._rules)
        program = Program(tuple(rules), self._source.prefixes, self._source.name)
        first = (Kind.RESERVED << KIND_SHIFT) + self._dictionary.count(Kind.RESERVED)
        ids = {name: self._dictionary.encode(name.value) for name in sorted(names)}
        of = {self._dictionary.find(constant_text(step)): ids[step] for step in self._steps}
        copies = {ids[name]: of.get(p, p) for p, name in copied}
        replicas = frozenset(ids[name] for name in self._replicas.values())
        steps = frozenset(ids[name] for name in self._steps)
        away = {ids[name]: of.get(p, p) for p, name in self._away.items()}
        internal = range(first, first + len(ids))
        schema = TripleIndex({p: Relation(Pairs(keys)) for p, keys in self._schema.items()})
        closed = materialise(schema, program, self._dictionary).index
        everywhere = {
            p: closed.keys(p) for p in closed.all_predicates() if p < FIRST_VIRTUAL or p in internal
        }
        of_values = tuple(self._about_values)
        return ProgramCut(
            program,
            self._dictionary,
            everywhere,
            copies,
            replicas,
            steps,
            away,
            internal,
            of_values,
            watched,
            self._expected,
        )


def _by_row(rows: Batch) -> Iterator[dict[int, int]]:
    """The ids of each row, by column."""
    for row in range(rows.size):
        yield {v: int(column[row]) for v, column in rows.columns.items()}


def _refuse_what_is_no_triple(instance: Rule, rule: CompiledRule) -> None:
    """Refuse an instance of a rule whose conclusions RDF does not allow."""
    if not all(isinstance(head.predicate, IRI) for head in instance.heads):
        raise CannotCut(f"{called(rule)} concludes facts of properties that are no IRIs")
    if any(isinstance(head.subject, Literal) for head in instance.heads):
        raise CannotCut(f"{called(rule)} concludes facts about literals that the schema has")


def _with_hidden(rule: Rule, names: Set[IRI]) -> Rule:
    """The rule with virtual relations in place of some predicates: no variable stands for them."""

    def hidden(triple: Triple) -> Triple:
        name = triple.predicate
        if isinstance(name, IRI) and name in names:
            return replace(triple, predicate=Reserved(name.value))
        return triple

    body = tuple(hidden(element) if isinstance(element, Triple) else element for element in rule.body)
    return replace(rule, heads=tuple(map(hidden, rule.heads)), body=body)


def _without_filters(rule: Rule) -> Rule:
    return replace(rule, body=tuple(e for e in rule.body if not isinstance(e, Filter)))


def is_by_ids(expression: Expression) -> bool:
    """Whether ids decide an expression, without the texts of terms."""
    if not isinstance(expression, Call):
        return False
    if expression.function in LOGICAL:
        return all(map(is_by_ids, expression.arguments))
    return expression.function in BY_IDS and not any(isinstance(a, Call) for a in expression.arguments)
