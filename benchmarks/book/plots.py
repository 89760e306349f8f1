"""The plots of the book as SVG files, in a light and in a dark form. Equal results give equal bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WIDTH, HEIGHT = 7.2, 3.6
"""Inches. The height is that of lines and bars."""

MOST_LETTERS = 60
"""Letters of the longest lines of all names below bars that fit side by side."""


@dataclass(frozen=True, slots=True)
class Theme:
    """The colours of a form: the background, text and axes, the grid, and the series."""

    name: str
    background: str
    ink: str
    grid: str
    series: tuple[str, ...]


LIGHT = Theme(
    *("light", "#ffffff", "#1f2328", "#d8dee4"),
    ("#0969da", "#bc4c00", "#1a7f37", "#8250df", "#bf3989", "#57606a", "#9a6700", "#1b7c83"),
)
DARK = Theme(
    *("dark", "#0d1117", "#e6edf3", "#30363d"),
    ("#58a6ff", "#f0883e", "#56d364", "#bc8cff", "#f778ba", "#b1bac4", "#e3b341", "#39c5cf"),
)
MARKERS = "osD^vPX*"


def write_plot(plot: Mapping[str, Any], folder: Path) -> None:
    """Write ``NAME-light.svg`` and ``NAME-dark.svg``. Precondition: matplotlib is installed."""
    import matplotlib as mpl

    mpl.use("Agg")
    for theme in (LIGHT, DARK):
        settings: Any = _settings(theme)
        with mpl.rc_context(settings):
            figure = drawn(plot, theme)
            figure.savefig(
                folder / f"{plot['name']}-{theme.name}.svg", metadata={"Date": None, "Creator": None}
            )
            _close(figure)


def _close(figure: Any) -> None:
    from matplotlib import pyplot

    pyplot.close(figure)


def _settings(theme: Theme) -> dict[str, Any]:
    ink = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
    return dict.fromkeys(ink, theme.ink) | {
        "figure.facecolor": theme.background,
        "savefig.facecolor": theme.background,
        "axes.facecolor": theme.background,
        "grid.color": theme.grid,
        "font.family": "sans-serif",
        "font.size": 9,
        "svg.fonttype": "none",
        "svg.hashsalt": "corollary",
    }


def drawn(plot: Mapping[str, Any], theme: Theme) -> Any:
    """The figure of matplotlib."""
    from matplotlib import pyplot
    from matplotlib.ticker import FormatStrFormatter, LogLocator

    if plot["kind"] == "graph":
        return _graph(plot, theme)
    figure, axes = pyplot.subplots(figsize=(WIDTH, HEIGHT), layout="constrained")
    if plot["log_x"]:
        axes.set_xscale("log")
    if plot["log_y"]:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(FormatStrFormatter("%g"))
    {"bars": _bars, "lines": _lines}[plot["kind"]](axes, plot["series"], theme)
    axes.set_title(plot["title"], loc="left", fontsize=10, fontweight="bold")
    axes.set_xlabel(plot["x"])
    axes.set_ylabel(plot["y"])
    axes.minorticks_off()
    axes.grid(axis="y", linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    if len(plot["series"]) > 1:
        figure.legend(loc="outside right upper", frameon=False, fontsize=8)
    return figure


def _lines(axes: Any, series: list[Mapping[str, Any]], theme: Theme) -> None:
    from matplotlib.ticker import StrMethodFormatter

    for number, line in enumerate(series):
        color = theme.series[number % len(theme.series)]
        ys = [float("nan") if y is None else y for y in line["ys"]]
        axes.plot(
            *(line["xs"], ys),
            color=color,
            label=line["label"],
            marker=MARKERS[number % len(MARKERS)],
            markersize=4,
            linewidth=1.4,
        )
    if not isinstance(series[0]["xs"][0], str):
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    if axes.get_yscale() != "log":
        axes.set_ylim(bottom=0)


def _bars(axes: Any, series: list[Mapping[str, Any]], theme: Theme) -> None:
    names = series[0]["xs"]
    width = 0.8 / len(series)
    for number, bars in enumerate(series):
        places = [place + (number - (len(series) - 1) / 2) * width for place in range(len(names))]
        known = [(place, y) for place, y in zip(places, bars["ys"], strict=True) if y is not None]
        color = theme.series[number % len(theme.series)]
        axes.bar([p for p, _ in known], [y for _, y in known], 0.92 * width, color=color, label=bars["label"])
    broken = [name.replace(", ", ",\n") for name in names]
    if _width(broken) > MOST_LETTERS:
        broken = [name.replace("-", "-\n") for name in broken]
    is_long = _width(broken) > MOST_LETTERS
    axes.set_xticks(
        range(len(names)), names if is_long else broken, rotation=90 if is_long else 0, fontsize=8
    )


def _width(names: list[str]) -> int:
    """The letters of the longest line of each name, added up."""
    return sum(max(map(len, name.split("\n"))) for name in names)


def _graph(plot: Mapping[str, Any], theme: Theme) -> Any:
    """Boxes in levels from left to right: a node stands right of all that it reads."""
    from matplotlib import pyplot

    graph = plot["graph"]
    places = _places(graph)
    tallest = max(sum(1 for x, _ in places.values() if x == level) for level, _ in places.values())
    figure, axes = pyplot.subplots(figsize=(WIDTH, max(HEIGHT, 0.62 * tallest)), layout="constrained")
    axes.set_title(plot["title"], loc="left", fontsize=10, fontweight="bold")
    for source, target in graph["arrows"]:
        axes.annotate(
            "",
            places[target],
            places[source],
            arrowprops={
                "arrowstyle": "-|>",
                "color": theme.series[5],
                "shrinkA": 17,
                "shrinkB": 17,
                "lw": 0.9,
            },
        )
    for node, place in places.items():
        is_given, is_recursive = node in graph["given"], node in graph["recursive"]
        color = theme.series[1] if is_recursive else theme.series[5] if is_given else theme.series[0]
        box = {
            "boxstyle": "round,pad=0.35",
            "facecolor": theme.background,
            "edgecolor": color,
            "linestyle": "--" if is_given else "-",
            "linewidth": 2.2 if is_recursive else 1.2,
        }
        axes.annotate(graph["nodes"][node], place, ha="center", va="center", fontsize=8, bbox=box)
    levels = [x for x, _ in places.values()]
    heights = [y for _, y in places.values()]
    axes.set_xlim(min(levels) - 0.5, max(levels) + 0.5)
    axes.set_ylim(min(heights) - 0.7, max(heights) + 0.7)
    axes.axis("off")
    return figure


def _places(graph: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """Level and height of each node. Heights follow the mean height of what a node reads."""
    reads: dict[str, list[str]] = {node: [] for node in graph["nodes"]}
    for source, target in graph["arrows"]:
        reads[target].append(source)
    levels: dict[str, int] = {}

    def level(node: str) -> int:
        if node not in levels:
            levels[node] = 1 + max(map(level, reads[node]), default=-1)
        return levels[node]

    places: dict[str, tuple[float, float]] = {}
    for number in range(1 + max(map(level, graph["nodes"]))):
        column = [node for node in graph["nodes"] if levels[node] == number]
        column.sort(key=lambda node: _mean([places[source][1] for source in reads[node]]))
        for position, node in enumerate(column):
            places[node] = (number, position - (len(column) - 1) / 2)
    return places


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0
