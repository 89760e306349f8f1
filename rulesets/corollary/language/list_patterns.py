"""Rewriting of patterns over whole RDF lists into atoms over virtual relations.

    READING(l, k)   k is a reading of the list l: a path of cells from its head to rdf:nil
    LIST_n(l, k)    k is a reading of l with n items
    ITEM_i(k, x)    x is item number i of k, from 1
    CELL(k, c)      c is a cell of k
    LONG(l, k)      k is a reading of l with more than ``MAX_ITEMS_UNROLLED`` items

``EACH`` and ``CHAIN`` match lists of any length: a rule with one of them is unrolled once for each length n
that occurs in the data, with ``LIST_n`` and ``ITEM_i``. An unrolled rule has n atoms, and its plans cost more
than n steps. So long lists have one further form of the rule, for all lengths (``along``): it reads the cells
of the list one by one, and the module that evaluates it demands all cells. ``PAIR`` does not depend on the
length: it becomes ``READING`` and two different ``CELL`` atoms, whose rdf:first values are the items. Virtual
relations are maintained like all others.
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
    """Whether the rule has to be unrolled for each list length."""
    return any(isinstance(element, Each | Chain) for element in rule.body)


def has_long_form(rule: Rule) -> bool:
    """Whether ``along`` applies to a rule: a head, one ``Each`` or ``Chain``, and else atoms and filters."""
    patterns = sum(isinstance(element, Each | Chain) for element in rule.body)
    plain = (isinstance(element, Each | Chain | Triple | Builtin | Filter) for element in rule.body)
    return bool(rule.heads) and patterns == 1 and all(plain)


def along(rule: Rule) -> Rule:
    """The rule for long lists: the pattern, and after it the atoms for one cell of the list.

    Precondition: ``has_long_form``. The atoms alone would be satisfied by *some* cell.
    Example: ``EACH ?d IN ?l ([?y, a, ?d])`` is followed by
    ``LONG(?l, ?k), CELL(?k, ?c), [?c, rdf:first, ?d], [?y, a, ?d]``, and ``CHAIN(?l, ?x, ?y)`` by
    ``LONG(?l, ?k), CELL(?k, ?c), [?c, rdf:first, ?p], [?u, ?p, ?v]``.
    """
    pattern = next(element for element in rule.body if isinstance(element, Each | Chain))
    reading, cell, item, start, end = map(Variable, _unused(rule, "list", "cell", "item", "from", "to"))
    atoms: tuple[Triple, ...] = (Triple(start, item, end),)
    if isinstance(pattern, Each):
        item, atoms = pattern.item, pattern.atoms
    others = (element for element in rule.body if element is not pattern)
    cells = (Builtin("LONG", (pattern.list, reading)), Builtin("CELL", (reading, cell)))
    return Rule(
        rule.heads, (*others, pattern, *cells, Triple(cell, FIRST, item), *atoms), rule.name, rule.span
    )


def unroll(rule: Rule, length: int) -> Rule:
    """The rule for lists of ``length`` items, without ``Each``, ``Chain`` and ``Pair``.

    Precondition: ``length >= 1``. If a rule has several ``Each`` and ``Chain`` patterns, all their lists
    have this length. Patterns over the same list term share one reading.
    Example, length 2: ``EACH ?d IN ?l ([?y, a, ?d])`` becomes
    ``LIST_2(?l, ?k), ITEM_1(?k, ?d1), ITEM_2(?k, ?d2), [?y, a, ?d1], [?y, a, ?d2]``.
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
    """The rule with each ``Pair`` replaced by two different cells of one reading, and their items."""
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
    """The names, with underscores until no variable of the rule starts with one."""
    known = tuple(variable.name for variable in variables(rule))
    while any(variable.startswith(names) for variable in known):
        names = tuple(f"_{name}" for name in names)
    return names


def _steps(chain: Chain, items: list[Variable]) -> list[BodyElement]:
    """The path of a chain: one triple for each item; its object is the subject of the next triple."""
    knots: list[Term] = [Variable(f"{items[0].name}_knot{i}") for i in range(len(items) + 1)]
    knots[0], knots[-1] = chain.start, chain.end
    return [Triple(knots[i], item, knots[i + 1]) for i, item in enumerate(items)]


def _copies(each: Each, items: list[Variable], rule: Rule) -> list[BodyElement]:
    """A copy of the atoms for each item. Each copy has fresh variables for those that occur only here."""
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
    """The constant predicates whose objects are the lists of a rule.

    None stands for a list that is not the object of such a triple: its head may be any cell.
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
