"""Rule instances: the table of each family, printed as ordinary Datalog."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import replace

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
from corollary.program.compile import Tables
from corollary.program.compiled_program import CompiledProgram
from corollary.terms.dictionary import TermDictionary

Cells = Mapping[int, tuple[int, ...]]
"""The cells that a reading of a list visits, by the id of the reading."""

OF_READINGS = ("LIST_", "ITEM_", "READING", "CELL")


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
        columns = {Variable(rule.names[-1 - slot]): column.tolist() for slot, column in table.items()}
        readings = _readings(rule.source)
        for row in range(size):
            ids = {variable: column[row] for variable, column in columns.items()}
            mapping: dict[Variable, Term] = {
                variable: _constant(term, dictionary)
                for variable, term in ids.items()
                if variable not in readings
            }
            lists = {reading: cells[ids[reading]] for reading in readings}
            body = tuple(_guards(rule.source, mapping, lists, dictionary))
            instance = substitute(replace(rule.source, body=body), mapping)
            # filters on guards alone have been applied
            kept = tuple(e for e in instance.body if not isinstance(e, Filter) or variables(e))
            if not any(isinstance(head.predicate, Literal) for head in instance.heads):
                rules.append(replace(instance, body=kept))
    return Program(tuple(dict.fromkeys(rules)), compiled.source.prefixes, compiled.source.name)


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
