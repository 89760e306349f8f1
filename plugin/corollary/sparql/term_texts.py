"""The texts of terms as columns: lexical forms and suffixes of many terms at once, for Arrow's kernels.

The dictionary has the N-Triples text of each term in one array of bytes, so no term is decoded:

    "abc"@en: lexical form abc, suffix @en     <http://a>: lexical form http://a, no suffix
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from corollary.kernels.arrow import compute, within_limits
from corollary.kernels.byte_texts import Bytes, Places, gather_texts, join_texts, replace_escapes
from corollary.kernels.limits import reserve
from corollary.kernels.sorted import Column, Mask, Rows
from corollary.language import XSD
from corollary.language.constants import NAMED_ESCAPES, unescape
from corollary.sparql.tuning import MAX_TEXT_BYTES_KEPT
from corollary.terms.dictionary import BULK_KINDS, INDEX_MASK, Kind, TermDictionary, kinds
from corollary.terms.texts import TextTable

QUOTE = ord('"')
CLOSING = {Kind.IRI: ord(">"), Kind.LITERAL: QUOTE}
"""The byte behind the lexical form of a term."""


@dataclass(frozen=True)
class TablePart:
    """Terms of one kind: their ``rows`` in a column, and their ``numbers`` in a table of texts."""

    rows: Places
    kind: Kind
    table: TextTable
    numbers: Places

    def texts(self) -> tuple[Any, Any]:
        """The lexical forms, those of literals with escapes, and the suffixes, as Arrow's large strings."""
        lexical, suffixes = self.table.in_parts(self.numbers, CLOSING[self.kind])
        return strings(*lexical), strings(*suffixes)


def parts_of(ids: Column, dictionary: TermDictionary) -> list[TablePart]:
    """The IRIs and the literals of a dictionary among the ids."""
    parts = []
    for kind in (Kind.IRI, Kind.LITERAL):
        rows = np.flatnonzero(kinds(ids) == kind)
        numbers = (ids[rows] & np.uint32(INDEX_MASK)).astype(np.int64)
        parts.append(TablePart(rows, kind, dictionary.tables()[kind], numbers))
    return parts


def concatenated(parts: list[Any]) -> Any:
    """Arrow's large strings end to end; not copied, if all but one of the parts are empty."""
    import pyarrow

    filled = [part for part in parts if len(part)] or parts[:1]
    return filled[0] if len(filled) == 1 else pyarrow.concat_arrays(filled)


