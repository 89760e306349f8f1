"""The tuning constants of the command: what is limited, in which unit, and measurements or reasons."""

SECONDS_BEFORE_BAR = 2.0
"""Seconds after which a running stage shows a bar. Not tuned: until then a user waits without one."""

MAX_CHARACTERS_OF_ACTIVITY = 45
"""Characters of the activity beside a bar. Not tuned: on 120 columns there is room for the rest."""

MAX_CHARACTERS_OF_BAR = 40
"""Characters of a bar itself. Not tuned: what rich draws by default."""

MAX_CHARACTERS_OF_COMPLAINT = 1500
"""Characters of an error message of Spark that are shown. Not tuned: what fits a screen of 24 lines."""

MAX_CLASSES_AT_ONCE = 1024
"""Classes that get a fresh member in one transaction. Measured: the 3,089 classes of FIBO take 28 s in sets
of 64, 12 s of 256, 6.5 s of 1,024, and 4.3 s at once, when no bar would move."""

MAX_LEVELS_OF_VALUES = 2
"""How many values of values a member of a class gets. Not tuned: ontologies of parts of parts have some ten
values a level."""

MAX_PREDICATES_LISTED = 10
"""Predicates in the list of the largest. Not tuned: what is read at a glance."""

BYTES_RESERVED_FOR_ERROR = 1 << 20
"""Bytes that are freed before an error is reported: memory may have run out. Not tuned: far more than a
message needs."""

SECONDS_FOR_JAVA = 10.0
"""Seconds that ``java -version`` may take. Measured: 0.05 to 0.3."""
