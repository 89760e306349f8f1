"""The bar of a stage on standard error. Its texts are made anew ten times per second, so all of them move."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

from corollary.cli.tuning import MAX_CHARACTERS_OF_ACTIVITY, MAX_CHARACTERS_OF_BAR

TEXTS = ("activity", "amount", "time", "left")


class Bar(Progress):
    """One line: what runs, the share of work done, facts and their rate, the time, and the time left.

    ``state`` returns ``TEXTS``, and the share of work done if it is known, at every refresh. In a narrow
    terminal the activity and the bar are shortened, the numbers are not. The line is erased at the end.
    """

    def __init__(self, state: Callable[[], tuple[tuple[str, ...], float | None]]) -> None:
        self._state = state
        self._bar = BarColumn()
        activity, *others = [TextColumn(f"{{task.fields[{name}]}}", markup=False) for name in TEXTS]
        columns = SpinnerColumn(), activity, self._bar, *others
        super().__init__(*columns, console=Console(stderr=True), transient=True)
        self.add_task("", total=None)

    def get_renderables(self) -> Iterable[RenderableType]:
        (activity, *others), share = self._state()
        for task in self.tasks:  # none while rich makes the bar
            room = self.console.width - sum(map(len, others)) - len(self.columns)  # a space between columns
            self._bar.bar_width = max(1, min(MAX_CHARACTERS_OF_BAR, room // 3))
            shortened = _shortened(activity, min(MAX_CHARACTERS_OF_ACTIVITY, room - self._bar.bar_width))
            task.fields.update(zip(TEXTS, (shortened, *others), strict=True))
            self.update(task.id, completed=share or 0.0, total=None if share is None else 1.0)
        yield from super().get_renderables()


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: max(0, most - 1)]}…"
