"""Pictures by Graphviz, where its command ``dot`` is installed."""

from __future__ import annotations

from corollary.program.tuning import MAX_SECONDS_DRAWN


def svg(dot: str) -> str | None:
    """The picture of a graph in Graphviz's language, as an ``svg`` element.

    None if there is no ``dot``, or it fails, or takes more than ``MAX_SECONDS_DRAWN``. Cost: a process.
    """
    import shutil
    import subprocess

    command = shutil.which("dot")
    if command is None:
        return None
    try:
        drawn = subprocess.run(
            [command, "-Tsvg"], input=dot.encode(), capture_output=True, timeout=MAX_SECONDS_DRAWN, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    text = drawn.stdout.decode()
    return text[text.find("<svg") :]  # without the declaration, and the comments of Graphviz
