"""Explanations as Graphviz digraphs: boxes are facts (explicit facts filled), ellipses are rules."""

from __future__ import annotations

from collections.abc import Iterator

from corollary.explain.explained import Explained
from corollary.explain.outline import outline
from corollary.explain.proof import Application, Given, Proof
from corollary.explain.wording import Wording, premises_printed
from corollary.program.components import quoted


def dot(explanation: Explained) -> str:
    """A digraph. Arrows lead from premises to rule applications, and from these to conclusions."""
    wording = Wording(explanation)
    lines = ["digraph explanation {", "  rankdir=BT;", "  node [fontname=Helvetica, fontsize=10];"]
    if not explanation.proofs:
        lines.append(f"  verdict [shape=plaintext, label={quoted(wording.verdict(explanation))}];")
    for number, proof in enumerate(explanation.proofs, 1):
        lines += _nodes(f"p{number}", proof, wording)
    return "\n".join([*lines, "}"]) + "\n"


def _nodes(name: str, proof: Proof, wording: Wording) -> Iterator[str]:
    for number in sorted({line.number for line in outline(proof)}):
        step = proof.steps[number]
        node = f"{name}_{number}"
        style = ', style=filled, fillcolor="#e8f0e8"' if isinstance(step.reason, Given) else ""
        yield f"  {node} [shape=box, label={quoted(wording.step(step))}{style}];"
        target = node
        if isinstance(step.reason, Application):
            target = f"{node}_rule"
            tip = "\n".join((wording.rule_text(step.reason.rule.source), *wording.conditions(step.reason)))
            yield f"  {target} [label={quoted(step.reason.rule.label)}, tooltip={quoted(tip)}];"
            yield f"  {target} -> {node};"
        for premise in premises_printed(proof, step):
            yield f"  {name}_{premise} -> {target};"
