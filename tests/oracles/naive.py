"""A naive evaluator of the whole rule language: what every faster evaluator must agree with.

The idea is substitution over Python sets: apply every rule to every fact, add what is new, again
and again until nothing is. Nothing is shared with the engine but the rules as data, and wherever
one way is plainer and another is faster, this is the plainer one.

Invariant: the closure is over generalised triples, as RDF's rule tables are. Literals may be
subjects and blank nodes may be predicates; ``visible`` leaves out what RDF does not allow.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import replace
from itertools import permutations

from tests.oracles.expressions import ExpressionError, aggregate, evaluate, is_true

from corollary.language.model import (
    IRI,
    RDF,
    RDF_TYPE,
    Aggregate,
    Bind,
    BodyElement,
    Builtin,
    Call,
    Chain,
    Constant,
    Each,
    Expression,
    Filter,
    Literal,
    Not,
    Pair,
    Rule,
    Term,
    Triple,
    Variable,
)
from corollary.language.program import Program

Fact = tuple[Constant, Constant, Constant]
Binding = dict[Variable, Constant]
Pairs = set[tuple[Constant, Constant]]
Relations = Mapping[str, Callable[[set[Literal]], Pairs]]
"""For each builtin over literals: from the literals used in facts to the pairs that hold."""

FIRST, REST, NIL = IRI(RDF + "first"), IRI(RDF + "rest"), IRI(RDF + "nil")
NO_FACTS: Set[Fact] = frozenset()
ANYTHING = Triple(Variable("s"), Variable("p"), Variable("o"))


class Facts:
    """A set of facts that finds those with a given term at a given place."""

    def __init__(self, facts: Iterable[Fact], relations: Relations) -> None:
        self.relations = relations
        self.all: set[Fact] = set()
        self._with: defaultdict[tuple[int, Constant], set[Fact]] = defaultdict(set)
        self._pairs: dict[str, Pairs] = {}
        self.add(facts)

    def add(self, facts: Iterable[Fact]) -> None:
        """Facts that came to hold; the builtins' pairs are then to be found anew."""
        self._pairs.clear()
        for fact in facts:
            self.all.add(fact)
            for place, constant in enumerate(fact):
                self._with[place, constant].add(fact)

    def match(self, atom: Triple, binding: Binding) -> Iterator[Binding]:
        """Every way to extend ``binding`` so that the atom is a fact."""
        terms = tuple(substitute(term, binding) for term in atom.terms)
        for fact in self.with_constants(terms):
            extended = unify(terms, fact, binding)
            if extended is not None:
                yield extended

    def with_constants(self, terms: tuple[Term, ...]) -> Set[Fact]:
        """Facts that have one of the terms' constants in its place; all facts, if there is none."""
        found: Set[Fact] = self.all
        for place, term in enumerate(terms):
            if not isinstance(term, Variable):
                found = min(found, self._with.get((place, term), NO_FACTS), key=len)
        return found

    def objects(self, subject: Constant, predicate: Constant) -> list[Constant]:
        return [fact[2] for fact in self._with.get((0, subject), set()) if fact[1] == predicate]

    def list_heads(self) -> set[Constant]:
        """The empty list, and whatever could be the first node of another."""
        return {NIL} | {fact[0] for fact in self._with.get((1, FIRST), set())}

    def lists(
        self, head: Constant, passed: frozenset[Constant] = frozenset()
    ) -> Iterator[tuple[Constant, ...]]:
        """The items of every path from ``head`` along rdf:rest to rdf:nil that passes no node twice."""
        if head == NIL:
            yield ()
        elif head not in passed:
            for following in self.objects(head, REST):
                for items in self.lists(following, passed | {head}):
                    for item in self.objects(head, FIRST):
                        yield (item, *items)

    def pairs(self, name: str) -> Pairs:
        """All pairs of a builtin."""
        if name not in self._pairs:
            if name in ("MEMBER", "REPEATED"):
                least = 2 if name == "REPEATED" else 1
                self._pairs[name] = {
                    (head, item)
                    for head in self.list_heads()
                    for items in self.lists(head)
                    for item in items
                    if items.count(item) >= least
                }
            else:
                literals = {term for fact in self.all for term in fact if isinstance(term, Literal)}
                self._pairs[name] = self.relations[name](literals)
        return self._pairs[name]


