"""``corollary warm-up`` compiles every kernel."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.kernels.test_compiled import KERNELS

from corollary.cli import main
from corollary.cli.warming_up import all_kernels


def test_every_kernel_is_among_them() -> None:
    assert sorted(kernel.plain.__name__ for kernel in all_kernels()) == sorted(KERNELS)


@pytest.mark.slow
@pytest.mark.skipif("NUMBA_DISABLE_JIT" in os.environ, reason="nothing is compiled")
def test_machine_code_is_kept(tmp_path: Path) -> None:
    from tests.kernels.test_compiled import run

    script = (
        "import os, sys; os.environ['NUMBA_CACHE_DIR'] = sys.argv.pop(1);"
        "from corollary.cli import main; main()"
    )
    (ready,) = (json.loads("".join(run(script, str(tmp_path), "warm-up", "--json"))),)
    assert ready["kernels"] == len(KERNELS) and ready["seconds"] > 0
    assert len(list(tmp_path.rglob("*.nbi"))) == len(KERNELS)


def test_it_says_what_it_did() -> None:
    done = CliRunner().invoke(main, ["warm-up"])
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith(f"{len(KERNELS)} loops are ready")
