"""Explanations as HTML: ``details`` elements, without scripts. The first levels are open."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from corollary.explain.explained import Explained
from corollary.explain.outline import outline
from corollary.explain.proof import Application, Proof
from corollary.explain.tuning import MAX_LEVELS_OPEN
from corollary.explain.wording import Wording

_INDENT = "margin-left:1.2em"
_RULE = "color:#666;font-size:90%"


def html(explanation: Explained) -> str:
    """A ``div`` element."""
    wording = Wording(explanation)
    trees = "".join(part for proof in explanation.proofs for part in _tree(proof, wording))
    verdict = f"<p>{escape(wording.verdict(explanation))}</p>"
    return f'<div class="corollary-explanation">{verdict}{trees}</div>'


def _tree(proof: Proof, wording: Wording) -> Iterator[str]:
    opened: list[int] = []
    for line in outline(proof):
        while opened and opened[-1] >= line.depth:
            opened.pop()
            yield "</details>"
        step = proof.steps[line.number]
        said = f"<code>{escape(wording.step(step))}</code>{' (see above)' if line.is_repeated else ''}"
        if not isinstance(step.reason, Application) or line.is_repeated:
            if not line.children:
                yield f'<div style="{_INDENT}">{said}</div>'
                continue
            rule = ""
        else:
            printed = (
                f"{step.reason.rule.label}: {wording.rule_text(step.reason.rule.source)}",
                *wording.conditions(step.reason),
            )
            rule = "".join(f'<div style="{_INDENT};{_RULE}">{escape(one)}</div>' for one in printed)
        state = " open" if line.depth < MAX_LEVELS_OPEN else ""
        yield f'<details style="{_INDENT}"{state}><summary>{said}</summary>{rule}'
        opened.append(line.depth)
    yield "</details>" * len(opened)
