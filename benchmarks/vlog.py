"""Translates Datalog programs from VLog's syntax to our rule language.

A line is a rule: ``Head(X,Y) :- Body(X,Z),Body(Z,Y)``. ``TE(s,p,o)`` is a triple. Every other predicate has
one or two arguments, and becomes a class or a property of that name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from corollary.language import Program, parse_program
from corollary.language.model import IRI, OWL, RDF, Rule, Term, Triple

PREFIX = "https://corollary.example/program#"
ATOM = re.compile(r"(\w+)\(([^()]*)\)")
TRIPLE = "TE"
TYPE = RDF + "type"
SAME = OWL + "sameAs"


def program_of(text: str) -> Program:
    """Parse a program in VLog's syntax."""
    lines = [f"PREFIX : <{PREFIX}>"]
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
    return Program(tuple(rule for rule in program if same not in _reads(rule)))


def recursive_rules(program: Program) -> int:
    """The number of rules with a body predicate or class that depends on the head.

    Precondition: all body elements are triples with constant predicates.
    """
    after: dict[Term, set[Term]] = {}
    for rule in program:
        for node in _reads(rule):
            after.setdefault(node, set()).update(map(_node, rule.heads))
    count = 0
    for rule in program:
        seen, waiting = set[Term](), [_node(head) for head in rule.heads]
        while waiting:
            fresh = after.get(waiting.pop(), set()) - seen
            seen |= fresh
            waiting += fresh
        count += not seen.isdisjoint({*_reads(rule)})
    return count


def _reads(rule: Rule) -> Iterator[Term]:
    """The predicates and classes of the body."""
    return (_node(element) for element in rule.body if isinstance(element, Triple))


def _node(triple: Triple) -> Term:
    """The class if the triple says that something belongs to one, else the predicate."""
    return triple.object if triple.predicate == IRI(TYPE) else triple.predicate


def _atom(match: re.Match[str]) -> str:
    """Translate an atom."""
    terms = ", ".join(map(_term, _split(match[2])))
    return f"[{terms}]" if match[1] == TRIPLE else f":{match[1]}[{terms}]"


def _split(arguments: str) -> list[str]:
    return [argument.strip() for argument in arguments.split(",")]


def _term(argument: str) -> str:
    """Arguments without a colon are variables."""
    return argument if ":" in argument else f"?{argument}"
