"""The texts of terms as columns: lexical forms and suffixes of many terms at once, for Arrow's kernels.

The dictionary has the N-Triples text of each term in one array of bytes, so no term is decoded:

    "abc"@en: lexical form abc, suffix @en     <http://a>: lexical form http://a, no suffix
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from corollary.kernels.byte_texts import Bytes, Places, find_last, gather_texts
from corollary.kernels.limits import reserve
from corollary.kernels.sorted import Column, Mask
from corollary.language import XSD
from corollary.terms.dictionary import BULK_KINDS, INDEX_MASK, Kind, TermDictionary, kinds

QUOTE = ord('"')


@dataclass(frozen=True)
class TermTexts:
    """Distinct terms with texts: IRIs and literals.

    ``rows`` has their positions in the column that was asked for, ``is_literal`` tells the kinds apart.
    ``lexical`` and ``suffixes`` are Arrow's large strings. An escape stands in ``lexical`` as it is written.
    """

    rows: Places
    is_literal: Mask
    lexical: Any
    suffixes: Any

    @staticmethod
    def of(ids: Column, dictionary: TermDictionary) -> TermTexts | None:
        """The texts of the IRIs and literals among the ids; None if a text is no Unicode.

        Precondition: the dictionary has assigned all ids. Cost: O(bytes of the texts).
        """
        import pyarrow

        iris, literals = (TermTexts._of_kind(ids, kind, dictionary) for kind in (Kind.IRI, Kind.LITERAL))
        is_literal = np.repeat(np.array([False, True]), [iris[0].size, literals[0].size])
        lexical, suffixes = (pyarrow.concat_arrays([iris[part], literals[part]]) for part in (1, 2))
        try:
            lexical.validate(full=True)
        except pyarrow.ArrowInvalid:
            return None
        return TermTexts(np.concatenate((iris[0], literals[0])), is_literal, lexical, suffixes)

    @staticmethod
    def _of_kind(ids: Column, kind: Kind, dictionary: TermDictionary) -> tuple[Places, Any, Any]:
        rows = np.flatnonzero(kinds(ids) == kind)
        table = dictionary.tables()[kind]
        offsets, arena = table.offsets(), table.content()
        numbers = (ids[rows] & np.uint32(INDEX_MASK)).astype(np.int64)
        starts, ends = offsets[numbers], offsets[numbers + 1]
        closing = ends - 1
        if kind == Kind.LITERAL:
            closing = np.empty_like(starts)
            find_last(arena, starts, ends, QUOTE, closing)
        suffixes = closing + 1, ends
        return rows, _strings(arena, starts + 1, closing), _strings(arena, *suffixes)

    @cached_property
    def is_string(self) -> Mask:
        """The literals that are strings, with or without a language tag."""
        from pyarrow import compute

        is_tagged = mask_of(compute.starts_with(self.suffixes, pattern="@"))
        is_typed = mask_of(compute.equal(self.suffixes, f"^^<{XSD}string>"))
        return self.is_literal & (self.is_plain | is_tagged | is_typed)

    @cached_property
    def is_plain(self) -> Mask:
        """The literals without a suffix."""
        from pyarrow import compute

        found: Mask = self.is_literal & (compute.binary_length(self.suffixes).to_numpy() == 0)
        return found

    @cached_property
    def is_written(self) -> Mask:
        """The terms whose lexical form is ``lexical``: IRIs, and literals without escapes."""
        from pyarrow import compute

        found: Mask = ~(self.is_literal & mask_of(compute.match_substring(self.lexical, "\\")))
        return found


def gathered_texts(ids: Column, dictionary: TermDictionary) -> Any:
    """The N-Triples texts of ascending ids, as Arrow's large strings, which may be no Unicode."""
    import pyarrow

    parts = []
    for kind in BULK_KINDS:
        table = dictionary.tables()[kind]
        numbers = (ids[kinds(ids) == kind] & np.uint32(INDEX_MASK)).astype(np.int64)
        offsets = table.offsets()
        parts.append(_strings(table.content(), offsets[numbers], offsets[numbers + 1]))
    return pyarrow.concat_arrays(parts)


def _strings(arena: Bytes, starts: Places, ends: Places) -> Any:
    """Parts of an array of bytes as an Arrow array."""
    import pyarrow

    offsets: Places = np.zeros(starts.size + 1, np.int64)
    np.cumsum(ends - starts, out=offsets[1:])
    reserve(int(offsets[-1]))
    texts: Bytes = np.empty(int(offsets[-1]), np.uint8)
    gather_texts(arena, starts, offsets, texts)
    buffers = [None, pyarrow.py_buffer(offsets), pyarrow.py_buffer(texts)]
    return pyarrow.Array.from_buffers(pyarrow.large_string(), starts.size, buffers)


def mask_of(booleans: Any) -> Mask:
    """An Arrow array of booleans as a mask."""
    found: Mask = booleans.to_numpy(zero_copy_only=False)
    return found