def closure(
    facts: Iterable[Fact], program: Program, relations: Relations | None = None
) -> tuple[set[Fact], set[str]]:
    """All facts that hold, given ones included, and the names of the constraints that are violated.

    ``relations`` says which pairs VALUE, ILL_TYPED, SAME_VALUE and DIFFERENT_VALUE hold of; a
    program that uses one not given is a KeyError. A program that cannot be stratified is a ValueError.
    """
    known = Facts(facts, relations or {})
    one_head = [replace(rule, heads=(head,)) for rule in program for head in rule.heads]
    for stratum in strata(one_head):
        while True:
            derived = {fact for rule in stratum for fact in apply(rule, known)}
            if derived <= known.all:
                break
            known.add(derived - known.all)
    violated = {
        rule.name for rule in program if rule.is_constraint and any(True for _ in solutions(rule, known))
    }
    return known.all, violated


def visible(facts: Iterable[Fact]) -> set[Fact]:
    """The facts that RDF allows: no literal subject, no predicate but an IRI."""
    return {fact for fact in facts if not isinstance(fact[0], Literal) and isinstance(fact[1], IRI)}


def apply(rule: Rule, facts: Facts) -> Iterator[Fact]:
    """Every instance of the heads whose body holds."""
    for binding in solutions(rule, facts):
        for head in rule.heads:
            terms = [substitute(term, binding) for term in head.terms]
            # EACH over the empty list binds nothing: such a rule instance would be unsafe.
            if not any(isinstance(term, Variable) for term in terms):
                subject, predicate, object_ = terms
                yield (subject, predicate, object_)  # type: ignore[misc]


def solutions(rule: Rule, facts: Facts) -> Iterator[Binding]:
    """Every binding of the rule's variables that makes its body hold."""
    if any(isinstance(part, Triple) and not facts.with_constants(part.terms) for part in rule.body):
        return
    shared: set[Variable] = set()
    if any(isinstance(part, Each) for part in rule.body):
        uses = Counter(name for part in (*rule.heads, *rule.body) for name in variables_of(part))
        shared = {variable for variable, count in uses.items() if count > 1}
    yield from solve(rule.body, facts, {}, shared)


def solve(
    body: tuple[BodyElement, ...], facts: Facts, binding: Binding, shared: set[Variable]
) -> Iterator[Binding]:
    """Extend ``binding`` by one body element after the other, those that can bind most surely first."""
    if not body:
        yield binding
        return
    position = min(range(len(body)), key=lambda i: urgency(body[i], binding)) if len(body) > 1 else 0
    rest = body[:position] + body[position + 1 :]
    for extended in extend(body[position], facts, binding, shared):
        yield from solve(rest, facts, extended, shared)


def urgency(element: BodyElement, binding: Binding) -> tuple[int, int]:
    """Smaller is sooner: what binds, then what computes, then what only tests; fewer unknowns first."""
    unknown = len(variables_of(element) - binding.keys())
    match element:
        case Triple():
            return 0, unknown
        case Builtin() | Chain() | Each() | Pair():
            return 1, unknown
        case Aggregate():
            return 2, 0
        case Bind(expression=expression):
            return 3, len(variables_of_expression(expression) - binding.keys())
        case Filter() | Not():
            return 4, 0


