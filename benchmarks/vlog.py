"""Translates Datalog programs from VLog's syntax to our rule language.

A line is a rule: ``Head(X,Y) :- Body(X,Z),Body(Z,Y)``. ``TE(s,p,o)`` is a triple. Every other predicate has
one or two arguments, and becomes a class or a property of that name.
"""

from __future__ import annotations

import re

from corollary.language import Program, parse_program

PREFIX = "https://corollary.example/program#"
ATOM = re.compile(r"(\w+)\(([^()]*)\)")
TRIPLE = "TE"


def program_of(text: str) -> Program:
    """Parse a program in VLog's syntax."""
    lines = [f"PREFIX : <{PREFIX}>"]
    lines += [ATOM.sub(_atom, line) + " ." for line in text.splitlines() if line.strip()]
    return parse_program("\n".join(lines))


def _atom(match: re.Match[str]) -> str:
    """Translate an atom. Arguments without a colon are variables."""
    name, arguments = match[1], [argument.strip() for argument in match[2].split(",")]
    terms = ", ".join(term if ":" in term else f"?{term}" for term in arguments)
    return f"[{terms}]" if name == TRIPLE else f":{name}[{terms}]"
