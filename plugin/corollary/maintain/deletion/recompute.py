"""Recompute: materialise from scratch, with rules that are compiled. The baseline of the other strategies."""

from __future__ import annotations

from corollary.evaluate import MaterialisedView, rematerialise
from corollary.maintain.report import Report
from corollary.maintain.strategy import Request


class Recompute:
    """Materialises E after the transaction under the new program."""

    name = "starting over"

    def can_follow(self, request: Request) -> bool:
        """Always."""
        return True

    def seconds(self, request: Request) -> float:
        """The time of the last materialisation from scratch."""
        return request.engine.seconds

    def carry_out(self, request: Request, report: Report) -> MaterialisedView:
        """Materialise on a new engine, with the compiled rules of the present one."""
        engine = request.engine
        result = rematerialise(request.explicit, request.compiled, engine)
        result.engine.schema_depends_on_data |= engine.schema_depends_on_data
        return result