def extend(element: BodyElement, facts: Facts, binding: Binding, shared: set[Variable]) -> Iterator[Binding]:
    """Every way to extend ``binding`` so that the one body element holds."""
    match element:
        case Triple():
            yield from facts.match(element, binding)
        case Builtin(name=name, arguments=arguments):
            terms = tuple(substitute(term, binding) for term in arguments)
            for pair in facts.pairs(name):
                extended = unify(terms, pair, binding)
                if extended is not None:
                    yield extended
        case Chain(list=head, start=start, end=end):
            for items, bound in lists_of(head, facts, binding):
                terms = substitute(start, bound), substitute(end, bound)
                for pair in ends_of_paths(items, facts):
                    extended = unify(terms, pair, bound)
                    if extended is not None:
                        yield extended
        case Pair(list=head, first=first, second=second):
            for items, bound in lists_of(head, facts, binding):
                for one, other in permutations(items, 2):
                    extended = unify((first, second), (one, other), bound)
                    if extended is not None:
                        yield extended
        case Each(item=item, list=head, atoms=atoms):
            for items, bound in lists_of(head, facts, binding):
                bindings = [bound]
                for i, constant in enumerate(
                    items
                ):  # own variables are forgotten: their values do not matter
                    own = tuple(rename(atom, item, constant, shared, str(i)) for atom in atoms)
                    found = (extended for known in bindings for extended in solve(own, facts, known, shared))
                    kept = ({n: v for n, v in row.items() if not n.name.endswith(f"#{i}")} for row in found)
                    bindings = list({frozenset(row.items()): row for row in kept}.values())
                yield from bindings
        case Not(atoms=atoms):
            if not any(True for _ in solve(atoms, facts, binding, shared)):
                yield binding
        case Filter(expression=expression):
            if is_true(expression, binding):
                yield binding
        case Bind(expression=expression, variable=variable):
            try:
                value = evaluate(expression, binding)
            except ExpressionError:
                return
            extended = unify((substitute(variable, binding),), (value,), binding)
            if extended is not None:
                yield extended
        case Aggregate():
            for row in groups(element, facts):
                extended = unify(tuple(substitute(key, binding) for key in row), tuple(row.values()), binding)
                if extended is not None:
                    yield extended


def ends_of_paths(items: tuple[Constant, ...], facts: Facts) -> set[tuple[Constant, Constant]]:
    """The ends of all paths with these properties, one after the other. The empty chain is no path at all."""
    pairs = {(s, o) for s, p, o in facts.all if p in items[:1]}
    for following in items[1:]:
        pairs = {(start, end) for start, node in pairs for end in facts.objects(node, following)}
    return pairs


def lists_of(head: Term, facts: Facts, binding: Binding) -> Iterator[tuple[tuple[Constant, ...], Binding]]:
    """The items of every list that ``head`` can be, with the binding that makes it so."""
    head = substitute(head, binding)
    if isinstance(head, Variable):
        for node in facts.list_heads():
            for items in facts.lists(node):
                yield items, {**binding, head: node}
    else:
        for items in facts.lists(head):
            yield items, binding


def rename(atom: Triple, item: Variable, constant: Constant, shared: set[Variable], mark: str) -> Triple:
    """The atom for one item of a list: variables of the item's own get a name of its own."""

    def renamed(term: Term) -> Term:
        if term == item:
            return constant
        if isinstance(term, Variable) and term not in shared:
            return Variable(f"{term.name}#{mark}")
        return term

    return Triple(*map(renamed, atom.terms))


def groups(element: Aggregate, facts: Facts) -> Iterator[Binding]:
    """One row a group: the group's variables and the aggregates. Other variables are the body's own."""
    rows: defaultdict[tuple[Constant, ...], list[Binding]] = defaultdict(list)
    for binding in solve(element.body, facts, {}, set()):
        rows[tuple(binding[variable] for variable in element.group)].append(binding)
    for key, bindings in rows.items():
        row = dict(zip(element.group, key, strict=True))
        try:
            for wanted in element.bindings:
                row[wanted.variable] = aggregate(wanted, bindings)
        except ExpressionError:
            continue
        yield row


def substitute(term: Term, binding: Binding) -> Term:
    return binding.get(term, term) if isinstance(term, Variable) else term


def unify(terms: tuple[Term, ...], constants: tuple[Constant, ...], binding: Binding) -> Binding | None:
    """``binding`` extended so that the terms become the constants; None if that cannot be."""
    extended = dict(binding)
    for term, constant in zip(terms, constants, strict=True):
        if isinstance(term, Variable):
            if extended.setdefault(term, constant) != constant:
                return None
        elif term is not constant and term != constant:
            return None
    return extended