@dataclass(frozen=True)
class TermTexts:
    """Distinct terms with texts: IRIs and literals.

    ``rows`` has their positions in the column of ids, ``is_literal`` shows which of them are literals.
    ``lexical`` and ``suffixes`` are Arrow's large strings, without escapes.
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
        return TermTexts.of_parts(parts_of(ids, dictionary))

    @staticmethod
    def of_parts(parts: list[TablePart]) -> TermTexts | None:
        """As ``of``, for texts of several tables."""
        import pyarrow

        lexical, suffixes = [], []
        try:
            for part in parts:
                texts, ends = part.texts()
                within_limits(pyarrow.Array.validate, texts, full=True)
                lexical.append(texts if part.kind == Kind.IRI else unescaped(texts))
                suffixes.append(ends)
        except (pyarrow.ArrowInvalid, UnicodeEncodeError):  # half of a character, written or escaped
            return None
        kinds_of = np.array([part.kind == Kind.LITERAL for part in parts])
        is_literal = kinds_of.repeat([part.rows.size for part in parts])
        rows = np.concatenate([part.rows for part in parts])
        return TermTexts(rows, is_literal, concatenated(lexical), concatenated(suffixes))

    @property
    def nbytes(self) -> int:
        """The size of the columns."""
        return int(self.rows.nbytes + self.lexical.nbytes + self.suffixes.nbytes)

    @cached_property
    def is_string(self) -> Mask:
        """The literals that are strings, with or without a language tag."""
        is_typed = mask_of(compute.equal(self.suffixes, f"^^<{XSD}string>"))
        return self.is_literal & (self.is_plain | self.is_tagged | is_typed)

    @cached_property
    def has_suffixes(self) -> bool:
        """Whether a term has a language tag or a datatype."""
        offsets, _ = content_of(self.suffixes)
        return bool(offsets[-1] > offsets[0])

    @cached_property
    def is_tagged(self) -> Mask:
        """The literals with a language tag."""
        return mask_of(compute.starts_with(self.suffixes, pattern="@"))

    @cached_property
    def is_plain(self) -> Mask:
        """The literals without a suffix."""
        found: Mask = self.is_literal & (compute.binary_length(self.suffixes).to_numpy() == 0)
        return found

    @cached_property
    def ranks(self) -> Rows | None:
        """For each position in the column, the number of terms that are less; None if one has a datatype.

        IRIs are less than literals, which are ordered by language, then by characters. Precondition: the
        column has no other terms.
        """
        import pyarrow

        if not (self.is_plain | self.is_tagged | ~self.is_literal).all():
            return None
        keys = pyarrow.table({"kind": self.is_literal, "language": self.suffixes, "text": self.lexical})
        used = [name for name in ("kind", "language") if len(compute.unique(keys[name])) > 1]
        order = compute.sort_indices(keys, sort_keys=[(name, "ascending") for name in (*used, "text")])
        ranks: Rows = np.empty(self.rows.size, np.int64)
        ranks[self.rows[order.to_numpy()]] = np.arange(self.rows.size)
        return ranks


def unescaped(lexical: Any) -> Any:
    """The lexical forms of literals, with characters for escapes.

    Raises UnicodeEncodeError if a character cannot be encoded.
    """
    import pyarrow

    has_escape = compute.match_substring_regex(lexical, r"\\")  # RE2 searches a byte 15 times as fast
    if not compute.any(has_escape).as_py():
        return lexical
    written = compute.filter(lexical, has_escape)
    changed = _named_replaced(written)
    is_rare = compute.match_substring_regex(written, r"\\[uU]")  # or a backslash and u: Python knows
    if compute.any(is_rare).as_py():
        texts = [unescape(text) for text in written.filter(is_rare).to_pylist()]
        changed = compute.replace_with_mask(changed, is_rare, pyarrow.array(texts, pyarrow.large_string()))
    return compute.replace_with_mask(lexical, has_escape, changed)


def _named_replaced(written: Any) -> Any:
    """The texts with characters for the escapes that consist of a backslash and one other character."""
    import pyarrow

    offsets, content = content_of(written)
    reserve(int(offsets[-1] - offsets[0]))
    ends: Places = np.zeros(len(written) + 1, np.int64)
    changed: Bytes = np.empty(int(offsets[-1] - offsets[0]), np.uint8)
    characters: Bytes = np.arange(256, dtype=np.uint8)
    for name, character in NAMED_ESCAPES.items():
        characters[ord(name)] = ord(character)
    replace_escapes(content, offsets, ord("\\"), characters, ends, changed)
    buffers = [None, pyarrow.py_buffer(ends), pyarrow.py_buffer(changed[: ends[-1]])]
    return pyarrow.Array.from_buffers(pyarrow.large_string(), len(written), buffers)


class TextColumns:
    """The texts of a dictionary's terms. Columns of texts are kept while they are not too large.

    Thread-safe: what two threads make is equal.
    """

    def __init__(self, dictionary: TermDictionary) -> None:
        self._dictionary = dictionary
        self._kept: dict[int, tuple[Column, TermTexts | None]] = {}

    def of(self, ids: Column) -> TermTexts | None:
        """As ``TermTexts.of``."""
        key = hash(ids.tobytes())
        found = self._kept.get(key)
        if found is not None and np.array_equal(found[0], ids):
            return found[1]
        texts = TermTexts.of(ids, self._dictionary)
        kept = dict(self._kept)
        kept.pop(key, None)
        kept[key] = ids, texts
        sizes = {each: 0 if t is None else t.nbytes for each, (_, t) in kept.items()}
        while kept and sum(sizes[each] for each in kept) > MAX_TEXT_BYTES_KEPT:
            del kept[next(iter(kept))]  # the oldest
        self._kept = kept
        return texts


def blank_node_texts(ids: Column, dictionary: TermDictionary) -> Any:
    """The texts of blank nodes, as Arrow's large strings."""
    table = dictionary.tables()[Kind.BLANK_NODE]
    return strings(*table.texts_of((ids & np.uint32(INDEX_MASK)).astype(np.int64)))


