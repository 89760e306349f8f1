"""Explanations as Graphviz digraphs: boxes are facts (explicit facts filled), ellipses are rules.

A large proof is folded: what is left out is a box without a border, with the number of facts or rules.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from corollary.explain.explained import Explained
from corollary.explain.nearest import Near
from corollary.explain.proof import Application, Given, Proof
from corollary.explain.tuning import MAX_FACTS_DRAWN, PREMISES_SHOWN_AT_ENDS
from corollary.explain.wording import Wording, premises_printed
from corollary.program.components import quoted


def dot(explanation: Explained, folded: bool = True) -> str:
    """A digraph. Arrows lead from premises to rule applications, and from these to conclusions.

    If ``folded``, some ``MAX_FACTS_DRAWN`` facts of each proof, those next to the conclusion.
    """
    wording = Wording(explanation)
    lines = ["digraph explanation {", "  rankdir=BT;", "  node [fontname=Helvetica, fontsize=10];"]
    if not explanation.proofs:
        lines.append(f"  verdict [shape=plaintext, label={quoted(_said(explanation, wording))}];")
    for number, proof in enumerate(explanation.proofs, 1):
        lines += _nodes(f"p{number}", proof, wording, folded)
    return "\n".join([*lines, "}"]) + "\n"


def _said(explanation: Explained, wording: Wording) -> str:
    """What is said without a proof: the verdict, and the facts that the nearest rule instances miss."""
    lines = [wording.verdict(explanation)]
    for near in explanation.near:
        lines += [wording.near(near), *_missing(near, wording)]
    return "\n".join(lines)


def _missing(near: Near, wording: Wording) -> Iterator[str]:
    yield from wording.missing(near)
    for below in near.below:
        yield from (wording.below(below), *_missing(below, wording))


def _nodes(name: str, proof: Proof, wording: Wording, folded: bool) -> Iterator[str]:
    drawn = _drawn(proof, folded)
    for number in sorted(drawn):
        step = proof.steps[number]
        node = f"{name}_{number}"
        style = ', style=filled, fillcolor="#dff0df"' if isinstance(step.reason, Given) else ""
        yield f"  {node} [shape=box, label={quoted(wording.step(step))}{style}];"
        target = node
        if isinstance(step.reason, Application):
            target = f"{node}_rule"
            said = (
                wording.sentence(step.reason),
                wording.rule_text(step.reason.rule.source),
                *wording.conditions(step.reason),
            )
            tip = "\n".join(filter(None, said))
            yield f"  {target} [label={quoted(step.reason.rule.label)}, tooltip={quoted(tip)}];"
            yield f"  {target} -> {node};"
        for premise in drawn[number]:
            yield f"  {name}_{premise} -> {target};"
        if left := _left_out(proof, number, drawn):
            yield f"  {node}_more [shape=plaintext, label={quoted(left)}];"
            yield f"  {node}_more -> {target} [style=dashed];"


def _drawn(proof: Proof, folded: bool) -> dict[int, list[int]]:
    """The steps that are drawn, breadth first from the conclusion, each with its premises that are drawn."""
    last = len(proof.steps) - 1
    drawn: dict[int, list[int]] = {last: []}
    waiting = deque([last])
    while waiting:
        number = waiting.popleft()
        premises = premises_printed(proof, proof.steps[number])
        if folded and len(premises) > 2 * PREMISES_SHOWN_AT_ENDS + 1:
            premises = premises[:PREMISES_SHOWN_AT_ENDS] + premises[-PREMISES_SHOWN_AT_ENDS:]
        if folded and len(drawn) >= MAX_FACTS_DRAWN:
            premises = [premise for premise in premises if premise in drawn]
        drawn[number] = premises
        new = [premise for premise in dict.fromkeys(premises) if premise not in drawn]
        drawn.update((premise, []) for premise in new)
        waiting += new
    return drawn


def _left_out(proof: Proof, number: int, drawn: dict[int, list[int]]) -> str:
    """How many premises of a step are not drawn, and how many rule instances prove them; "" if all are."""
    missing = [i for i in premises_printed(proof, proof.steps[number]) if i not in drawn[number]]
    if not missing:
        return ""
    below: set[int] = set()
    waiting = [i for i in missing if i not in drawn]
    while waiting:
        each = waiting.pop()
        if each not in below:
            below.add(each)
            waiting += (i for i in proof.steps[each].premises if i not in drawn)
    rules = sum(isinstance(proof.steps[i].reason, Application) for i in below)
    facts = f"{len(missing):,} more {'fact' if len(missing) == 1 else 'facts'}"
    return f"{facts}, proved in {rules:,} {'step' if rules == 1 else 'steps'}" if rules else facts
