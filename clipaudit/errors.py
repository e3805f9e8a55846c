"""Every error that clipaudit raises on purpose.

* ClipauditError
  x InputError   a file that the user gave is missing, unreadable or inconsistent
    + TooSmall   the data are too small for the request: a step omits its results
  x ConfigError  the configuration is wrong
  x StoreError   a file that clipaudit wrote is missing, partial or altered
  x StepError    a step of the workflow cannot run as requested

A message names the place, the values on both sides and the next step. The command line and the
workflow scripts print it without a traceback and exit with 1; any other exception is a bug.
"""


class ClipauditError(Exception):
    """The base class: catch it to catch every error that clipaudit raises on purpose."""


class InputError(ClipauditError):
    """A file that the user gave is missing, unreadable or inconsistent."""


class TooSmall(InputError):
    """The data are too small for the request.

    A step that raises it, or reads omitted results, omits its own results with the same message;
    the run continues.
    """


class ConfigError(ClipauditError):
    """The configuration is wrong."""


class StoreError(ClipauditError):
    """A file that clipaudit wrote is missing, partial or altered."""


class StepError(ClipauditError):
    """A step of the workflow cannot run as requested."""
