"""Explanations as plain text: a tree of facts, under each fact the rule that derives it."""

from __future__ import annotations

from collections.abc import Iterator

from corollary.explain.explained import Explained
from corollary.explain.nearest import Near
from corollary.explain.outline import outline
from corollary.explain.proof import Application, Given, Proof
from corollary.explain.wording import Wording


def text(explanation: Explained) -> str:
    """The verdict, then one tree for each proof, or what is missing. Ends without a line break."""
    wording = Wording(explanation)
    lines = [wording.verdict(explanation)]
    for number, proof in enumerate(explanation.proofs, 1):
        lines.append("")
        if len(explanation.proofs) > 1:
            lines.append(f"Proof {number} ({proof.size:,} {'rule' if proof.size == 1 else 'rules'}):")
        lines += _tree(proof, wording)
    for near in explanation.near:
        lines += ["", wording.near(near), *_premises(near, wording)]
    return "\n".join(lines)


def _premises(near: Near, wording: Wording) -> Iterator[str]:
    """The premises of an instance, below each other, then the instances for those that are missing."""
    yield from (f"  missing  {said}" for said in wording.missing(near))
    yield from (f"  holds    {wording.fact(fact)}" for fact in near.present)
    for below in near.below:
        yield f"  {wording.below(below)}"
        yield from (f"  {line}" for line in _premises(below, wording))


def _tree(proof: Proof, wording: Wording) -> Iterator[str]:
    margins = [""]  # of the lines below the last line of each depth
    for line in outline(proof):
        step = proof.steps[line.number]
        above = branch = ""
        if line.depth:
            above, branch = margins[line.depth - 1], "└─ " if line.is_last else "├─ "
            margins[line.depth :] = [above + ("   " if line.is_last else "│  ")]
        note = "  (see above)" if line.is_repeated else ""
        yield f"{above}{branch}{wording.step(step)}{note}"
        if isinstance(step.reason, Given) or line.is_repeated:
            continue
        under = margins[line.depth] + ("│    " if line.children else "     ")
        if isinstance(step.reason, Application):
            rule = step.reason.rule
            yield f"{under}by {rule.label}: {wording.rule_text(rule.source)}"
            if said := wording.sentence(step.reason):
                yield f"{under}   {said}"
            for condition in wording.conditions(step.reason):
                yield f"{under}   {condition}"
