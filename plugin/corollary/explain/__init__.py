"""Explanations: proofs of a fact, or of an inconsistency, from explicit facts.

``explain`` searches backward from a fact: ``ways`` finds rule instances, ``search`` the shortest proofs. An
``Explanation`` prints as text, JSON, Graphviz and HTML. Evaluation records nothing for explanations, so they
cost nothing until they are asked for.
"""

from corollary.explain.explained import Status
from corollary.explain.explanation import Explanation, explain, explain_inconsistency
from corollary.explain.proof import FALSE, Application, Fact, Given, Group, Meaning, Proof, Reading, Step

__all__ = [
    "FALSE",
    "Application",
    "Explanation",
    "Fact",
    "Given",
    "Group",
    "Meaning",
    "Proof",
    "Reading",
    "Status",
    "Step",
    "explain",
    "explain_inconsistency",
]
