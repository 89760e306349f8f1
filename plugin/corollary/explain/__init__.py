"""Explanations: which facts and rules make a fact hold, or contradict each other.

``explain`` looks backwards from a fact to explicit ones (``ways`` finds rule instances, ``search`` the
shortest proofs); an ``Explanation`` prints itself as text, JSON, Graphviz and HTML. Nothing is recorded
while rules are evaluated, so what nobody asks about costs nothing.
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
