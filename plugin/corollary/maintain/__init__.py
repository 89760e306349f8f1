"""Incremental maintenance of a materialisation under changes of explicit facts and rules."""

from corollary.maintain.change_of_sets import Change
from corollary.maintain.cost_model import AUTOMATIC
from corollary.maintain.deletion import STRATEGIES
from corollary.maintain.maintain import maintain
from corollary.maintain.report import Report, Stage

__all__ = ["AUTOMATIC", "STRATEGIES", "Change", "Report", "Stage", "maintain"]
