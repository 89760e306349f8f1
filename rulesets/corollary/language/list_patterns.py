"""Patterns over whole RDF lists, rewritten into ordinary atoms over virtual relations.

``EACH`` and ``CHAIN`` speak of lists of any length n. For each n that occurs in the data the rule is
unrolled with ``LIST_n(?list, ?k)`` (k is one well-formed reading of the list, n items long) and
``ITEM_i(?k, ?x)`` (x is its item number i, from 1). ``PAIR`` needs no length: ``READING(?list, ?k)``,
and ``CELL(?k, ?c)`` for two different cells c of that reading, whose rdf:first facts name the items.
All of these are facts like any other: a list cell that changes changes them, and the ordinary
maintenance does the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from corollary.language.model import (
    IRI,
    RDF,
    BodyElement,
    Builtin,
    Call,
    Chain,
    Each,
    Filter,
    Pair,
    Rule,
    Term,
    Triple,
    Variable,
)
from corollary.language.variables import substitute_element, variables

FIRST = IRI(RDF + "first")


def has_list_pattern(rule: Rule) -> bool:
    """Whether the rule must be unrolled, once a length, before it can be planned."""
    return any(isinstance(element, Each | Chain) for element in rule.body)


def unroll(rule: Rule, length: int) -> Rule:
    """The rule for lists of that many items (at least 1), without ``Each``, ``Chain`` and ``Pair``.

    A rule with several list patterns is unrolled for lists of that same length; patterns over the
    same list variable share one reading of it.
    """
    assert length >= 1
    item_name, list_name = _unused(rule, "item", "list")
    body: list[BodyElement] = []
    readings: dict[Term, Variable] = {}
    for position, element in enumerate(rule.body):
        if not isinstance(element, Each | Chain):
            body.append(element)
            continue
        items = [Variable(f"{item_name}{position}_{i}") for i in range(1, length + 1)]
        if element.list not in readings:
            reading = readings[element.list] = Variable(f"{list_name}{position}")
            body.append(Builtin(f"LIST_{length}", (element.list, reading)))
        reading = readings[element.list]
        body += [Builtin(f"ITEM_{i}", (reading, item)) for i, item in enumerate(items, 1)]
        body += _steps(element, items) if isinstance(element, Chain) else _copies(element, items, rule)
    return with_cells(Rule(rule.heads, tuple(body), rule.name, rule.span))


def with_cells(rule: Rule) -> Rule:
    """The rule without ``Pair``: two cells of one reading, and the items that these name."""
    if not any(isinstance(element, Pair) for element in rule.body):
        return rule
    names = _unused(rule, "pair", "cell", "other")
    body: list[BodyElement] = []
    for position, element in enumerate(rule.body):
        body += _cells(element, position, names) if isinstance(element, Pair) else (element,)
    return Rule(rule.heads, tuple(body), rule.name, rule.span)


def _cells(pair: Pair, position: int, names: Sequence[str]) -> Iterator[BodyElement]:
    reading, *cells = (Variable(f"{name}{position}") for name in names)
    yield Builtin("READING", (pair.list, reading))
    for cell, item in zip(cells, (pair.first, pair.second), strict=True):
        yield Builtin("CELL", (reading, cell))
        yield Triple(cell, FIRST, item)
    yield Filter(Call("!", (Call("sameterm", tuple(cells)),)))


def _unused(rule: Rule, *names: str) -> tuple[str, ...]:
    """The names, with underscores put before them until no variable of the rule begins with one."""
    known = tuple(variable.name for variable in variables(rule))
    while any(variable.startswith(names) for variable in known):
        names = tuple(f"_{name}" for name in names)
    return names


def _steps(chain: Chain, items: list[Variable]) -> list[BodyElement]:
    """A path: one triple an item, ends shared."""
    knots: list[Term] = [Variable(f"{items[0].name}_knot{i}") for i in range(len(items) + 1)]
    knots[0], knots[-1] = chain.start, chain.end
    return [Triple(knots[i], item, knots[i + 1]) for i, item in enumerate(items)]


def _copies(each: Each, items: list[Variable], rule: Rule) -> list[BodyElement]:
    """The atoms once an item; variables that occur nowhere else are fresh for every item."""
    outside = {v for head in rule.heads for v in variables(head)}
    outside |= {v for element in rule.body if element is not each for v in variables(element)}
    copies: list[BodyElement] = []
    for item in items:
        fresh: dict[Variable, Term] = {
            v: Variable(f"{item.name}_{v.name}")
            for atom in each.atoms
            for v in variables(atom)
            if v not in outside
        }
        fresh[each.item] = item
        copies += [substitute_element(atom, fresh) for atom in each.atoms]
    return copies


def list_predicates(rule: Rule) -> set[Term | None]:
    """Where the lists of a rule hang: the predicates whose objects are taken for lists.

    None stands for a list that no constant predicate leads to, so that any cell may be meant.
    """
    found: set[Term | None] = set()
    for element in rule.body:
        if isinstance(element, Each | Chain | Pair):
            head: Term = element.list
        elif isinstance(element, Builtin) and element.name in ("MEMBER", "REPEATED"):
            head = element.arguments[0]
        else:
            continue
        leading = {
            atom.predicate
            for atom in rule.body
            if isinstance(atom, Triple) and atom.object == head and not isinstance(atom.predicate, Variable)
        }
        found |= leading or {None}
    return found
