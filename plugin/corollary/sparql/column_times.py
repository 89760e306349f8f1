"""The fields of dates and times, on columns."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from corollary.columns.numbering import number_keys
from corollary.sparql.column_arguments import (
    ColumnArguments,
    Part,
    Table,
)
from corollary.sparql.column_values import (
    Numbers,
    Texts,
)
from corollary.sparql.value_columns import Code


def _field(name: str, own: ColumnArguments, node: Any) -> Part:
    """YEAR, MONTH, DAY, HOURS, MINUTES and SECONDS."""
    (values,), over = own.together([node])
    times = own.times(values)
    days = times.values // 86400
    seconds = times.values - 86400 * days
    match name:
        case "HOURS":
            number = seconds // 3600
        case "MINUTES":
            number = seconds // 60 % 60
        case "SECONDS":
            number = seconds % 60
        case _:
            number = _of_days(name, days)
    failed = times.failed
    if name in ("HOURS", "MINUTES", "SECONDS"):
        failed = failed | (times.codes == Code.DATE)
    found = Numbers.whole(number, failed, times.undecided)
    if name == "SECONDS":
        found = replace(found, codes=np.full(found.size, Code.DECIMAL, np.uint8))
    return Part(found, over)


def _of_days(name: str, days: Any) -> Any:
    """The years, months or days of the month of some days since 1970: each day is looked at once, if few."""
    least = int(days.min(initial=0))
    span = int(days.max(initial=0)) - least + 1
    if span < days.size:
        return _of_days(name, np.arange(least, least + span))[days - least]
    date = days.astype("datetime64[D]")
    if name == "YEAR":
        return date.astype("datetime64[Y]").astype(np.int64) + 1970
    month = date.astype("datetime64[M]")
    return month.astype(np.int64) % 12 + 1 if name == "MONTH" else (date - month).astype(np.int64) + 1


def _zone(own: ColumnArguments, node: Any) -> Part:
    """TZ."""
    import pyarrow

    (values,), over = own.together([node])
    times = own.times(values)
    zones = np.where(times.codes == Code.ZONED, times.minutes, np.int16(-9999))
    first, numbers = number_keys(zones)
    names = [
        "" if z == -9999 else "Z" if not z else f"{'-' if z < 0 else '+'}{abs(z) // 60:02}:{abs(z) % 60:02}"
        for z in zones[first].tolist()
    ]
    texts = pyarrow.array(names, pyarrow.large_string()).take(numbers)
    return Part(Texts(times.failed | (times.codes == Code.DATE), times.undecided, texts, None), over)


TIMES: Table = {
    **{name: partial(_field, name) for name in ("YEAR", "MONTH", "DAY", "HOURS", "MINUTES", "SECONDS")},
    "TZ": _zone,
}
