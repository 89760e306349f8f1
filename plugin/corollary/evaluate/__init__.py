"""Evaluation: from explicit facts and a program to the materialisation."""

from corollary.evaluate.engine import CannotAdopt
from corollary.evaluate.inconsistency import Inconsistency
from corollary.evaluate.known_closure import KnownClosure
from corollary.evaluate.materialise import MaterialisedView, adopt, materialise, rematerialise

__all__ = [
    "CannotAdopt",
    "Inconsistency",
    "KnownClosure",
    "MaterialisedView",
    "adopt",
    "materialise",
    "rematerialise",
]
