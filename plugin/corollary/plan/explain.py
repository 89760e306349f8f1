"""EXPLAIN: how a program is evaluated over some facts, as data and as stable text.

An explanation has: the rules of each module; the components of the dependency graph in topological order; the
strata of rules with negation or aggregates; and for every rule that has data the size of its family, its full
plan, and a delta plan for each trigger. The output is deterministic.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from textwrap import wrap
from typing import Any

from corollary.columns import TripleIndex
from corollary.language import (
    BodyElement,
    Builtin,
    Term,
    Triple,
    Variable,
    format_element,
    format_rule,
    parse_constant,
)
from corollary.plan.delta_plans import delta_plan, full_plan
from corollary.plan.steps import AntiJoin, Distinct, Join, Plan, Select, Size
from corollary.program.compile import Atom, CompiledRule, Tables, is_virtual
from corollary.program.compiled_program import CompiledProgram
from corollary.program.components import Names, Prefixes, components, shortened
from corollary.program.tuning import MAX_NODES_NAMED

Explanation = dict[str, Any]


def explain(
    program: CompiledProgram,
    modules: Mapping[int, str],
    strata: Iterable[Iterable[int]],
    facts: TripleIndex,
    explicit: TripleIndex,
    tables: Tables,
    size: Size,
    suspended: Collection[int],
    reasons: Mapping[str, str],
    prefixes: Prefixes | None = None,
    everything: bool = False,
) -> Explanation:
    """The explanation as JSON-ready data.

    ``modules`` maps rule numbers to module names. ``strata`` has the rule numbers of each stratum, in
    order. ``explicit`` are the facts that define anonymous classes. ``tables`` gives the table of a
    family, ``size`` the cardinality of an atom's relation. ``suspended`` rules are listed without plans.
    ``reasons`` says why a module takes its rules, by module name. ``prefixes`` shorten terms, by default
    those of the program. Only rules that have data have plans, unless ``everything``.
    """
    printer = _Printer(
        program.dictionary, program.source.prefixes if prefixes is None else prefixes, explicit
    )
    parts = components(program, modules, facts, tables, printer, suspended)
    live = list(_live(program, facts, tables, suspended))
    by_number = {rule.number: rule for rule in program.rules}
    living = {rule.number for rule, _ in live} | set(suspended)
    idle = [rule for rule in program.rules if rule.number not in living and rule.source.body]
    shown = sorted([*live, *((rule, 0) for rule in idle)], key=_number) if everything else live
    return {
        "program": program.source.name,
        "facts": len(facts),
        "rules": len(program.rules),
        "modules": list(_by_module(live, modules, reasons)),
        "components": [component.as_dict() for component in parts],
        "suspended": sorted({by_number[number].label for number in suspended}),
        "strata": [[by_number[n].label for n in stratum if n in by_number] for stratum in strata],
        "without_data": _labels_without(idle, live),
        "plans": [
            {
                "rule": rule.label,
                "text": format_rule(rule.source, printer.prefixes),
                "module": modules.get(rule.number, ""),
                "rows": rows,
                "plans": list(printer.plans(rule, size)),
            }
            for rule, rows in shown
        ],
    }


def _by_module(
    live: Collection[tuple[CompiledRule, int]], modules: Mapping[int, str], reasons: Mapping[str, str]
) -> Iterator[Explanation]:
    """Each module with the labels of its rules, and why it takes them."""
    for module in dict.fromkeys(modules.get(rule.number, "") for rule, _ in live):
        labels = [rule.label for rule, _ in live if modules.get(rule.number) == module]
        yield {"module": module, "why": reasons.get(module, ""), "rules": labels}


def _labels_without(idle: Iterable[CompiledRule], live: Iterable[tuple[CompiledRule, int]]) -> list[str]:
    """The labels all of whose rules are without data."""
    used = {rule.label for rule, _ in live}
    return [label for label in dict.fromkeys(rule.label for rule in idle) if label not in used]


def _number(entry: tuple[CompiledRule, int]) -> int:
    return entry[0].number


def _live(
    program: CompiledProgram, facts: TripleIndex, tables: Tables, suspended: Collection[int]
) -> Iterator[tuple[CompiledRule, int]]:
    """The rules all of whose body atoms have matches, each with the number of rows of its family's table."""
    for rule in program.rules:
        rows = tables(rule)[0] if rule.source.body else 0
        if rule.number not in suspended and rows and all(_has_match(atom, facts) for atom in rule.atoms):
            yield rule, rows