def variables_of_expression(expression: Expression) -> set[Variable]:
    if isinstance(expression, Call):
        return {name for argument in expression.arguments for name in variables_of_expression(argument)}
    return {expression} if isinstance(expression, Variable) else set()


def variables_of(element: BodyElement) -> set[Variable]:
    """The variables of an element that the rest of the rule can see."""
    match element:
        case Triple():
            terms: Iterable[Term] = element.terms
        case Builtin(arguments=arguments):
            terms = arguments
        case Chain(list=head, start=start, end=end):
            terms = (head, start, end)
        case Pair(list=head, first=first, second=second):
            terms = (head, first, second)
        case Each(item=item, list=head, atoms=atoms):
            terms = {head, *(term for atom in atoms for term in atom.terms)} - {item}
        case Not(atoms=atoms):
            terms = {name for atom in atoms for name in variables_of(atom)}
        case Filter(expression=expression):
            terms = variables_of_expression(expression)
        case Bind(expression=expression, variable=variable):
            terms = variables_of_expression(expression) | {variable}
        case Aggregate(group=group, bindings=bindings):
            terms = (*group, *(wanted.variable for wanted in bindings))
    return {term for term in terms if isinstance(term, Variable)}


def strata(rules: list[Rule]) -> list[list[Rule]]:
    """The rules, all of one head, in layers: what is negated in a layer is complete before it.

    A rule stands no lower than those that feed its positive atoms, and higher than those that feed
    its negated ones. If that never settles, some negation depends on itself: ValueError.
    """
    if not any(strict for rule in rules for _, strict in dependencies(rule.body)):
        return [rules]
    derived: defaultdict[Node, list[int]] = defaultdict(list)
    for source, rule in enumerate(rules):
        for head in rule.heads:
            derived[_node(head)].append(source)
    read = {
        (target, _node(atom), strict)
        for target, rule in enumerate(rules)
        for atom, strict in dependencies(rule.body)
    }
    fed = {
        node: [source for head in derived if overlaps(head, node) for source in derived[head]]
        for _, node, _ in read
    }
    feeds = [(source, target, strict) for target, node, strict in read for source in fed[node]]
    layer = [0] * len(rules)
    for _ in range(len(rules) + 1):
        before = list(layer)
        for source, target, strict in feeds:
            layer[target] = max(layer[target], layer[source] + strict)
        if layer == before:
            return [[rule for i, rule in enumerate(rules) if layer[i] == n] for n in sorted(set(layer))]
    raise ValueError("a negation or an aggregate depends on itself")


def dependencies(body: Iterable[BodyElement], strict: bool = False) -> Iterator[tuple[Triple, bool]]:
    """The patterns of facts that a body reads, and whether it needs to know them completely."""
    for element in body:
        match element:
            case Triple():
                yield element, strict
            case Builtin(name=name):
                lists = name in ("MEMBER", "REPEATED")
                yield from ((atom, strict) for atom in (LIST_ATOMS if lists else (ANYTHING,)))
            case Each(atoms=atoms):
                # The item stands for a constant of the list: as a variable it overlaps with them all.
                yield from ((atom, strict) for atom in (*LIST_ATOMS, *atoms))
            case Chain():
                yield ANYTHING, strict
            case Pair():
                yield from ((atom, strict) for atom in LIST_ATOMS)
            case Not(atoms=atoms):
                yield from dependencies(atoms, True)
            case Aggregate(body=inner):
                yield from dependencies(inner, True)
            case Filter() | Bind():
                pass


LIST_ATOMS = tuple(Triple(Variable("s"), predicate, Variable("o")) for predicate in (FIRST, REST))


Node = tuple[Constant | None, ...]
"""A predicate, and the class if that is rdf:type; None for a variable."""


def overlaps(head: Node, atom: Node) -> bool:
    """Whether a head might make facts of an atom's predicate, or of its class if that is rdf:type."""
    return all(a is None or b is None or a == b for a, b in zip(head, atom, strict=False))


def _node(atom: Triple) -> Node:
    """Where the atom stands in the dependency graph."""
    terms = (atom.predicate, atom.object) if atom.predicate == RDF_TYPE else (atom.predicate,)
    return tuple(None if isinstance(term, Variable) else term for term in terms)
