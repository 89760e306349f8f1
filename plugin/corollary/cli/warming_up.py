"""``corollary warm-up``: compile the kernels ahead of their first use."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any

import click

from corollary.cli.commands import main
from corollary.cli.output import print_json
from corollary.cli.progress import stage

if TYPE_CHECKING:
    from corollary.kernels.compiled import Kernel


@main.command("warm-up", short_help="Compile the loops for large data now, and keep them.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def warm_up(as_json: bool) -> None:
    """Compile all loops for large data (some twenty seconds), and keep the machine code on the disk.

    Without this, each is compiled when a process first needs it. Kept machine code is used by all later
    processes of the same user, or of all users if the installation is writable; NUMBA_CACHE_DIR names
    another folder. Useful after installation, and in the recipe of a container.

    \b
    Examples:
      corollary warm-up
      NUMBA_CACHE_DIR=/opt/kernels corollary warm-up --json
    """
    started = perf_counter()
    kernels = all_kernels()
    with stage("compiling", {}) as progress:
        for number, kernel in enumerate(kernels):
            progress.update(f"compiling {kernel.plain.__name__}", 0, number / len(kernels))
            kernel.make_ready()
    seconds = perf_counter() - started
    if as_json:
        print_json({"kernels": len(kernels), "seconds": seconds}, False)
    else:
        click.echo(f"{len(kernels)} loops are ready, after {seconds:.1f} s")


def all_kernels() -> list[Kernel[Any, Any]]:
    """The kernels of all modules."""
    from corollary.kernels import byte_texts, graph, halfway, intervals, least_sums, rounds, sorted, sorting
    from corollary.kernels.compiled import Kernel
    from corollary.loaders import line_kernel

    modules = (byte_texts, graph, halfway, intervals, least_sums, line_kernel, rounds, sorted, sorting)
    return [found for module in modules for found in vars(module).values() if isinstance(found, Kernel)]
