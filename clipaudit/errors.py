"""Every error that clipaudit raises on purpose.

* ClipauditError
  x InputError   a file that the user gave is missing, unreadable or inconsistent
    + TooSmall   the data are too small for what is asked: a step leaves its results out
  x ConfigError  the configuration is wrong
  x StoreError   a file that clipaudit wrote is missing, partial or altered
  x StepError    a step of the workflow cannot run as it was asked to

A message names the place, the values on both sides and the next step. The command line and the
workflow scripts print it without a traceback and exit with 1; any other exception is a bug.
"""


class ClipauditError(Exception):
    """The root: catch this to catch everything that clipaudit raises on purpose."""


class InputError(ClipauditError):
    """A file that the user gave is missing, unreadable or inconsistent."""


class TooSmall(InputError):
    """The data are too small for what is asked.

    A step that raises it, or reads what was left out, leaves its own results out with the same
    message; the run goes on.
    """


class ConfigError(ClipauditError):
    """The configuration is wrong."""


class StoreError(ClipauditError):
    """A file that clipaudit wrote is missing, partial or altered."""


class StepError(ClipauditError):
    """A step of the workflow cannot run as it was asked to."""
