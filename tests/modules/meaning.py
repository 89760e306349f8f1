"""What the rules of one module mean, by naive evaluation over sets of facts.

An *instance* is a rule with constants for its variables. Virtual relations stand as predicates that
are their names.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from tests.engine import Fact
from tests.modules.test_datatypes import SAME_AS
from tests.modules.test_datatypes import expected as expected_values
from tests.oracles import naive

from corollary.columns import TripleIndex
from corollary.columns.delta import Candidates, Delta
from corollary.evaluate.engine import Engine
from corollary.language import (
    IRI,
    RDF_TYPE,
    Builtin,
    Call,
    Constant,
    Filter,
    Program,
    Rule,
    Triple,
    Variable,
    constant_text,
    parse_constant,
)
from corollary.modules.datatypes import Datatypes
from corollary.modules.equality import Equality
from corollary.modules.inclusion import Inclusion
from corollary.modules.lists import Lists
from corollary.modules.module import Module
from corollary.program.compiled_program import CompiledProgram
from corollary.terms.dictionary import KIND_SHIFT, Kind, TermDictionary


@dataclass(frozen=True)
class Terms:
    """Facts as constants, and as ids of a dictionary."""

    dictionary: TermDictionary

    def encode(self, term: Constant) -> int:
        if isinstance(term, IRI) and is_virtual(term):
            return self.dictionary.encode(term.value)
        return self.dictionary.encode(constant_text(term))

    def decode(self, number: int) -> Constant:
        text = self.dictionary.decode(number)
        return IRI(text) if number >> KIND_SHIFT == Kind.RESERVED else parse_constant(text)

    def packed(self, facts: Iterable[Fact]) -> Delta:
        """Facts as sorted pairs by predicate."""
        found: dict[int, set[int]] = {}
        for fact in facts:
            subject, predicate, object_ = map(self.encode, fact)
            found.setdefault(predicate, set()).add(subject << 32 | object_)
        return Delta({predicate: np.array(sorted(keys), np.uint64) for predicate, keys in found.items()})

    def index(self, facts: Iterable[Fact]) -> TripleIndex:
        return self.packed(facts).snapshot()

    def returned(self, candidates: Candidates) -> set[Fact]:
        """The facts that a module returned."""
        return {
            (self.decode(key >> 32), self.decode(predicate), self.decode(key & 0xFFFFFFFF))
            for predicate, parts in candidates.items()
            for part in parts
            for key in part.tolist()
        }

    def facts(self, index: TripleIndex) -> set[Fact]:
        return self.returned({p: [index.keys(p)] for p in index.all_predicates()})


class Meaning:
    """Rules, their guards, and what follows by them."""

    def __init__(self, rules: Iterable[Rule], guards: Iterable[Triple] = ()) -> None:
        self.rules = tuple(rules)
        self._guards = tuple(guards)

    def step(self, facts: Iterable[Fact]) -> set[Fact]:
        """The conclusions of all instances."""
        return {head for _, heads in self._instances(facts) for head in heads}

    def losing(self, facts: set[Fact], lost: set[Fact]) -> Iterator[tuple[Fact, set[Fact]]]:
        """The conclusions of all instances over facts with a lost premise, and their other premises."""
        for body, heads in self._instances(facts):
            if body & lost:
                yield from ((head, body - lost) for head in heads)

    def needing(self, facts: set[Fact], some: set[Fact]) -> set[Fact]:
        """The conclusions of all instances over facts with some of these among their premises."""
        return {head for head, _ in self.losing(facts, some)}

    def closure(self, facts: Iterable[Fact]) -> set[Fact]:
        """All that follows, in any number of steps, and the facts."""
        known = set(facts)
        while new := self.step(known) - known:
            known |= new
        return known

    def guards(self, facts: set[Fact]) -> set[Fact]:
        """The facts that guards match."""
        known = naive.Facts(facts, {})
        return {ground(atom, binding) for atom in self._guards for binding in known.match(atom, {})}

    def _instances(self, facts: Iterable[Fact]) -> Iterator[tuple[set[Fact], list[Fact]]]:
        known = naive.Facts(facts, {})
        for rule in self.rules:
            atoms = [element for element in rule.body if isinstance(element, Triple)]
            for binding in naive.solutions(rule, known):
                yield (
                    {ground(atom, binding) for atom in atoms},
                    [ground(head, binding) for head in rule.heads],
                )


class Relations(Meaning):
    """Virtual relations, which describe other facts: no instances are named, only what no longer follows."""

    def losing(self, facts: set[Fact], lost: set[Fact]) -> Iterator[tuple[Fact, set[Fact]]]:
        for fact in self.step(facts) - self.step(facts - lost):
            yield fact, set()


class ListRelations(Relations):
    """Of lists whose cells have one rest, ever: these are their own readings."""

    def __init__(self, leading: Collection[Constant] | None) -> None:
        super().__init__(())
        self._leading = leading

    def step(self, facts: Iterable[Fact]) -> set[Fact]:
        known = naive.Facts(facts, {})
        if self._leading is None:
            heads = {s for s, p, _ in known.all if p == naive.REST}
        else:
            heads = {o for _, p, o in known.all if p in self._leading}
        found: set[Fact] = set()
        for head in heads:
            if any(known.lists(head)):
                found |= {(head, IRI("CELL"), cell) for cell in cells_of(head, known)}
            for items in filter(None, known.lists(head)):
                found |= {(head, IRI(f"LIST_{len(items)}"), head), (head, IRI("READING"), head)}
                for place, item in enumerate(items, 1):
                    found |= {(head, IRI("MEMBER"), item), (head, IRI(f"ITEM_{place}"), item)}
                    if items.count(item) > 1:
                        found.add((head, IRI("REPEATED"), item))
        return found


def cells_of(head: Constant, known: naive.Facts) -> Iterator[Constant]:
    """The cells of a list, if they have one rest each."""
    while head != naive.NIL:
        yield head
        (head,) = known.objects(head, naive.REST)


class ValueRelations(Relations):
    """Of the literals in facts."""

    def __init__(self) -> None:
        super().__init__(())

    def step(self, facts: Iterable[Fact]) -> set[Fact]:
        relations = expected_values([fact for fact in facts if not is_virtual(fact[1])], ())
        return {(first, IRI(name), second) for name, pairs in relations.items() for first, second in pairs}


def module_and_meaning(program: Program, name: str, terms: Terms) -> tuple[Module, Meaning] | None:
    """The first module of that name that the engine makes for a program, if it has rules; their meaning."""
    compiled = CompiledProgram(program, terms.dictionary)
    modules = Engine(TripleIndex(), compiled).fixpoint.modules
    module = next((module for module in modules if module.name == name), None)
    if isinstance(module, Lists):
        leading = compiled.list_predicates()
        return module, ListRelations(None if leading is None else set(map(terms.decode, leading)))
    if isinstance(module, Datatypes):
        return module, ValueRelations()
    if module is None:
        return None
    rules = module.rules
    guards = [list(triples(rule.source))[i] for rule in rules for i in rule.guards]
    # what these have to say about such a predicate other rules say as well
    known = {Inclusion: RDF_TYPE, Equality: SAME_AS}.get(type(module))
    return module, Meaning([plain(rule.source, known) for rule in rules], guards)


def plain(rule: Rule, no_predicate: Constant | None = None) -> Rule:
    """The rule with triples for built-ins, and a constant that no variable predicate stands for."""
    predicates = {atom.predicate for atom in (*rule.heads, *triples(rule))}
    others = [
        Filter(Call("!=", (predicate, no_predicate)))
        for predicate in sorted(predicates, key=str)
        if isinstance(predicate, Variable) and no_predicate is not None
    ]
    kept = [element for element in rule.body if not isinstance(element, Triple | Builtin)]
    return replace(rule, body=(*triples(rule), *kept, *others))


def triples(rule: Rule) -> Iterator[Triple]:
    for element in rule.body:
        if isinstance(element, Builtin):
            first, second = element.arguments
            yield Triple(first, IRI(element.name), second)
        elif isinstance(element, Triple):
            yield element


def is_virtual(predicate: Constant) -> bool:
    return isinstance(predicate, IRI) and ":" not in predicate.value


def ground(atom: Triple, binding: naive.Binding) -> Fact:
    subject, predicate, object_ = (naive.substitute(term, binding) for term in atom.terms)
    return (subject, predicate, object_)  # type: ignore[return-value]