def gathered_texts(ids: Column, dictionary: TermDictionary) -> Any:
    """The N-Triples texts of ascending ids, as Arrow's large strings, which may be no Unicode."""
    import pyarrow

    parts = []
    for kind in BULK_KINDS:
        table = dictionary.tables()[kind]
        numbers = (ids[kinds(ids) == kind] & np.uint32(INDEX_MASK)).astype(np.int64)
        parts.append(strings(*table.texts_of(numbers)))
    return pyarrow.concat_arrays(parts)


def strings(texts: Bytes, offsets: Places) -> Any:
    """Texts that stand end to end as an Arrow array; not copied."""
    import pyarrow

    buffers = [None, pyarrow.py_buffer(offsets), pyarrow.py_buffer(texts)]
    return pyarrow.Array.from_buffers(pyarrow.large_string(), offsets.size - 1, buffers)


def cut_out(texts: Bytes, starts: Places, ends: Places) -> Any:
    """Parts of an array of bytes as an Arrow array."""
    offsets: Places = np.zeros(starts.size + 1, np.int64)
    np.cumsum(ends - starts, out=offsets[1:])
    reserve(int(offsets[-1]))
    parts: Bytes = np.empty(int(offsets[-1]), np.uint8)
    gather_texts(texts, starts, ends - starts, offsets[:-1], parts)
    return strings(parts, offsets)


def quoted(texts: Any, order: Places, counts: Places, separator: str) -> Any:
    """Texts joined in groups, with quotes around each group: Arrow's large strings, as the texts are.

    The first group has the first ``counts[0]`` texts of ``order``, and so on. Cost: each byte is copied once.
    """
    offsets, content = content_of(texts)
    bounds: Places = np.zeros(counts.size + 1, np.int64)
    np.cumsum(counts, out=bounds[1:])
    between: Bytes = np.frombuffer(bytearray(separator.encode()), np.uint8)
    uses = np.bincount(order, minlength=len(texts))
    size = int(np.diff(offsets) @ uses) + between.size * order.size + 2 * counts.size
    reserve(size)
    joined: Bytes = np.empty(size, np.uint8)
    ends: Places = np.zeros(counts.size + 1, np.int64)
    join_texts(content, offsets, order, bounds, between, QUOTE, ends, joined)
    return strings(joined[: int(ends[-1])], ends)


def content_of(texts: Any) -> tuple[Places, Bytes]:
    """The offsets and the bytes of Arrow's large strings. Precondition: none is null.

    Both are writable, because kernels are compiled for such arrays: not copied, unless Arrow's are not. The
    caller only reads them.
    """
    _, offsets, content = texts.buffers()
    size = len(texts)
    places = np.frombuffer(offsets, np.int64)[texts.offset :][: size + 1] if size else np.zeros(1, np.int64)
    found = np.frombuffer(content or b"", np.uint8)
    return np.require(places, requirements="W"), np.require(found, requirements="W")


def large(text: str) -> Any:
    """A large string as a constant: Arrow's functions do not mix strings and large strings."""
    import pyarrow

    return pyarrow.scalar(text, pyarrow.large_string())


def mask_of(booleans: Any) -> Mask:
    """An Arrow array of booleans as a mask."""
    found: Mask = booleans.to_numpy(zero_copy_only=False)
    return found
