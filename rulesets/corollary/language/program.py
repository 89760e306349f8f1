"""Programs: rules, and the prefixes with which they are printed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from html import escape

from corollary.language.model import Rule
from corollary.language.printer import Printer
from corollary.language.tuning import MAX_RULES_SHOWN


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Program:
    """Rules in the order written. Equality and hash ignore ``prefixes`` (for printing) and ``name``."""

    rules: tuple[Rule, ...]
    prefixes: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    name: str = field(default="", compare=False)

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def __len__(self) -> int:
        return len(self.rules)

    def __repr__(self) -> str:
        return f"<Program {self.name!r}: {len(self):,} {'rule' if len(self) == 1 else 'rules'}>"

    def _repr_html_(self) -> str:
        """The text of the first ``MAX_RULES_SHOWN`` rules, for Jupyter."""
        first = replace(self, rules=self.rules[:MAX_RULES_SHOWN])
        more = f", the first {len(first):,} shown" if len(first) < len(self) else ""
        return f"<pre>{escape(format_program(first))}</pre><p>{escape(repr(self)[1:-1])}{more}</p>"

    def __add__(self, other: Program) -> Program:
        """The rules of both programs without duplicates. If both declare a prefix, ``self`` decides."""
        rules = tuple(dict.fromkeys(self.rules + other.rules))
        prefixes = tuple({**dict(other.prefixes), **dict(self.prefixes)}.items())
        return Program(rules, prefixes, "+".join(filter(None, (self.name, other.name))))


def format_program(program: Program) -> str:
    """The text of a program: declarations of the prefixes used, then the rules with their ``@name`` lines."""
    printer = Printer(program.prefixes)
    lines: list[str] = []
    last_name = ""
    for rule in program:
        if lines and rule.name != last_name:
            lines.append("")
        last_name = rule.name
        if rule.name:
            lines.append(f"@name {'-'.join(rule.name.split())}")
        lines.append(printer.rule(rule))
    header = printer.header()
    if header and lines:
        header.append("")
    return "".join(f"{line}\n" for line in header + lines)
