"""The documentation site: ``sphinx-build -W docs OUT`` makes it of the pages of this folder.

The pages are plain Markdown, to be read on a code host too; what only the site has is made here.
"""

import re
import shutil
from pathlib import Path

from pygments.lexer import RegexLexer
from pygments.lexers.special import TextLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text
from sphinx.application import Sphinx

HERE = Path(__file__).parent

project = "Corollary"
author = copyright = "The Corollary developers"
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx_click"]
exclude_patterns = ["_build", "figures"]
html_theme = "furo"
pygments_dark_style = "github-dark"  # the default underlines namespaces
html_title = "Corollary"
html_static_path = html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
nb_execution_mode = "force"
nb_execution_raise_on_error = True
myst_heading_anchors = 3
suppress_warnings = ["myst.header"]  # a page may leave out a level of headings
autodoc_default_options = {"members": True}
highlight_language = "none"  # a block without a language is no Python
smartquotes = False  # they would make a dash of the two hyphens of an option
autodoc_member_order = "bysource"
autodoc_typehints = "description"


KEYWORDS = "prefix|not|exists|in|filter|bind|as|aggregate|on|each|chain|pair|member|false|true|a"


class RuleLexer(RegexLexer):
    """The rule language (``docs/rules.md``)."""

    name = "dlog"
    aliases = ("dlog",)
    tokens = {  # noqa: RUF012  as Pygments defines it
        "root": [
            (r"#.*", Comment.Single),
            (r"<[^<>\s]*>", Name.Namespace),
            (r"\"(\\.|[^\"\\])*\"|'(\\.|[^'\\])*'", String),
            (r"\?\w+", Name.Variable),
            (r"@\w+", Keyword.Declaration),
            (rf"(?i)\b({KEYWORDS})\b", Keyword),
            (r"[\w-]*:[\w.-]*\w|\w*:(?!-)", Name.Class),
            (r"\d+(\.\d+)?", Number),
            (r":-|[!<>=]=?|[-+*/&|^]+", Operator),
            (r"[\[\](){},.;]", Punctuation),
            (r"\w+", Name),
            (r"\s+|.", Text),
        ]
    }


SHOW_FORM_OF_THEME = """
new MutationObserver(() => {
  const theme = document.body?.dataset.theme;
  const media = {dark: "all", light: "not all"}[theme] ?? "(prefers-color-scheme: dark)";
  for (const source of document.querySelectorAll("picture source")) source.media = media;
}).observe(document, {attributes: true, subtree: true, childList: true, attributeFilter: ["data-theme"]});
"""
"""A page may be dark where the reader's system is not: its pictures follow the page."""


def copy_figures(app: Sphinx, exception: Exception | None) -> None:
    """Pages show figures by HTML, in which Sphinx sees no files."""
    if exception is None:
        shutil.copytree(HERE / "figures", Path(app.outdir) / "figures", dirs_exist_ok=True)


def without_modules(
    app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    """The docstring of a module is for those who work on its folder: the reference leaves it out."""
    if what == "module":
        lines.clear()


def lay_out_help(app: Sphinx, context: object, lines: list[str]) -> None:
    """The help of a command is plain text, without emphasis and links. Its examples are as typed."""
    laid_out: list[str] = []
    for line in lines:
        if line.startswith("|   "):
            if not laid_out[-1].startswith("   "):
                laid_out += ["", ".. code-block:: none", ""]
            laid_out.append(line.removeprefix("|"))
        else:
            laid_out.append(re.sub(r"[*<:]", r"\\\g<0>", line.removeprefix("| ")))
    lines[:] = laid_out


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.add_js_file(None, body=SHOW_FORM_OF_THEME)
    app.add_lexer("dlog", RuleLexer)
    app.add_lexer("n3", TextLexer)
    app.connect("autodoc-process-docstring", without_modules)
    app.connect("sphinx-click-process-description", lay_out_help)
    app.connect("build-finished", copy_figures)
