"""Explanations as HTML: ``details`` elements that fold, as a fragment for notebooks or as a whole page.

The first levels are open. Of many premises those in the middle are folded into one element.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from corollary.explain.explained import Explained
from corollary.explain.nearest import Near
from corollary.explain.outline import Line, outline
from corollary.explain.proof import Application, Given, Proof, Step
from corollary.explain.tuning import MAX_LEVELS_OPEN, PREMISES_SHOWN_AT_ENDS
from corollary.explain.wording import Wording

STYLE = """<style>
.corollary-explanation { --paper: #fff; --ink: #1c2126; --soft: #39434d; --faint: #646d76; --line: #d5dade;
  --stated: #dff0df; --inferred: #e3ebf8; --false: #f8dcdc; --button: #f5f7f8;
  font: 15px/1.5 system-ui, sans-serif; background: var(--paper); color: var(--ink);
  padding: .5em .8em; border-radius: 4px; }
@media (prefers-color-scheme: dark) {
.corollary-explanation { --paper: #15191e; --ink: #e6edf3; --soft: #b6c0ca; --faint: #929ca6; --line: #3a424b;
  --stated: #1f3f27; --inferred: #20375a; --false: #572629; --button: #232a31; }
}
.corollary-explanation .verdict { font-weight: 600; margin: .4em 0 .6em; }
.corollary-explanation .line { margin-left: 1.1em; border-left: 1px solid var(--line);
  padding: .1em 0 .1em .8em; }
.corollary-explanation .deep { margin-left: 0; padding-left: .15em; }
.corollary-explanation summary { cursor: pointer; }
.corollary-explanation code { font: 13px/1.5 ui-monospace, monospace; padding: .1em .4em; border-radius: 3px;
  border: 0; color: inherit; overflow-wrap: anywhere; }
.corollary-explanation .stated { background: var(--stated); }
.corollary-explanation .inferred { background: var(--inferred); }
.corollary-explanation .false { background: var(--false); }
.corollary-explanation .why { margin-left: 1.1em; color: var(--soft); }
.corollary-explanation .near { margin: .7em 0 0 1.1em; color: var(--soft); }
.corollary-explanation .rule { margin-left: 1.1em; color: var(--faint); font-size: 85%;
  overflow-wrap: anywhere; }
.corollary-explanation .note { color: var(--faint); font-size: 85%; }
</style>"""
"""The fragment has a background of its own, so that the colours fit whatever page it is in."""

_PAGE_STYLE = """<style>
body { max-width: 64em; margin: 2em auto; padding: 0 1.2em; background: #fff; }
@media (prefers-color-scheme: dark) { body { background: #15191e; } }
header.corollary-explanation { font: 14px/1.5 system-ui, sans-serif; color: var(--soft); display: flex;
  flex-wrap: wrap; gap: .6em 1em; align-items: center; border-bottom: 1px solid var(--line);
  padding-bottom: .8em; margin-bottom: 1em; }
header button { font: inherit; padding: .15em .8em; border: 1px solid var(--line); border-radius: 4px;
  background: var(--button); color: var(--ink); cursor: pointer; }
div.corollary-explanation + div.corollary-explanation { margin-top: 2em; padding-top: 1em;
  border-top: 1px solid var(--line); }
</style>"""

_HEADER = """<header class="corollary-explanation">
<span><code class="stated">stated</code> a fact of the files</span>
<span><code class="inferred">inferred</code> follows by a rule</span>
<span><code class="false">false</code> a contradiction, or missing</span>
<button type="button" onclick="unfold(true)">Expand all</button>
<button type="button" onclick="unfold(false)">Collapse all</button>
</header>"""

_SCRIPT = """<script>
function unfold(open) { document.querySelectorAll("details").forEach(each => each.open = open); }
</script>"""


def page(explanations: Sequence[Explained]) -> str:
    """A whole HTML document, with a legend, and buttons that expand and collapse everything."""
    title = explanations[0] if explanations else None
    named = "Consistent" if title is None else Wording(title).title(title)
    body = "\n".join(map(_fragment, explanations)) or "<p>consistent</p>"
    head = f'<meta charset="utf-8">\n<title>{escape(named)}</title>\n{STYLE}\n{_PAGE_STYLE}\n{_SCRIPT}'
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n{head}\n</head>\n'
        f"<body>\n{_HEADER}\n{body}\n</body>\n</html>\n"
    )


def html(explanation: Explained) -> str:
    """A ``div`` element with its style, for a notebook."""
    return STYLE + _fragment(explanation)


def _fragment(explanation: Explained) -> str:
    wording = Wording(explanation)
    parts = [f'<p class="verdict">{escape(wording.verdict(explanation))}</p>']
    for number, proof in enumerate(explanation.proofs, 1):
        if len(explanation.proofs) > 1:
            rules = f"{proof.size:,} {'rule' if proof.size == 1 else 'rules'}"
            parts.append(f'<p class="note">Proof {number} ({rules})</p>')
        parts += _tree(proof, wording)
    parts += (_near(near, wording.near(near), explanation, wording) for near in explanation.near)
    return f'<div class="corollary-explanation">{"".join(parts)}</div>'


def _near(near: Near, said: str, explanation: Explained, wording: Wording) -> str:
    """The facts that a rule instance misses, those that hold, marked as stated or inferred, what is below."""
    marked = [("false", fact, "missing") for fact in wording.missing(near)]
    for s, p, o in near.present:
        kind = "stated" if explanation.facts.relation(p).has(s, o) else "inferred"
        marked.append((kind, wording.fact((s, p, o)), "holds"))
    lines = (
        f'<div class="line"><code class="{kind}">{escape(fact)}</code> <span class="note">{note}</span></div>'
        for kind, fact, note in marked
    )
    below = (_near(each, wording.below(each), explanation, wording) for each in near.below)
    return f'<div class="near">{escape(said)}{"".join(lines)}{"".join(below)}</div>'


def _tree(proof: Proof, wording: Wording) -> Iterator[str]:
    opened: list[int] = []
    for line in outline(proof):
        while opened and opened[-1] >= line.depth:
            opened.pop()
            yield "</details>"
        yield from _fold(line)
        step = proof.steps[line.number]
        place = "line deep" if line.depth > MAX_LEVELS_OPEN + 6 else "line"
        note = ' <span class="note">(see above)</span>' if line.is_repeated else ""
        said = f'<code class="{_kind(step)}">{escape(wording.step(step))}</code>{note}'
        if line.is_repeated or (not line.children and not isinstance(step.reason, Application)):
            yield f'<div class="{place}">{said}</div>'
            continue
        is_open = line.depth < MAX_LEVELS_OPEN and line.siblings <= 2 * PREMISES_SHOWN_AT_ENDS
        state = " open" if is_open else ""
        yield f'<details class="{place}"{state}><summary>{said}</summary>{_reason(step, wording)}'
        opened.append(line.depth)
    yield "</details>" * len(opened)


def _fold(line: Line) -> Iterator[str]:
    """The beginning, or the end, of the element that has the premises in the middle of many."""
    hidden = line.siblings - 2 * PREMISES_SHOWN_AT_ENDS
    if hidden > 1 and line.place == PREMISES_SHOWN_AT_ENDS:
        yield f'<details class="line"><summary class="note">{hidden:,} more facts</summary>'
    elif hidden > 1 and line.place == line.siblings - PREMISES_SHOWN_AT_ENDS:
        yield "</details>"


def _kind(step: Step) -> str:
    if step.fact[0] < 0:
        return "false"
    return "stated" if isinstance(step.reason, Given) else "inferred"


def _reason(step: Step, wording: Wording) -> str:
    if not isinstance(step.reason, Application):
        return ""
    rule = step.reason.rule
    said = wording.sentence(step.reason)
    why = f'<div class="why">{escape(said)}</div>' if said else ""
    lines = (f"{rule.label}: {wording.rule_text(rule.source)}", *wording.conditions(step.reason))
    return why + "".join(f'<div class="rule">{escape(one)}</div>' for one in lines)
