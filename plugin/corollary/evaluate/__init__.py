"""Evaluation: from explicit facts and a program to the materialisation."""

from corollary.evaluate.inconsistency import Inconsistency
from corollary.evaluate.materialise import Materialisation, materialise

__all__ = ["Inconsistency", "Materialisation", "materialise"]
