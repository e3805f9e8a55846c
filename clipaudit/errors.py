"""Every error that clipaudit raises on purpose.

* ClipauditError
  x InputError   a file that the user gave is missing, unreadable or inconsistent
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


class ConfigError(ClipauditError):
    """The configuration is wrong."""


class StoreError(ClipauditError):
    """A file that clipaudit wrote is missing, partial or altered."""


class StepError(ClipauditError):
    """A step of the workflow cannot run as it was asked to."""
