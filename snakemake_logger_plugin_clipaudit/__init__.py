"""A logger plugin of Snakemake: log a run's events for `clipaudit status`, and show a live line.

`logger: clipaudit` in a profile turns it on; Snakemake finds it by the name of this package. On a
terminal the last line shows the progress, instead of Snakemake's line after every job; all other
messages are Snakemake's own. Elsewhere it only writes the events.
"""

import logging
import sys
import time
from pathlib import Path

from snakemake.logging import ColorizingTextHandler, DefaultFilter, DefaultFormatter
from snakemake_interface_logger_plugins.base import LogHandlerBase

from clipaudit.runs.events import EventFile, end_event, event_of
from clipaudit.runs.status import RunStatus, live_line

RUNS = Path("logs/runs")
_CLEAR = "\r\x1b[K"  # go to the start of the line, and clear it
_CHATTER = ("Select jobs to execute", "Execute ")  # Snakemake prints these before every job


class LogHandler(LogHandlerBase):
    """Write Snakemake's events to a file of this run, and on a terminal show the progress."""

    def __post_init__(self) -> None:
        """Start empty; the file is created when a run announces its jobs."""
        self._file: EventFile | None = None
        self._began = time.time()
        self._status = RunStatus()
        live = sys.stderr.isatty() and not (self.common_settings.dryrun or self._stdout)
        self._messages = self._message_handler() if live else None

    def emit(self, record: logging.LogRecord) -> None:
        """Take one record; if it cannot be logged or shown, the run continues."""
        try:
            event = None if self.common_settings.dryrun else event_of(record, time.time())
            if event is not None:
                self._note(event)
            if self._messages is not None:
                self._show(record)
        except (AttributeError, LookupError, OSError, TypeError, ValueError):
            # another Snakemake's form of an event, or a lost terminal: raised here, the error would
            # end the thread that prints all messages; logging prints it instead
            self.handleError(record)

    def close(self) -> None:
        """Note that the run ended normally."""
        if self._file is not None:
            self._note(end_event(time.time()))
            self._file = None
        if self._messages is not None:
            print(_CLEAR, end="", file=sys.stderr, flush=True)
        super().close()

    def _note(self, event: dict[str, object]) -> None:
        """Append an event; after a disk error, warn once and write no more events."""
        try:
            if self._file is None and event["event"] == "run":
                self._file = EventFile.new(RUNS, began=self._began)
                for opened in self._file.events():
                    self._status.take(opened)
            if self._file is not None:
                self._file.write(event)
                self._status.take(event)
        except OSError as error:
            self._file = None
            print(
                f"{RUNS}: cannot be written ({error.strerror}). The run continues, but `clipaudit "
                "status` cannot show its progress.",
                file=sys.stderr,
            )

    def _show(self, record: logging.LogRecord) -> None:
        """Print a Snakemake message above the live line, and the line again."""
        assert self._messages is not None
        print(_CLEAR, end="", file=sys.stderr, flush=True)
        progress = getattr(record, "event", None) in ("progress", "job_finished")
        if not progress and not str(record.msg).startswith(_CHATTER):
            self._messages.handle(record)
        if self._file is not None and self._status.done < self._status.total:
            print(live_line(self._status, time.time()), end="", file=sys.stderr, flush=True)

    def _message_handler(self) -> logging.Handler:
        """Return the handler that Snakemake itself would print with."""
        settings = self.common_settings
        handler: logging.Handler = ColorizingTextHandler(
            nocolor=settings.nocolor, stream=sys.stderr
        )
        handler.addFilter(
            DefaultFilter(
                settings.quiet,
                settings.debug_dag,
                settings.verbose,
                settings.dryrun,
                settings.printshellcmds,
            )
        )
        handler.setFormatter(DefaultFormatter(settings.quiet, settings.show_failed_logs))
        return handler

    @property
    def _stdout(self) -> bool:
        return bool(self.common_settings.stdout)

    @property
    def writes_to_stream(self) -> bool:
        """Return whether this prints Snakemake's messages, so that they are not printed twice."""
        return self._messages is not None

    @property
    def writes_to_file(self) -> bool:
        """Return False: Snakemake should not name the file as its log."""
        return False

    @property
    def has_filter(self) -> bool:
        """Return True: otherwise `quiet` would withhold events, which are not printed anyway."""
        return True

    @property
    def has_formatter(self) -> bool:
        """Return True: events are written unformatted."""
        return True

    @property
    def needs_rulegraph(self) -> bool:
        """Say no."""
        return False
