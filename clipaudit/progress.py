"""Progress of long work in the log: how much is done, how fast it goes, how long it will take."""

import logging
import time
from dataclasses import KW_ONLY, dataclass

SECONDS_BETWEEN_LINES = 10


@dataclass
class Progress:
    """Logs one line every few seconds, and one at the end.

    `total` and what is noted count the same thing, which `unit` names in the plural; `before` is
    what was done before this process started and takes no part in the rate.
    """

    log: logging.Logger
    task: str
    _: KW_ONLY
    total: int
    unit: str
    before: int = 0

    def __post_init__(self) -> None:
        """Start the clock."""
        self._started = self._logged = time.monotonic()

    def note(self, done: int, detail: str = "") -> None:
        """Say that `done` of the total are done; logs it if it is time to."""
        now = time.monotonic()
        if done < self.total and now - self._logged < SECONDS_BETWEEN_LINES:
            return
        self._logged = now
        rate = (done - self.before) / max(now - self._started, 1e-9)
        left = f"{(self.total - done) / rate:.0f} s left" if rate else "time left unknown"
        self.log.info(
            "%s: %d of %d %s, %.0f/s, %s%s",
            self.task,
            done,
            self.total,
            self.unit,
            rate,
            left,
            f", {detail}" if detail else "",
        )
