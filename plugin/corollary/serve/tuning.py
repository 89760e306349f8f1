"""The tuning constants of the server: what is limited, in which unit, and measurements or reasons."""

THREADS_OF_READERS = 8
"""Threads that answer queries. They share the interpreter, but not the loops over arrays. Not tuned: more
than most machines have cores, so that a few slow queries do not delay the others."""

MAX_REQUESTS_AT_ONCE = 512
"""Open connections, and running requests. Further ones get status 503. Not tuned: half of the 1,024 open
files that a process usually may have."""

MAX_BYTES_OF_HEAD = 1 << 16
"""Bytes of the request line and the headers together; a query by GET is part of them. Not tuned: most servers
allow 8 to 64 kB."""

MAX_BYTES_OF_FORM = 10_000_000
"""Bytes of a form with an update, which may be longer as a body of its own. Measured: to parse 10 MB takes
2.2 s if all characters are escaped."""

MAX_PARTS_OF_FORM = 1000
"""Documents in one form (multipart/form-data). Not tuned: as ``MAX_FIELDS_OF_FORM``."""

MAX_FIELDS_OF_FORM = 1000
"""Parameters of one request. Not tuned: no request needs so many. Measured: to parse 1,000 takes 0.6 ms,
5,000 take 3.4 ms."""

SECONDS_FOR_HEAD = 10.0
"""Seconds that a connection may take to send a request line and headers. Not tuned: a client sends them at
once."""

SECONDS_FOR_BODY = 120.0
"""Seconds that a request may take to send its body. Not tuned: ``DEFAULT_BYTES_OF_BODY`` at 7 Mbit/s."""

SECONDS_FOR_SENDING = 30.0
"""Seconds that a client may take to receive a part of a response. Not tuned: a slower client holds a
version."""

SECONDS_OF_KEEP_ALIVE = 20
"""Seconds that an idle connection is kept. Not tuned: longer than a user thinks between two clicks."""

SECONDS_FOR_ENDING = 30
"""Seconds that running requests have when the server ends. Then they are cancelled. Not tuned: as
``DEFAULT_SECONDS``, so that a request that may still run ends."""

DEFAULT_SECONDS = 30.0
"""Seconds that a request may take, the time in the queue included. Not tuned: ``--timeout`` sets it."""

DEFAULT_BYTES_OF_BODY = 100_000_000
"""Bytes of a request's body, after decompression. Not tuned: ``--max-body`` sets it. Measured: files of 54 MB
with 300,000 triples are read in 0.2 s."""

DEFAULT_BYTES_OF_RESULT = 1_000_000_000
"""Bytes of a response's body, before compression. Not tuned: ``--max-result`` sets it. Measured: 240 bytes a
row of three terms as JSON, in a market and in a university; so some 4 million rows, which would take 20 s to
write."""

SECONDS_BEFORE_WATCHING = 0.05
"""Seconds of a request before the server watches whether its client goes away, which costs some 20 µs
(measured with a client that stays)."""

MAX_BYTES_OF_QUERY = 1_000_000
"""Bytes of a query's text, which anyone may send. The parser cannot be cancelled. Measured: it reads 2.5 MB/s
of patterns with filters, 11 MB/s of VALUES."""

MAX_HEADERS_CACHED = 64
"""Accept headers whose media type is remembered. Not tuned: browsers and libraries have a few each. A header
has at most ``MAX_BYTES_OF_HEAD``. Measured: the choice takes 4.7 µs, remembered 0.2 µs."""

BYTES_BEFORE_STREAMING = 1 << 18
"""Bytes of a response's body that the server holds in memory before it sends any. It sends a larger body
while it writes it. Not tuned: a bound on memory. Measured: the server joins the parts of such a body in 12
µs."""

LEVEL_OF_COMPRESSION = 3
"""The level of gzip. Measured on the JSON of 50,000 rows: levels 1, 3, 4 and 9 compress a market 33, 33, 35
and 46 times at 635, 517, 305 and 80 MB/s, a university 35, 36, 39 and 46 times at 659, 647, 335 and 112."""

MIN_CHARACTERS_OF_TOKEN = 16
"""Characters of a token. A shorter one could be guessed. Not tuned: 16 random characters of base 64 have 96
bits."""

MAX_OPEN_TRANSACTIONS = 8
"""Transactions by URL that exist at a time: one is open, the others wait for their turn. Each has a thread.
Not tuned: as many as readers."""

SECONDS_OF_TRANSACTION = 60.0
"""Seconds from the beginning of a transaction by URL until it is rolled back. Not tuned: a bound
on the time that one client may keep the others from changing the store."""

SECONDS_FOR_TURN = 2.0
"""Seconds that a change waits for an open transaction. Then the server refuses it with status 503. Not tuned:
a program's transaction takes milliseconds, and a person waits that long."""

SECONDS_BEFORE_LOOKING = 0.1
"""Seconds after which a change that waits for its turn looks again whether it is cancelled. Not tuned: a
person notices no less."""

SECONDS_FOR_RULE_COUNTS = 2.0
"""Seconds of one request that counts what each rule derives. Measured: all rules of OWL 2 RL on
LUBM-1 take 0.03 s."""

MAX_ROWS_OF_RULE_COUNT = 20_000_000
"""Rows of one join of such a count. More take longer than a request may, and some hundred MB. Not tuned: no
rule of OWL 2 RL derives more than 31,137 facts of LUBM-1."""

MAX_PROOFS = 100
"""Proofs in one explanation. Not tuned: more are not read."""

MAX_LISTED = 10_000
"""Inconsistencies, or terms, in one response. Not tuned: more are not read."""

BUCKETS_OF_SECONDS = (0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10.0)
"""The upper bounds of the histogram of response times, in seconds. Not tuned: steps by about five."""
