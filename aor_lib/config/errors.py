"""The base of all errors that a person can mend, and errors as one line."""


class AorError(Exception):
    """An error whose one-line message says what is wrong, where, and what to do about it.

    The command line prints the message and exits with 1; anything else is a defect and shows its
    traceback.
    """


def one_line(text: object, at_most: int | None = None) -> str:
    """A text, or an error's message, as one printable line of at most so many characters."""
    printable = "".join(c if c.isprintable() else " " for c in str(text))
    return " ".join(printable.split())[:at_most]
