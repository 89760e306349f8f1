"""``corollary doctor``: what the installation has, and what is missing for what."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import click

from corollary.cli.commands import main
from corollary.cli.output import print_json
from corollary.cli.tuning import SECONDS_FOR_JAVA

MEGABYTE = 1 << 20

PACKAGES = (
    "corollary", "rdflib", "pyoxigraph", "numpy", "numba", "pyarrow", "regex", "lark", "click", "rich",
)  # fmt: skip
"""What every installation has."""

OPTIONAL = {
    "pyspark": ("loading and reasoning on Spark", "pip install 'corollary[spark]'"),
    "starlette": ("corollary serve", "pip install 'corollary[serve]'"),
    "uvicorn": ("corollary serve", "pip install 'corollary[serve]'"),
    "httptools": ("corollary serve", "pip install 'corollary[serve]'"),
    "pandas": ("data frames, and Spark", "pip install pandas"),
}
"""Packages with what they are for, and how to install them."""


@dataclass(frozen=True)
class Finding:
    """Something that was looked at. ``remedy`` is empty if nothing is missing."""

    name: str
    found: str
    remedy: str = ""


@main.command(short_help="Look at the installation: what is there, what is missing for what.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def doctor(as_json: bool) -> None:
    """Report versions, processors, memory, caches and optional programs, and what is missing for what.

    Changes nothing. The exit code is 0: everything that it calls missing is optional.

    \b
    Examples:
      corollary doctor
      corollary doctor --json | jq 'map_values(.remedy) | map_values(select(. != ""))'
    """
    findings = [*_machine(), *_packages(), *_caches(), *_programs()]
    if as_json:
        print_json({each.name: {"found": each.found, "remedy": each.remedy} for each in findings}, False)
        return
    width = max(len(finding.name) for finding in findings)
    for finding in findings:
        click.echo(f"{finding.name:<{width}}  {finding.found}")
        if finding.remedy:
            click.echo(f"{'':<{width}}  help: {finding.remedy}")


def _machine() -> list[Finding]:
    from corollary.kernels.limits import PROCESSORS
    from corollary.kernels.memory import room

    memory = room()
    text = (
        "unknown: limits of memory are not watched on this system"
        if memory is None
        else f"{memory.left / MEGABYTE:,.0f} MB free of {memory.total / MEGABYTE:,.0f}"
    )
    return [
        Finding("python", f"{platform.python_version()} on {platform.platform()}, {sys.executable}"),
        Finding("processors", f"{PROCESSORS} (--threads uses fewer)"),
        Finding("memory", text),
    ]


def _packages() -> list[Finding]:
    found = [Finding(name, version(name)) for name in PACKAGES]
    for name, (use, command) in OPTIONAL.items():
        try:
            found.append(Finding(name, version(name)))
        except PackageNotFoundError:
            found.append(Finding(name, f"not installed: needed for {use}", command))
    return found


def _caches() -> list[Finding]:
    """Where compiled loops and parsed profiles are kept."""
    from corollary import kernels, profiles

    parsed = Path(profiles.__path__[0])
    text = str(parsed / "__pycache__") if os.access(parsed, os.W_OK) else "nowhere: parsed in each process"
    return [_compiled_loops(Path(kernels.__path__[0])), Finding("parsed profiles", f"kept in {text}")]


def _compiled_loops(beside: Path) -> Finding:
    name, place = "compiled loops", os.environ.get("NUMBA_CACHE_DIR")
    if place is None:
        is_open = os.access(beside, os.W_OK)
        return Finding(name, f"kept in {beside / '__pycache__' if is_open else 'a folder of this user'}")
    if os.access(_existing(Path(place)), os.W_OK):
        return Finding(name, f"kept in {place}")
    remedy = "let NUMBA_CACHE_DIR name another folder"
    return Finding(name, f"{place} cannot be written: they are compiled again", remedy)


def _existing(path: Path) -> Path:
    """The path, or the nearest folder above it that exists."""
    return next(place for place in (path.absolute(), *path.absolute().parents) if place.exists())


def _programs() -> list[Finding]:
    """Programs that are not Python packages."""
    dot = shutil.which("dot")
    if dot is not None:
        return [_java(), Finding("dot", dot)]
    return [_java(), Finding("dot", "not found: draws proofs and components", "install Graphviz")]


def _java() -> Finding:
    from corollary.loaders.spark.session import has_java

    remedy = "Spark 4 needs Java 17 or 21 on the PATH, or JAVA_HOME set"
    if not has_java():
        return Finding("java", "not found: needed for Spark", remedy)
    home = os.environ.get("JAVA_HOME")
    command = str(Path(home) / "bin" / "java") if home else "java"
    try:
        done = subprocess.run([command, "-version"], capture_output=True, text=True, timeout=SECONDS_FOR_JAVA)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding("java", f"does not start: {error}", remedy)
    return Finding("java", (done.stderr or done.stdout).strip().split("\n")[0])
