"""The tuning constants of the loaders: what is limited, in which unit, and measurements."""

MAX_CHARACTERS_QUOTED = 160
"""Characters of a document that a message quotes."""

ROWS_PER_GROUP = 1 << 20
"""Rows of a Parquet row group. A reader that needs one predicate can skip whole row groups."""

BYTES_READ_AT_ONCE = 1 << 16
"""Bytes of RDF/XML or JSON-LD that are read at a time."""

BYTES_PER_CHUNK = 1 << 21
"""Size of a chunk in bytes: small enough to stay in a cache while it is parsed, and so large that threads
rarely wait for each other (measured with two: 3.1 s for 2 GB, against 4.0 s with half of it)."""

USUAL_BYTES_PER_LINE = 1 << 10
"""Bytes at the end of a chunk that usually contain the end of a line."""

CHUNKS_AHEAD = 2
"""Chunks that may be parsed and not taken yet, beside one for each thread."""

ROWS_PER_BLOCK = 1 << 20
"""Number of buffered rows at which the buffer is partitioned."""

MAX_FACTS_SORTED_HERE = 1 << 14
"""Partitions of at most this many facts are sorted by the calling thread: starting a task would cost more."""

TRIPLES_PER_CHUNK_READ = 1 << 16
"""Triples of a parser that are encoded together. Not measured."""

MIN_BYTES_TO_COMPILE = 1 << 25
"""Bytes. Smaller line documents are parsed by pyoxigraph: loading the compiled loops would take longer
(measured: 16 MB in 0.30 s, against 0.38 s from the cache of compiled loops and 4 s without it)."""

MIN_BYTES_IF_COMPILED = 1 << 12
"""As ``MIN_BYTES_TO_COMPILE``, but if the compiled loops are loaded already."""

USUAL_COMPRESSION = 10
"""Estimated compression ratio of N-Triples, used to decide whether an input is small."""

TERMS_PER_CALL = 1 << 18
"""Number of terms looked up in one call of a kernel."""

FACTS_PER_BATCH = 1 << 20
"""Facts of an index that are listed at a time, to be written."""

TRIPLES_PER_CHUNK_WRITTEN = 1 << 15
"""Triples whose text is made at a time, some 5 MB. Measured where bytes are copied: with four times as many,
writing 3.3 million takes 2.2 s instead of 1.7."""

MIN_TRIPLES_COPIED = 1 << 19
"""Triples from which their bytes are copied by compiled loops: fewer are written before these are loaded."""

BYTES_PER_GZIP_MEMBER = 1 << 22
"""Bytes that are compressed on their own, by one thread: longer members would hardly be smaller."""

GZIP_LEVEL = 4
"""Level of gzip: more than half of the best compression, in a fifth of its time."""

SECONDS_PER_NETWORK_OPERATION = 60.0
"""Timeout in seconds of each network operation (connect, read), not of the whole transfer."""

MAX_NESTED_VALUES = 1_000
"""Nesting depth of objects and arrays of JSON-LD: the parser calls itself for each."""

MAX_CHARACTERS_OF_ENTITIES = 1 << 20
"""Characters of the expanded texts of all declared entities together. Ontologies declare entities for
namespaces, which are short."""
