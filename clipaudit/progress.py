"""Log the progress of long work: amount done, rate, time left."""

import logging
import time

SECONDS_BETWEEN_LINES = 10


class Progress:
    """Log one line every few seconds, and one at the end.

    `total` and the noted counts are in `unit`, a plural noun. `before` counts work done before this
    process started; the rate ignores it.
    """

    def __init__(
        self, log: logging.Logger, task: str, *, total: int, unit: str, before: int = 0
    ) -> None:
        """Start the clock."""
        self._log = log
        self._task = task
        self._total = total
        self._unit = unit
        self._before = before
        self._started = self._logged = time.monotonic()

    def note(self, done: int, detail: str = "") -> None:
        """Note that `done` of the total are done; log it if the interval has passed."""
        now = time.monotonic()
        if done < self._total and now - self._logged < SECONDS_BETWEEN_LINES:
            return
        self._logged = now
        rate = (done - self._before) / max(now - self._started, 1e-9)
        left = f"{(self._total - done) / rate:.0f} s left" if rate else "time left unknown"
        self._log.info(
            "%s: %d of %d %s, %.0f/s, %s%s",
            self._task,
            done,
            self._total,
            self._unit,
            rate,
            left,
            f", {detail}" if detail else "",
        )
