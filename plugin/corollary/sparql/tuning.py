"""The tuning constants of SPARQL: what is limited, in which unit, and measurements."""

TERMS_BETWEEN_CHECKS = 1024
"""Terms evaluated one by one between two checks of the limits. Measured: SHA256 of 1,024 texts takes 0.7 ms
(addresses) and 1.3 ms (reviews); with 256 or 4,096 terms the times of all texts differ by their noise."""

MIN_TERMS_READ_TOGETHER = 1 << 6
"""Terms from which on those of a result are read from the dictionary together, and the distance of those
looked at to see whether they were read before. Measured beside other work: 32 IRIs take 80 µs one by one and
94 together, 64 166 and 146, 256 750 and 510."""

NODES_TRIED = 1 << 10
"""Nodes from which a repeated path without a bound end is searched, for a query with a limit, before its
pairs are computed for all nodes. Measured on 200,000 nodes in a tree, for 64, 256, 1,024 and 4,096: the first
10 pairs take 0.13, 0.09, 0.11 and 0.17 ms, the first 2,000 pairs 147, 124, 0.3 and 0.2."""

MAX_NODES_SEARCHED = 64
"""Nodes up to which those that a repeated predicate connects with one node are searched one by one. Measured
in a market, by the whole query: the 4 nodes of a chain take 291 µs, on columns 633; 3, 39 and 121 nodes below
a class 236, 388 and 517, on columns 418, 475 and 510."""

ROWS_DECODED_AT_ONCE = 1 << 14
"""Rows whose terms are decoded at the same time. Measured: 4,096, 16,384 and 65,536 rows take 261, 218 and
230 ms for 17,799 prices of a market, and 372, 368 and 396 ms for 30,667 members of universities."""

ROWS_PER_CHUNK = 1 << 20
"""Expected rows of a join's result in one chunk: a bound on memory for products that a filter reduces.
Measured, two runs: with a quarter and four times as many, a product of 8 million rows takes 0.8 and 1.3 s
instead of 1.1 (minima), and a self-join of members 1.4 and 2.0 instead of 1.8; medians do not agree on the
quarter."""

MAX_ROWS_HELD = 1 << 24
"""Rows of the right side of a join that are kept; if there are more, it is evaluated again, in chunks, for
each chunk of the left side. Not tuned: a bound on memory, some hundred megabytes."""

ROWS_PER_LIMITED_CHUNK = 1 << 12
"""As ``ROWS_PER_CHUNK``, for queries with a limit. Measured for 1,024, 4,096 and 16,384 rows: 0.8, 1.0 and
1.8 ms where the first chunk has 10 solutions of a join in universities; 77, 30 and 13 ms in a market without
any."""

ROWS_SCANNED_FIRST = 1 << 7
"""Facts that a scan under a limit yields before whole chunks. Measured for 64, 128, 256, 1,024 and 4,096: ten
of a market's reviews with a word take 0.15, 0.16, 0.17, 0.23 and 0.45 ms, ten rows of a join 0.11, 0.11,
0.13, 0.13 and 0.14; no review with a word 11 ms in each case."""

MAX_GROWTH_JOINED, MIN_FACTS = 1, 1 << 12
"""Expected values for each row up to which cycles are joined pattern by pattern, and facts of a predicate
from which on they are intersected. Measured on triangles of random graphs of 1,000, 3,000, 10,000 and 100,000
edges, with 5 for each node by a power law: 0.6, 0.4, 1.3 and 15 ms intersected, 0.3, 0.7, 4.2 and 63 ms
joined; with 1.3 for each node, evenly spread, 0.35, 0.8, 0.6 and 6.2 ms, and 0.3, 0.75, 0.5 and 5.6."""

MIN_CANDIDATES, MIN_FACTS_PER_TERM = 1 << 12, 4
"""Terms on the shortest side of a star from which on it is intersected, and facts that one of its predicates
has for each term. Measured on stars of three predicates, where a tenth of the terms is left, for 1,000,
3,000, 10,000 and 100,000 terms: with 8 facts each 0.23, 0.32, 0.9 and 9 ms intersected, 0.26, 0.47, 1.3 and
27 ms joined; with 2 facts each 0.27, 0.22, 0.4 and 2.8 ms, and 0.23, 0.18, 0.3 and 2.6."""

MAX_SHARE_LEFT, VALUES_SAMPLED = 0.5, 256
"""Share of the terms on the shortest side of a star that the other sides have, up to which it is intersected;
and the terms that are sampled. Measured on 100,000 terms with 8 facts each, of which a tenth, a half and four
fifths are left: 9, 26 and 50 ms intersected, 27, 38 and 50 ms joined. The sample takes some 50 µs."""

ROWS_BEFORE_ALL = 1 << 12, 1 << 15
"""Rows of its input among which an operator under a limit looks for enough solutions, before it asks for
all rows. Measured for DISTINCT and a join of three patterns: 0.7 ms and 3 ms; all rows of a market of a
million triples take 70 ms."""

RESULTS_DECODED_AT_ONCE = 1 << 10
"""Rows of a result that become terms at the same time, so that the first rows come soon. Measured for 256,
1,024 and 4,096 rows: the first row of all facts of a market comes after 1.9, 2.3 and 3.4 ms, all 297,014 rows
after 490, 509 and 456 ms; in universities 1.8, 2.3 and 3.0 ms, and 459, 502 and 428 ms."""

MAX_ROWS_SEARCHED_AS_LIST = 1 << 7
"""Rows of a result up to which an id is looked for in a list of them. Measured for 16, 64, 128 and 256 rows:
0.6, 1.5, 2.9 and 5.4 µs; on the column 4.7 in each case."""

