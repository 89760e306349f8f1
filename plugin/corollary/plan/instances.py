"""Rule instances: a family's table written out as ordinary Datalog."""

from __future__ import annotations

from dataclasses import replace

from corollary.language import Filter, Program, Rule, Term, Variable, parse_constant, substitute, variables
from corollary.plan.compile import Tables
from corollary.plan.program import CompiledProgram


def instances(compiled: CompiledProgram, tables: Tables) -> Program:
    """One rule for every row of every family, the matched guards kept in the body."""
    rules: list[Rule] = []
    dictionary = compiled.dictionary
    for rule in compiled.rules:
        if not rule.guards:
            rules.append(rule.source)
            continue
        size, table = tables(rule)
        columns = {slot: column.tolist() for slot, column in table.items()}
        for row in range(size):
            mapping: dict[Variable, Term] = {
                Variable(rule.names[-1 - slot]): parse_constant(dictionary.decode(column[row]))
                for slot, column in columns.items()
            }
            instance = substitute(rule.source, mapping)
            # filters on guards alone have been applied
            body = tuple(e for e in instance.body if not isinstance(e, Filter) or variables(e))
            rules.append(replace(instance, body=body))
    return Program(tuple(dict.fromkeys(rules)), compiled.source.prefixes, compiled.source.name)
