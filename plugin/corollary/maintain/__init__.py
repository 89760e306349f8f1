"""Keeping a materialisation exact while its explicit facts, and its rules, come and go."""

from corollary.maintain.cost_model import AUTOMATIC
from corollary.maintain.deletion import STRATEGIES
from corollary.maintain.maintain import maintain
from corollary.maintain.report import Report, Stage

__all__ = ["AUTOMATIC", "STRATEGIES", "Report", "Stage", "maintain"]