MIN_TERMS_ON_COLUMNS = 64
"""Rows from which on expressions are evaluated on columns, and computed numbers from which on their texts are
made on columns. Arrow's kernels take some 0.1 ms, rdflib 10 to 25 µs a term. Measured by the whole query of
32, 64 and 128 labels of a market: a number of each takes 1.3, 1.3 and 1.4 ms on columns, and 0.9, 1.3 and 2.1
by terms, a filter 0.4, 0.4 and 0.5 ms, and 0.3, 0.4 and 0.7. In universities a filter of IRIs takes as long
with 128; of few distinct terms, columns take longer still with 512, 2.0 instead of 1.3 ms."""

KEYS_SORTED_AT_ONCE = 1 << 10
"""Keys that Python sorts between two checks of the limits: some 10,000 comparisons of rdflib's terms.
Not tuned: a bound on the time to a check."""

MIN_USES_OF_RANKS = 1_000
"""Values from which on terms are ranked, or concatenated, on columns: a comparison of terms takes some 3 µs,
the import of Arrow 100 ms once. Measured with Arrow imported, for 500, 1,000 and 2,000 terms: ordering labels
of a market takes 1.1, 1.5 and 2.0 ms with ranks, and 1.6, 2.5 and 4.8 without, IRIs of universities 1.0, 1.1
and 1.5, and 1.0, 1.2 and 1.8; concatenating labels 1.6, 1.7 and 1.8 ms on columns, and 1.1, 1.5 and 2.2 by
terms."""

MAX_CHARACTERS_OF_RE2 = 100
"""Characters up to which RE2 searches for a constant: 0.1 to 0.5 ns a byte, Arrow's own search 0.5 to 2.
Measured for 5, 20, 100 and 400 characters: 314 texts of some 470 bytes take 0.05, 0.05, 0.17 and 0.25 ms by
RE2, and 0.27 to 0.28 by Arrow; 19,593 IRIs of some 70 bytes 1.0, 1.6, 1.1 and 1.1 by RE2, and 0.3, 0.6, 1.4
and 1.4 by Arrow."""

MAX_PLANS_CACHED = 256
"""Texts, and as many shapes of texts, whose plans are cached. Measured: 9 kB for a query of two patterns, a
filter and an order, which takes 0.07 ms with its plan and 0.57 ms without."""

MAX_NAMES_CACHED = 256
"""Names of variables to which values are given, each with rdflib's object. Not tuned: a bound on memory."""

MAX_JOINS_KEPT = 64
"""Joins of a query that are kept for its next evaluation. There are more only where EXISTS is evaluated row
by row. Not tuned: a bound on memory, of some kB for each."""

MAX_JOIN_ORDERS_CACHED = 1024
"""Join orders that are cached for a state of the store. Not tuned: a bound on memory."""

MAX_CHARACTERS_OF_TEXT_CACHED = 20_000
"""Characters of a text whose plan is cached. Measured: plan, text and shape of 60,000 IRIs in VALUES take 16
bytes for each character, so that all cached plans take 80 MB at most; the parser reads 20,000 characters in
some 8 ms."""

MAX_ROW_CLASSES_CACHED = 256
"""Lists of variables whose classes of result rows are cached. Measured: 1.8 kB each, made in 13 µs."""

MAX_IRIS_FOUND = 1 << 16
"""IRIs whose ids a cache of rdflib's objects has. Not tuned: a bound for memory, some ten megabytes."""

MAX_LANGUAGE_TAGS_CACHED = 1024
"""Language tags whose validity is cached. Measured: 140 bytes each, checked in 5 µs, and in 0.1 from the
cache."""

MAX_CHARACTERS_OF_TAG_CACHED = 64
"""Characters of a language tag whose validity is cached. Not tuned: the registered tags have up to 16."""

MAX_DATATYPES_CACHED = 1024
"""IRIs of datatypes whose terms are cached. Not tuned: a bound on memory."""

MAX_CHARACTERS_SHOWN = 120
"""Characters of a pattern in a message. Not tuned: presentation, no effect on speed."""

MAX_GRAPHS_SHOWN = 3
"""Names of graphs with the same plan that EXPLAIN shows. Not tuned: presentation, no effect on speed."""

MAX_ROWS_SHOWN = 20
"""Rows of a result that Jupyter shows. Measured: 4 kB and 0.4 ms for three columns."""

MAX_TEXT_BYTES_KEPT = 1 << 28
"""Bytes of the columns of texts that are cached for later queries. To make them takes some 8 ns a byte. Not
tuned: a bound on memory."""

ROWS_ON_COLUMNS_AT_ONCE = 1 << 16
"""Rows of an expression of several variables between two checks of the limits: at most some 0.1 s. Measured
for a quarter, this and four times as many: 84, 71 and 86 ms (a product in a market), 15, 11 and 9 ms (a join
in universities)."""

ROWS_WRITTEN_AT_ONCE = 2048
"""Rows, or triples, of a result that are written at once. Measured: 50,000 rows take 234, 227 and 226 ms as
JSON with 1,024, 2,048 and 4,096 rows at once (a market), 306, 280 and 272 (a university), as CSV 141, 139 and
139, and 135, 136 and 143; the first rows of the market come after 3, 7 and 14 ms."""

MAX_TERMS_DECODED_EACH = 32
"""Terms of a column that are decoded one by one. In longer columns, equal terms are decoded once. Measured:
16 rows of two terms take 16 and 15 µs as JSON (different and repeated terms), by distinct terms 29 and 16;
32 rows 27 and 27, and 40 and 19; 64 rows 49 and 48, and 62 and 23."""
