"""Recompute: the materialisation from scratch. What every other strategy is measured against."""

from __future__ import annotations

from corollary.evaluate import Materialisation, materialise
from corollary.maintain.report import Report
from corollary.maintain.strategy import Request


class Recompute:
    """Materialises the new E under the new program."""

    name = "starting over"

    def can_follow(self, request: Request) -> bool:
        """Always."""
        return True

    def seconds(self, request: Request) -> float:
        """What materialising took the last time."""
        return request.engine.seconds

    def carry_out(self, request: Request, report: Report) -> Materialisation:
        """I from scratch."""
        result = materialise(request.explicit, request.program, request.before.dictionary)
        result.engine.schema_depends_on_data |= request.engine.schema_depends_on_data
        return result
