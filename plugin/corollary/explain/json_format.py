"""Explanations as JSON: see ``docs/explanations.md`` for the structure."""

from __future__ import annotations

from typing import Any

from corollary.explain.explained import Explained
from corollary.explain.nearest import Near
from corollary.explain.proof import Application, Given, Meaning, Reading, Step
from corollary.explain.wording import Wording, fact_texts


def document(explanation: Explained) -> dict[str, Any]:
    """The explanation as dicts, lists, strings, numbers, booleans and None."""
    wording = Wording(explanation)
    return {
        "status": explanation.status.value,
        "fact": None if explanation.fact is None else list(explanation.fact),
        "verdict": wording.verdict(explanation),
        "complete": explanation.is_complete,
        "proofs": [
            {
                "size": proof.size,
                "height": proof.height,
                "steps": [_step(step, explanation, wording) for step in proof.steps],
            }
            for proof in explanation.proofs
        ],
        "nearest": [_near(near, wording, wording.near(near)) for near in explanation.near],
    }


def _near(near: Near, wording: Wording, text: str) -> dict[str, Any]:
    return {
        "rule": near.rule.label,
        "text": text,
        "missing": wording.missing(near),
        "present": list(map(wording.fact, near.present)),
        "below": [_near(below, wording, wording.below(below)) for below in near.below],
    }


def _step(step: Step, explanation: Explained, wording: Wording) -> dict[str, Any]:
    decode = explanation.dictionary.decode
    entry: dict[str, Any] = {
        "fact": fact_texts(step.fact, decode),
        "text": wording.step(step),
        "premises": list(step.premises),
    }
    match step.reason:
        case Given():
            entry["by"] = "given"
        case Meaning():
            entry["by"] = "value"
        case Reading(list_, _, items):
            entry |= {"by": "list", "list": decode(list_), "items": list(map(decode, items))}
        case Application(rule, bindings, groups, is_path):
            entry |= {
                "by": "rule",
                "rule": rule.label,
                "sentence": wording.sentence(step.reason),
                "rule_text": wording.rule_text(rule.source),
                "bindings": {name: decode(term) for name, term in sorted(bindings.items())},
                "path": is_path,
                "conditions": wording.conditions(step.reason),
                "matches": [group.count for group in groups],
            }
    return entry
