"""Counts of requests, as Prometheus text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from corollary.serve.tuning import BUCKETS_OF_SECONDS

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """Counts by route and status. A route is a path of ``app.ROUTES``, so clients cannot add any.

    Used in the thread of the event loop only.
    """

    def __init__(self) -> None:
        self.running = 0
        self._requests: defaultdict[tuple[str, str, int], int] = defaultdict(int)
        self._bytes: defaultdict[str, int] = defaultdict(int)
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._buckets: defaultdict[tuple[str, float], int] = defaultdict(int)

    def count(self, route: str, method: str, status: int, seconds: float, size: int) -> None:
        """Count a response of ``size`` bytes, sent ``seconds`` after the request came."""
        self._requests[route, method, status] += 1
        self._bytes[route] += size
        self._seconds[route] += seconds
        for bound in BUCKETS_OF_SECONDS:
            if seconds <= bound:
                self._buckets[route, bound] += 1

    def text(self, gauges: Mapping[str, float]) -> str:
        """All counts, and gauges by name."""
        return "".join(f"{line}\n" for line in (*self._lines(), *_gauge_lines(gauges)))

    def _lines(self) -> Iterator[str]:
        yield "# TYPE corollary_requests_total counter"
        for (route, method, status), count in sorted(self._requests.items()):
            yield f'corollary_requests_total{{route="{route}",method="{method}",status="{status}"}} {count}'
        yield "# TYPE corollary_response_bytes_total counter"
        for route, size in sorted(self._bytes.items()):
            yield f'corollary_response_bytes_total{{route="{route}"}} {size}'
        yield "# TYPE corollary_request_seconds histogram"
        totals: defaultdict[str, int] = defaultdict(int)
        for (route, _, _), count in self._requests.items():
            totals[route] += count
        for route, total in sorted(totals.items()):
            for bound in BUCKETS_OF_SECONDS:
                found = self._buckets.get((route, bound), 0)
                yield f'corollary_request_seconds_bucket{{route="{route}",le="{bound}"}} {found}'
            yield f'corollary_request_seconds_bucket{{route="{route}",le="+Inf"}} {total}'
            yield f'corollary_request_seconds_sum{{route="{route}"}} {self._seconds[route]:.6f}'
            yield f'corollary_request_seconds_count{{route="{route}"}} {total}'


def _gauge_lines(gauges: Mapping[str, float]) -> Iterator[str]:
    for name, value in gauges.items():
        yield f"# TYPE corollary_{name} gauge"
        yield f"corollary_{name} {value:g}"
