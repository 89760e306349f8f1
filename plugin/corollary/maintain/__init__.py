"""Keeping a materialisation exact while its explicit facts come and go."""

from corollary.maintain.maintain import Strategy, maintain
from corollary.maintain.report import Report, Stage

__all__ = ["Report", "Stage", "Strategy", "maintain"]
