"""Translates Datalog programs from VLog's syntax to our rule language.

A line is a rule: ``Head(X,Y) :- Body(X,Z),Body(Z,Y)``. ``TE(s,p,o)`` is a triple. Every other predicate has
one or two arguments, and becomes a class or a property of that name.
"""

from __future__ import annotations

import re

from benchmarks.rule_counts import nodes_read

from corollary.language import Program, parse_program
from corollary.language.model import IRI, OWL

PREFIX = "https://corollary.example/program#"
ATOM = re.compile(r"(\w+)\(([^()]*)\)")
TRIPLE = "TE"
SAME = OWL + "sameAs"


def program_of(text: str, prefix: str = PREFIX) -> Program:
    """Parse a program in VLog's syntax. Names are in the namespace ``prefix``."""
    lines = [f"PREFIX : <{prefix}>"]
    lines += [ATOM.sub(_atom, line) + " ." for line in text.splitlines() if line.strip()]
    return parse_program("\n".join(lines))


def over_triples(text: str) -> Program:
    """Parse a program in VLog's syntax, without the rules that map triples to names: ``Name(X) :- TE(...)``.

    In all other rules triples replace the names, so that conclusions are triples of the vocabulary.
    Precondition: every name has one such rule. Raises KeyError for other names.
    """
    triples: dict[str, tuple[list[str], list[str]]] = {}
    rules = []
    for line in text.splitlines():
        atoms = [(name, _split(arguments)) for name, arguments in ATOM.findall(line)]
        if len(atoms) == 2 and atoms[1][0] == TRIPLE:
            triples[atoms[0][0]] = (atoms[0][1], atoms[1][1])
        elif atoms:
            rules.append(atoms)

    def triple(name: str, arguments: list[str]) -> str:
        variables, terms = triples[name]
        values = dict(zip(variables, arguments, strict=True))
        return f"[{', '.join(_term(values.get(term, term)) for term in terms)}]"

    lines = []
    for rule in rules:
        head, *body = (triple(*atom) for atom in rule)
        lines.append(f"{head} :- {', '.join(body)} .")
    return parse_program("\n".join(lines))


def without_equality(program: Program) -> Program:
    """The program without the rules that read owl:sameAs: replacement, symmetry and transitivity."""
    same = IRI(SAME)
    return Program(tuple(rule for rule in program if same not in nodes_read(rule)))


def _atom(match: re.Match[str]) -> str:
    """Translate an atom."""
    terms = ", ".join(map(_term, _split(match[2])))
    return f"[{terms}]" if match[1] == TRIPLE else f":{match[1]}[{terms}]"


def _split(arguments: str) -> list[str]:
    return [argument.strip() for argument in arguments.split(",")]


def _term(argument: str) -> str:
    """Arguments without a colon are variables."""
    return argument if ":" in argument else f"?{argument}"
