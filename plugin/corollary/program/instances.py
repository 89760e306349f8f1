"""Rule instances: the table of each family, printed as ordinary Datalog."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import replace

from corollary.kernels.sorted import Column
from corollary.language import (
    IRI,
    RDF,
    BodyElement,
    Builtin,
    Constant,
    Filter,
    Literal,
    Program,
    Rule,
    Term,
    Triple,
    Variable,
    parse_constant,
    substitute,
    variables,
)
from corollary.language.list_patterns import unroll
from corollary.program.compile import CompiledRule, Tables
from corollary.program.compiled_program import CompiledProgram
from corollary.terms.dictionary import TermDictionary

Cells = Mapping[int, tuple[int, ...]]
"""The cells that a reading of a list visits, by the id of the reading."""

OF_READINGS = ("LIST_", "ITEM_", "READING", "CELL")
"""How the names of the virtual relations over readings of lists begin."""


def instances(
    compiled: CompiledProgram, tables: Tables, cells: Cells, suspended: Container[int] = ()
) -> Program:
    """One rule for every row of every family, with its guards kept in the body; other rules as written.

    A list is printed as the ``rdf:first`` and ``rdf:rest`` triples of its cells. Left out are ``suspended``
    rules (by number), and instances with a literal for the predicate of a head.
    """
    rules: list[Rule] = []
    dictionary = compiled.dictionary
    for rule in compiled.rules:
        if rule.number in suspended:
            continue
        if not rule.guards:
            rules.append(compiled.written(rule))
            continue
        size, table = tables(rule)
        if rule.along is not None:
            rules += _along_lists(rule, compiled, table, cells) if size else ()
            continue
        columns = {Variable(rule.names[-1 - slot]): column.tolist() for slot, column in table.items()}
        readings = _readings(rule.source)
        for row in range(size):
            ids = {variable: column[row] for variable, column in columns.items()}
            rules += _instance(rule.source, ids, readings, cells, dictionary)
    return Program(tuple(dict.fromkeys(rules)), compiled.source.prefixes, compiled.source.name)


def _instance(
    rule: Rule,
    ids: Mapping[Variable, int],
    readings: Container[Variable],
    cells: Cells,
    dictionary: TermDictionary,
) -> Iterator[Rule]:
    """The instance of a rule with ids for the guarded variables; nothing if the head is no triple."""
    mapping: dict[Variable, Term] = {
        variable: _constant(term, dictionary) for variable, term in ids.items() if variable not in readings
    }
    lists = {variable: cells[term] for variable, term in ids.items() if variable in readings}
    body = tuple(_guards(rule, mapping, lists, dictionary))
    instance = substitute(replace(rule, body=body), mapping)
    # filters on guards alone have been applied
    kept = tuple(e for e in instance.body if not isinstance(e, Filter) or variables(e))
    if not any(isinstance(head.predicate, Literal) for head in instance.heads):
        yield replace(instance, body=kept)


def _along_lists(
    rule: CompiledRule, compiled: CompiledProgram, table: Mapping[int, Column], cells: Cells
) -> Iterator[Rule]:
    """The instances of a rule over long lists, each unrolled for the length of its list.

    If a cell has several items, the rule as it was written: there is an instance for each choice of items.
    The same if the atoms inside of the pattern are guards.
    """
    assert rule.along is not None
    if not rule.guards.isdisjoint(rule.along.inside):
        yield compiled.written(rule)
        return
    reading, (cell, _, item) = rule.atoms[rule.along.long].o, rule.atoms[rule.along.first].terms
    template = compiled.written(rule)
    outside = [variable for variable in table if variable not in (cell, item)]
    items: dict[tuple[int, ...], dict[int, int]] = {}
    columns = [table[variable].tolist() for variable in (*outside, cell, item)]
    for *outer, of_cell, value in zip(*columns, strict=True):
        known = items.setdefault(tuple(outer), {})
        if known.setdefault(of_cell, value) != value:
            yield template
            return
    for row, of_cells in items.items():
        ids = {Variable(rule.names[-1 - v]): term for v, term in zip(outside, row, strict=True)}
        way = cells[ids.pop(Variable(rule.names[-1 - reading]))]
        unrolled = unroll(template, len(way))
        numbered = [
            e.arguments for e in unrolled.body if isinstance(e, Builtin) and e.name.startswith("ITEM_")
        ]
        for (start, variable), number in zip(numbered, way, strict=True):
            assert isinstance(start, Variable) and isinstance(variable, Variable)
            ids[start], ids[variable] = way[0], of_cells[number]
        yield from _instance(unrolled, ids, _readings(unrolled), {way[0]: way}, compiled.dictionary)


def _readings(rule: Rule) -> set[Variable]:
    """The variables for readings of lists."""
    return {
        reading
        for element in rule.body
        if isinstance(element, Builtin) and _names_reading(element)
        if isinstance(reading := element.arguments[1], Variable)
    }


def _names_reading(element: Builtin) -> bool:
    return element.name.startswith(("LIST_", "READING"))


def _guards(
    rule: Rule,
    mapping: Mapping[Variable, Term],
    lists: Mapping[Variable, tuple[int, ...]],
    dictionary: TermDictionary,
) -> Iterator[BodyElement]:
    """The body, with atoms over readings replaced by the triples of their cells."""
    first, rest, nil = (IRI(RDF + name) for name in ("first", "rest", "nil"))
    for element in rule.body:
        if not isinstance(element, Builtin) or not element.name.startswith(OF_READINGS):
            yield element
            continue
        start, end = element.arguments
        if _names_reading(element):
            assert isinstance(end, Variable)
            way: list[Term] = [_constant(cell, dictionary) for cell in lists[end]]
            yield from (Triple(a, rest, b) for a, b in zip(way, [*way[1:], nil], strict=True))
        elif element.name != "CELL":  # the body has the cell's rdf:first triple anyway
            assert isinstance(start, Variable)
            cell = lists[start][int(element.name.removeprefix("ITEM_")) - 1]
            yield Triple(
                _constant(cell, dictionary),
                first,
                mapping.get(end, end) if isinstance(end, Variable) else end,
            )


def _constant(term: int, dictionary: TermDictionary) -> Constant:
    return parse_constant(dictionary.decode(term))
