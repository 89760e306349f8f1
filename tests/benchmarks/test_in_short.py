"""The plots of the short page have rows in the long tables, files, and a place on the page."""

from pathlib import Path

from benchmarks.in_short import DOCS, medians, plots


def test_every_plot_has_its_rows_files_and_place() -> None:
    page = (DOCS / "benchmarks-in-short.md").read_text()
    made = plots(medians())
    assert len(made) == 4
    for plot in made:
        for theme in ("light", "dark"):
            name = f"{plot['name']}-{theme}.svg"
            assert f"figures/{name}" in page
            assert plot["title"] in (DOCS / "figures" / name).read_text()


def test_the_last_row_of_a_key_counts(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "| bulk | x | corollary | load | 2.00 | 1.0 | 3.0 | 3 | 5 |\n| bulk | no row | 0.5 x | holds |\n"
        "| bulk | x | corollary | load | 1.50 | 1.0 | 3.0 | 3 | 5 |\n"
    )
    assert medians(page) == {("bulk", "x", "corollary", "load"): 1.5}
