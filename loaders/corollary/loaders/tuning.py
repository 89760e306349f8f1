"""The tuning constants of the loaders: what is limited, in which unit, and measurements."""

MAX_CHARACTERS_QUOTED = 160
"""Characters of a document that a message quotes. Not tuned: two lines of a screen."""

ROWS_PER_GROUP = 1 << 20
"""Rows of a Parquet row group. A reader that needs one predicate can skip whole row groups. Measured: 262,144
to 2,097,152 rows differ by their noise when 300,000 facts are saved (27 to 31 ms). A group has 12 MB in
memory."""

BYTES_READ_AT_ONCE = 1 << 16
"""Bytes of RDF/XML or JSON-LD that are read at a time. Measured on a university: with half, this and double,
RDF/XML takes 429, 438 and 439 ms, JSON-LD 299, 280 and 271; with 4,096, 458 and 315. A market varies more by
itself."""

BYTES_PER_CHUNK = 1 << 21
"""Size of a chunk in bytes: small enough to stay in a cache while it is parsed, and so large that threads
rarely wait for each other (measured with two: 3.1 s for 2 GB, against 4.0 s with half of it)."""

BYTES_PER_SHORT_LINE = 48
"""Bytes of a chunk for each line that there is room for at first. If there are more lines, they are counted,
and the chunk is parsed again. Measured: to count lines takes 20 ns each, to parse one 100. Lines of
universities have 159 bytes, of an encyclopaedia 176."""

BYTES_LOOKED_THROUGH = 1 << 12
"""Bytes in which the end of the last line of a chunk is looked for at a time, from behind. Not tuned: longer
than most lines, and far shorter than a chunk."""

CHUNKS_AHEAD = 2
"""Chunks that may be parsed and not taken yet, beside one for each thread. Measured with two threads: 0 to 8
differ by the noise of 54 MB (0.14 to 0.19 s, 0.21 to 0.38 s). Each has some 2 MB of text."""

ROWS_PER_BLOCK = 1 << 20
"""Number of buffered rows at which the buffer is partitioned. Measured: a quarter, half, double, and one
buffer for all, take as long within 10 % (0.13 s for 336,000 triples of universities, 0.20 s for 299,000 of
markets). It bounds the buffer to 12 MB, 16 with graphs."""

MAX_FACTS_SORTED_HERE = 1 << 14
"""Partitions of at most this many facts are sorted by the calling thread: starting a task would cost more.
Measured: with tasks for all, two volumes of an encyclopaedia, with many predicates, take 0.48 s of processor
time instead of 0.39; half and double differ by 3 %. In universities and markets all differ by their noise."""

TRIPLES_PER_CHUNK_READ = 1 << 16
"""Triples of a parser that are encoded together. Measured on Turtle of 100,000 triples: half, this, double
and all at once take 316, 317, 337 and 350 ms (a university), 395, 402, 382 and 437 (a market)."""

MIN_BYTES_TO_COMPILE = 1 << 25
"""Bytes. Smaller line documents are parsed by pyoxigraph: loading the compiled loops would take longer
(measured: 16 MB in 0.30 s, against 0.38 s from the cache of compiled loops and 4 s without it)."""

MIN_BYTES_IF_COMPILED = 1 << 14
"""As ``MIN_BYTES_TO_COMPILE``, but if the compiled loops are loaded already. Measured for 4, 16, 32 and 128
kB: compiled loops take 1.7, 1.5, 1.5 and 1.7 ms a document, pyoxigraph 0.7, 1.3, 1.9 and 4.3 (a
university)."""

USUAL_COMPRESSION = 10
"""Estimated compression ratio of N-Triples, used to decide whether an input is small. Measured: gzip of level
6 compresses a market 11, an encyclopaedia 14, and a university 29 times."""

FACTS_PER_BATCH = 1 << 20
"""Facts of an index that are listed at a time, to be written. Measured: LUBM-10 takes 279, 273, 281 and 289
ms with half, this, double, and all, 327 with 131,072; a market 74, 75, 72, 78 and 81."""

TRIPLES_PER_CHUNK_WRITTEN = 1 << 15
"""Triples whose text is made at a time, some 5 MB. Measured where bytes are copied: with four times as many,
writing 3.3 million takes 2.2 s instead of 1.7."""

MIN_TRIPLES_COPIED = 1 << 19
"""Triples from which their bytes are copied by compiled loops: fewer are written before these are loaded.
Measured where they are not loaded: 100,000 and 200,000 triples of universities take 0.4 s with them, and 0.05
and 0.10 without, 100,000 of a market 0.4 and 0.09. Where they are, and terms were read by them, 65,536
triples of LUBM-10 take 14 ms with them, and 152 without."""

BYTES_PER_GZIP_MEMBER = 1 << 22
"""Bytes that are compressed on their own, by one thread: longer members would hardly be smaller. Measured on
16 MB of LUBM-10: members of 1, 2, 4 and 8 MB have 408, 407, 406 and 406 kB together."""

GZIP_LEVEL = 4
"""Level of gzip. Measured on 16 MB of LUBM-10 and of a market: level 1 leaves 2.7 and 4.8 % in 24 and 31 ms,
level 4 2.4 and 4.3 % in 50 and 62, level 6 2.1 and 3.9 % in 59 and 99, level 9 1.8 and 3.5 % in 200 and
346."""

SECONDS_PER_NETWORK_OPERATION = 60.0
"""Timeout in seconds of each network operation (connect, read), not of the whole transfer. Not tuned: the
patience of a user."""

MAX_NESTED_VALUES = 1_000
"""Nesting depth of objects and arrays of JSON-LD: the parser calls itself for each. Not tuned: no document is
as deep."""

MAX_CHARACTERS_OF_ENTITIES = 1 << 20
"""Characters of the expanded texts of all declared entities together. Ontologies declare entities for
namespaces, which are short. Not tuned: far more than they need, and 1 MB."""

MIN_ROWS_GIVEN_BACK = 1 << 24
"""Rows of a load after which the memory of their parts is given back to the system: 8 bytes each. Measured on
29 million: 185 MB are given back in 20 ms, with scratch files 430."""
