"""The tuning constants of SPARQL: what is limited, in which unit, and measurements."""

TERMS_BETWEEN_CHECKS = 1024
"""Terms evaluated one by one between two checks of the limits: some milliseconds."""

ROWS_DECODED_AT_ONCE = 1 << 14
"""Rows whose terms are decoded at the same time."""

ROWS_PER_CHUNK = 1 << 20
"""Expected rows of a join's result in one chunk: a bound on memory for products that a filter reduces."""

ROWS_PER_LIMITED_CHUNK = 1 << 12
"""As ``ROWS_PER_CHUNK``, for queries with a limit."""

ROWS_BEFORE_ALL = 1 << 12, 1 << 15
"""Rows among which DISTINCT with a limit looks for enough solutions, before it lists all rows. Measured for a
join of three patterns: 0.7 ms and 3 ms; all rows of a market of a million triples take 70 ms."""

RESULTS_DECODED_AT_ONCE = 1 << 10
"""Rows of a result that become terms at the same time, so that the first rows come soon. Not measured."""

MIN_TERMS_ON_COLUMNS = 64
"""Rows from which on expressions are evaluated on columns, and computed numbers from which on their texts are
made on columns. Arrow's kernels take some 0.1 ms, rdflib 10 to 25 µs a term."""

MIN_USES_OF_RANKS = 1_000
"""Values from which on terms are ranked, or concatenated, on columns: a comparison of terms takes some 3 µs,
the import of Arrow 100 ms once."""

MAX_CHARACTERS_OF_RE2 = 100
"""Characters up to which RE2 searches for a constant: 0.1 to 0.5 ns a byte, Arrow's own search 0.5 to 2."""

MAX_PLANS_CACHED = 256
"""Texts, and as many shapes of texts, whose plans are cached: some 5 kB each."""

MAX_ROW_CLASSES_CACHED = 256
"""Lists of variables whose classes of result rows are cached."""

MAX_LANGUAGE_TAGS_CACHED = 1024
"""Language tags whose validity is cached."""

MAX_CHARACTERS_SHOWN = 120
"""Characters of a pattern in a message."""

MAX_ROWS_SHOWN = 20
"""Rows of a result that Jupyter shows."""

MAX_TEXT_BYTES_KEPT = 1 << 28
"""Bytes of the columns of texts that are cached for later queries. To make them takes some 8 ns a byte."""

ROWS_ON_COLUMNS_AT_ONCE = 1 << 16
"""Rows of an expression of several variables between two checks of the limits: at most some 0.1 s."""
