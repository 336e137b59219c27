"""The base of all errors that a person can mend, and errors as one line."""


class AorError(Exception):
    """An error whose one-line message says what is wrong, where, and what to do about it.

    The command line prints the message and exits with 1; anything else is a defect and shows its
    traceback.
    """


def one_line(error: object, at_most: int | None = None) -> str:
    """Message of an error without line breaks, cut where it is longer than ``at_most``."""
    return " ".join(str(error).split())[:at_most]
