"""A logger plugin of Snakemake: what a run does, kept for `clipaudit status`, and a live line.

`logger: clipaudit` in a profile turns it on; Snakemake finds it by the name of this package. On a
terminal the last line says how far the run is, in place of Snakemake's line after every job; all
other messages are Snakemake's own. Elsewhere only the events are written.
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
_CLEAR = "\r\x1b[K"  # to the start of the line, and empty it
_CHATTER = ("Select jobs to execute", "Execute ")  # Snakemake says so before every job


class LogHandler(LogHandlerBase):
    """Writes Snakemake's events to a file of this run, and on a terminal says how far it is."""

    def __post_init__(self) -> None:
        """Start with nothing known; the file is made when a run says what it will do."""
        self._file: EventFile | None = None
        self._began = time.time()
        self._status = RunStatus()
        live = sys.stderr.isatty() and not (self.common_settings.dryrun or self._stdout)
        self._messages = self._message_handler() if live else None

    def emit(self, record: logging.LogRecord) -> None:
        """Take one record; a run goes on where it cannot be noted or shown."""
        try:
            event = None if self.common_settings.dryrun else event_of(record, time.time())
            if event is not None:
                self._note(event)
            if self._messages is not None:
                self._show(record)
        except (AttributeError, LookupError, OSError, TypeError, ValueError):
            # an event that another Snakemake tells otherwise, or a terminal that is gone: raised
            # here it would end the thread that prints all messages; logging prints it instead
            self.handleError(record)

    def close(self) -> None:
        """Say that the run ended by itself."""
        if self._file is not None:
            self._note(end_event(time.time()))
            self._file = None
        if self._messages is not None:
            print(_CLEAR, end="", file=sys.stderr, flush=True)
        super().close()

    def _note(self, event: dict[str, object]) -> None:
        """Append an event; a disk that refuses is told once, and nothing is noted from then on."""
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
                f"{RUNS}: cannot be written ({error.strerror}). The run goes on, and `clipaudit "
                "status` will not know how far it is.",
                file=sys.stderr,
            )

    def _show(self, record: logging.LogRecord) -> None:
        """Print a message of Snakemake's above the live line, and the line again."""
        assert self._messages is not None
        print(_CLEAR, end="", file=sys.stderr, flush=True)
        progress = getattr(record, "event", None) in ("progress", "job_finished")
        if not progress and not str(record.msg).startswith(_CHATTER):
            self._messages.handle(record)
        if self._file is not None and self._status.done < self._status.total:
            print(live_line(self._status, time.time()), end="", file=sys.stderr, flush=True)

    def _message_handler(self) -> logging.Handler:
        """Return what Snakemake itself would print with."""
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
        """Say whether this prints Snakemake's messages, so that nobody prints them twice."""
        return self._messages is not None

    @property
    def writes_to_file(self) -> bool:
        """Say no: the file is none that Snakemake should name as its log."""
        return False

    @property
    def has_filter(self) -> bool:
        """Say yes: `quiet` would keep events from us that nobody sees anyway."""
        return True

    @property
    def has_formatter(self) -> bool:
        """Say yes: events are written as they are."""
        return True

    @property
    def needs_rulegraph(self) -> bool:
        """Say no."""
        return False
