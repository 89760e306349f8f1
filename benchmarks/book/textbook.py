"""Bottom-up evaluation as in textbooks: sets of rows, naive or semi-naive, with or without an index.

A row of a relation is a tuple of numbers. The index finds the rows that agree with what is bound. Without it
every row of the relation is looked at. This is the single thread that a reasoner has to outperform, and what
shows the price of leaving an index out: relations of Corollary are sorted, and cannot be without order.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from time import process_time
from typing import TypeAlias

Row: TypeAlias = tuple[int, ...]
Rows: TypeAlias = set[Row]
Binding: TypeAlias = dict[str, int]

ATOM = re.compile(r"(\w+)\(([^()]*)\)")


class OutOfTime(Exception):
    """The time of an evaluation is over."""


@dataclass(frozen=True, slots=True)
class Atom:
    """A relation with variables and numbers."""

    name: str
    terms: tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class TextRule:
    head: Atom
    body: tuple[Atom, ...]


def rules_of(text: str) -> list[TextRule]:
    """The rules of a program in the syntax of ``vlog``: a line each. Numbers are constants."""
    return [
        TextRule(head, tuple(body))
        for line in text.splitlines()
        if line.strip()
        for head, *body in [[_atom(*found) for found in ATOM.findall(line)]]
    ]


def _atom(name: str, arguments: str) -> Atom:
    terms = (argument.strip() for argument in arguments.split(","))
    return Atom(name, tuple(int(term) if term.isdigit() else term for term in terms))


@dataclass
class Relations:
    """The rows of all relations, and an index for each set of bound columns that was asked for."""

    indexed: bool
    rows: defaultdict[str, Rows] = field(default_factory=lambda: defaultdict(set))
    indices: dict[tuple[str, tuple[int, ...]], defaultdict[Row, list[Row]]] = field(default_factory=dict)

    def add(self, name: str, new: Iterable[Row]) -> None:
        """Add rows that are not there yet."""
        new = list(new)
        self.rows[name].update(new)
        for (of, columns), index in self.indices.items():
            if of == name:
                _enter(index, columns, new)

    def matches(self, atom: Atom, bound: Sequence[int], values: Row) -> Iterable[Row]:
        """Rows that may match: with an index those that have the values in the bound columns, else all."""
        if not (self.indexed and bound):
            return self.rows[atom.name]
        key = (atom.name, tuple(bound))
        if key not in self.indices:
            self.indices[key] = defaultdict(list)
            _enter(self.indices[key], key[1], self.rows[atom.name])
        return self.indices[key].get(values, ())


def _enter(index: defaultdict[Row, list[Row]], columns: tuple[int, ...], rows: Iterable[Row]) -> None:
    for row in rows:
        index[tuple(row[column] for column in columns)].append(row)


def evaluate(
    program: Sequence[TextRule],
    facts: Mapping[str, Rows],
    *,
    semi_naive: bool = True,
    indexed: bool = True,
    seconds: float = 60,
) -> dict[str, Rows]:
    """All rows that follow, by relation. Raises OutOfTime after ``seconds`` of CPU time."""
    end = process_time() + seconds
    known = Relations(indexed)
    for name, rows in facts.items():
        known.add(name, rows)
    fresh: Mapping[str, Rows] = {name: set(rows) for name, rows in facts.items()}
    while fresh:
        found: defaultdict[str, Rows] = defaultdict(set)
        for rule in program:
            rows = found[rule.head.name]
            present = known.rows[rule.head.name]
            if semi_naive:
                for place, atom in enumerate(rule.body):
                    if fresh.get(atom.name):
                        rows |= _heads(rule, known, end, place, fresh[atom.name]) - present
            else:
                rows |= _heads(rule, known, end) - present
        fresh = {name: rows for name, rows in found.items() if rows}
        for name, rows in fresh.items():
            known.add(name, rows)
    return dict(known.rows)


def _heads(
    rule: TextRule, known: Relations, end: float, place: int | None = None, recent: Iterable[Row] = ()
) -> Rows:
    """The heads of all matches; if ``place`` is given, of those with a recent row there."""
    atoms = list(rule.body)
    bindings: Iterable[Binding] = [{}]
    if place is not None:
        bindings = _unified(atoms.pop(place), recent, {})
    while atoms:
        names = next(iter(bindings := list(bindings)), {}).keys()
        atoms.sort(key=lambda atom: not names & set(atom.terms))  # stable: connected atoms first
        bindings = _joined(bindings, atoms.pop(0), known, end)
    return {tuple(b[t] if isinstance(t, str) else t for t in rule.head.terms) for b in bindings}


def _joined(bindings: Iterable[Binding], atom: Atom, known: Relations, end: float) -> Iterator[Binding]:
    bound: list[int] | None = None
    for binding in bindings:
        if bound is None:
            bound = [n for n, term in enumerate(atom.terms) if isinstance(term, int) or term in binding]
        if process_time() > end:
            raise OutOfTime
        values = tuple(_value(atom.terms[column], binding) for column in bound)
        yield from _unified(atom, known.matches(atom, bound, values), binding)


def _value(term: str | int, binding: Binding) -> int:
    return term if isinstance(term, int) else binding[term]


def _unified(atom: Atom, rows: Iterable[Row], binding: Binding) -> Iterator[Binding]:
    """The binding with the values of each row that matches the atom under it."""
    for row in rows:
        extended = dict(binding)
        for term, value in zip(atom.terms, row, strict=True):
            if (term if isinstance(term, int) else extended.setdefault(term, value)) != value:
                break
        else:
            yield extended
