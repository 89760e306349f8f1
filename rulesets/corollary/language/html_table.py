"""Tables in HTML, for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of plain texts, which are escaped. Without ``heads`` the first cell of each row is its head."""
    head = f"<tr>{''.join(f'<th>{escape(text)}</th>' for text in heads)}</tr>" if heads else ""
    lines = (
        "".join(
            f"<td>{escape(text)}</td>" if heads or place else f"<th>{escape(text)}</th>"
            for place, text in enumerate(row)
        )
        for row in rows
    )
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><caption>{escape(caption)}</caption>{head}{body}</table>"
