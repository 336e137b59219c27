"""The base of all errors that a person can mend."""


class AorError(Exception):
    """An error whose one-line message says what is wrong, where, and what to do about it.

    The command line prints the message and exits with 1; anything else is a defect and shows its
    traceback.
    """