def _has_match(atom: Atom, facts: TripleIndex) -> bool:
    """Whether an atom may match a fact: its constants occur at their places."""
    if atom.p < 0:
        return True
    relation = facts.relation(atom.p)
    return bool(
        len(relation)
        and (atom.s < 0 or relation.has_subject(atom.s))
        and (atom.o < 0 or relation.has_object(atom.o))
    )


class _Printer(Names):
    """Prints atoms, steps and plans."""

    def atom(self, rule: CompiledRule, atom: Atom) -> str:
        def term(value: int) -> Term:
            if value < 0:
                return Variable(rule.names[-1 - value])
            return parse_constant(self.dictionary.decode(value))

        element: BodyElement
        if is_virtual(atom.p):
            element = Builtin(self.dictionary.decode(atom.p), (term(atom.s), term(atom.o)))
        else:
            element = Triple(term(atom.s), term(atom.p), term(atom.o))
        return format_element(element, self.prefixes)

    def plans(self, rule: CompiledRule, size: Size) -> Iterator[Explanation]:
        yield {"trigger": None, "steps": self.steps(rule, full_plan(rule, size))}
        if rule.heads:
            for trigger, atom in enumerate(rule.atoms):
                plan = delta_plan(rule, trigger, size)
                entry: Explanation = {"trigger": self.atom(rule, atom)}
                if plan.guard_probe:
                    yield entry | {"steps": self.steps(rule, (*plan.guard_probe, *plan.body))}
                    entry["when"] = "the guard probe leads to many rows"
                yield entry | {"steps": self.steps(rule, plan.direct)}

    def steps(self, rule: CompiledRule, plan: Plan) -> list[str]:
        lines = []
        for step in plan:
            match step:
                case Join(atom, age):
                    lines.append(f"join {self.atom(rule, atom)} in {age.name.lower()}")
                case Distinct(atom, variable):
                    name = rule.names[-1 - variable]
                    lines.append(f"distinct ?{name} of {self.atom(rule, atom)} in recent")
                case Select(condition):
                    lines.append(format_element(condition.element, self.prefixes))
                case AntiJoin(negation):
                    atoms = (self.atom(rule, atom) for atom in negation.atoms)
                    lines.append(f"without {', '.join(atoms)}")
                case _:
                    lines.append(format_element(step.grouping.element, self.prefixes))
        heads = (self.atom(rule, head) for head in rule.heads)
        return [*lines, f"derive {', '.join(heads) or 'false'}"]


def explanation_text(explanation: Explanation) -> str:
    """The explanation as text."""
    name, rules = explanation["program"] or "program", explanation["rules"]
    lines = [
        f"{name}: {rules} rules over {explanation['facts']:,} facts",
        "",
    ]
    lines.append("Modules")
    for module in explanation["modules"]:
        lines.append(f"  {module['module']}: {', '.join(dict.fromkeys(module['rules']))}")
        lines.append(f"    ({module['why']})")
    parts = explanation["components"]
    lines += ["", f"Components, in the order of dependency ({len(parts):,})"]
    for number, component in enumerate(parts[: 10 * MAX_NODES_NAMED], 1):
        nodes = shortened(component["nodes"])
        kind = "recursive" if component["recursive"] else "not recursive"
        lines.append(f"  {number}. {nodes}: {kind}, by {', '.join(component['rules'])}")
    if len(parts) > 10 * MAX_NODES_NAMED:
        lines.append(f"  ... and {len(parts) - 10 * MAX_NODES_NAMED:,} more")
    if explanation["suspended"]:
        lines += ["", f"Suspended: {', '.join(explanation['suspended'])}"]
        lines.append("    (by these facts they negate or aggregate over what follows from them)")
    if explanation["strata"]:
        lines += ["", "Strata of rules with negation or aggregates"]
        lines += [f"  {n}. {', '.join(labels)}" for n, labels in enumerate(explanation["strata"], 1)]
    if explanation["without_data"]:
        labels = ", ".join(explanation["without_data"])
        lines += ["", "Rules without data", *wrap(labels, 100, initial_indent="  ", subsequent_indent="  ")]
    lines += ["", "Plans"]
    for rule in explanation["plans"]:
        lines += [
            "",
            f"  {rule['rule']}: {rule['rows']:,} {'row' if rule['rows'] == 1 else 'rows'}, {rule['module']}",
        ]
        lines += [f"    {line}" for line in rule["text"].splitlines()]
        for plan in rule["plans"]:
            when = f", if {plan['when']}" if "when" in plan else ""
            occasion = f"on recent {plan['trigger']}{when}" if plan["trigger"] else "from the start"
            lines.append(f"    - {occasion}:")
            lines += [f"        {step}" for step in plan["steps"]]
    return "\n".join(lines) + "\n"
