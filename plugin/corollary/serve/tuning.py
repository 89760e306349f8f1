"""The tuning constants of the server: what is limited, and in which unit."""

THREADS_OF_READERS = 8
"""Threads that answer queries. They share the interpreter, but not the loops over arrays."""

MAX_REQUESTS_AT_ONCE = 512
"""Open connections, and running requests. Further ones get status 503."""

MAX_BYTES_OF_HEAD = 1 << 16
"""Bytes of the request line and the headers together; a query by GET is part of them."""

MAX_FIELDS_OF_FORM = 1000
"""Parameters of one request."""

SECONDS_FOR_HEAD = 10.0
"""Seconds that a connection may take to send a request line and headers."""

SECONDS_FOR_BODY = 120.0
"""Seconds that a request may take to send its body."""

SECONDS_FOR_SENDING = 30.0
"""Seconds that a client may take to receive a part of a response."""

SECONDS_OF_KEEP_ALIVE = 20
"""Seconds that an idle connection is kept."""

SECONDS_FOR_ENDING = 30
"""Seconds that running requests have when the server ends. Then they are cancelled."""

DEFAULT_SECONDS = 30.0
"""Seconds that a request may take, the time in the queue included."""

DEFAULT_BYTES_OF_BODY = 100_000_000
"""Bytes of a request's body, after decompression."""

DEFAULT_BYTES_OF_RESULT = 1_000_000_000
"""Bytes of a response's body, before compression."""

SECONDS_BEFORE_WATCHING = 0.05
"""Seconds of a request before the server watches whether its client goes away, which costs some 60 µs."""

MAX_BYTES_OF_QUERY = 1_000_000
"""Bytes of a query's text, which anyone may send. The parser, which cannot be cancelled, reads 0.6 MB/s."""

MAX_ACCEPTS_CACHED = 64
"""Accept headers whose format is known. A header has at most ``MAX_BYTES_OF_HEAD`` bytes."""

MIN_ROWS_SHARED = 32
"""Rows of a column whose equal terms are written once. For fewer, finding equal ones takes longer: 30 µs."""

ROWS_PER_CHUNK = 2048
"""Rows, or triples, of a result that are written at once."""

BYTES_BEFORE_STREAMING = 1 << 18
"""Bytes of a response's body. A larger one is sent while it is written."""

LEVEL_OF_COMPRESSION = 3
"""The level of gzip. Level 9 takes several times as long for a few hundredths of the size."""

MAX_HOSTS_CACHED = 64
"""Hosts of requests of which it is known whether they are this machine. To find out takes 10 to 25 µs."""

MIN_CHARACTERS_OF_TOKEN = 16
"""Characters of a token. A shorter one could be guessed."""

MAX_OPEN_TRANSACTIONS = 8
"""Transactions by URL: one is open, the others wait for it. Each has a thread."""

SECONDS_OF_TRANSACTION = 60.0
"""Seconds from the beginning of a transaction by URL until it is rolled back."""

SECONDS_FOR_TURN = 2.0
"""Seconds that a change waits while another one, or an open transaction, has the store. Then: status 503."""

SECONDS_FOR_RULE_COUNTS = 2.0
"""Seconds of one request that counts what each rule derives. LUBM-1 with OWL 2 RL takes RULESECONDS."""

MAX_ROWS_OF_RULE_COUNT = 20_000_000
"""Rows of one join of such a count. More take longer than a request may, and some hundred MB."""

MAX_PROOFS = 100
"""Proofs in one explanation."""

MAX_LISTED = 10_000
"""Inconsistencies, or terms, in one response."""

BUCKETS_OF_SECONDS = (0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10.0)
"""The upper bounds of the histogram of response times, in seconds."""
