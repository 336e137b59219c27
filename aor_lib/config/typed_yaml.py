"""YAML files to typed values, with errors that a person can act on."""

import difflib
import functools
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError


class AorError(Exception):
    """An error whose one-line message says what is wrong, where, and what to do about it.

    The command line prints the message and exits with 1; anything else is a defect and shows its
    traceback.
    """


def one_line(text: object, at_most: int | None = None) -> str:
    """A text, or an error's message, as one printable line of at most so many characters."""
    printable = "".join(c if c.isprintable() else " " for c in str(text))
    return " ".join(printable.split())[:at_most]


class ParamsError(AorError, ValueError):
    """A parameter file that cannot be used; the message names the file, the field and the value."""


class Params(BaseModel):
    """Base of all parameters: immutable, unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


T = TypeVar("T", bound=Params)

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml is ten times as fast


def read(path: Path, kind: type[T]) -> T:
    """Read a YAML file as ``kind``; ``ParamsError`` if it is missing, no YAML, or does not fit."""
    return validated(mapping(path), kind, str(path))


def read_named(path: Path, kind: type[T]) -> T:
    """Read a YAML file as :func:`read` does; its ``id`` must be the file's name."""
    return with_id(path, read(path, kind))


def with_id(path: Path, found: T) -> T:
    """Return what a file holds, if its ``id`` is the file's name; else raise ``ParamsError``."""
    if getattr(found, "id", path.stem) != path.stem:
        raise ParamsError(f"{path}: id: must be the file's name, {path.stem!r}")
    return found


def mapping(path: Path) -> dict[str, Any]:
    """Keys and values of a YAML file; raises ``ParamsError`` as :func:`read`."""
    try:
        data = _parse(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ParamsError(f"{path}: cannot be read: {error}") from error
    except yaml.YAMLError as error:
        raise ParamsError(f"{path}: is not YAML: {one_line(error)}") from error
    if not isinstance(data, dict):
        raise ParamsError(f"{path}: must be a mapping of keys to values")
    return dict(data)


@functools.lru_cache(maxsize=256)
def _parse(text: str) -> Any:
    """Parsed once per process: every stage of a study reads the same hundred files."""
    return yaml.load(text, _Loader)


def validated(data: dict[str, Any], kind: type[T], where: str) -> T:
    """Convert ``data`` to ``kind``, or raise a :class:`ParamsError` that begins with ``where``."""
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        raise ParamsError(f"{where}: {_one_line(error, kind)}") from error


def did_you_mean(value: str, options: Any) -> str:
    """Hint for an error message: the nearest valid option, or all of them."""
    names = sorted(str(option) for option in options)
    close = difflib.get_close_matches(str(value), names, n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; valid: {', '.join(names)}"


def _one_line(error: ValidationError, kind: type[BaseModel]) -> str:
    """First problem as 'field: problem, value', and the number of further ones."""
    # A mistyped key also leaves a key missing; it is the one to mend.
    first = min(error.errors(), key=lambda problem: problem["type"] != "extra_forbidden")
    where = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        valid = _fields_at(kind, first["loc"][:-1])
        text = f"{where}: unknown key{did_you_mean(str(first['loc'][-1]), valid)}"
    elif first["type"] == "missing":
        text = f"{where}: is missing"
    elif first["type"] == "value_error":
        message = first["msg"].removeprefix("Value error, ")
        text = f"{where}: {message}" if where else message
    else:
        text = f"{where}: {first['msg']}, not {first['input']!r}"
    more = error.error_count() - 1
    return text + (f" (and {more} more)" if more else "")


def _fields_at(kind: Any, location: tuple[int | str, ...]) -> list[str]:
    """Valid keys of the (nested) model that a location points into."""
    for part in location:
        if part in kind.model_fields:  # not an index of a list, or a key of a mapping
            kind = _model_in(kind.model_fields[part].annotation)
    return list(kind.model_fields)


def _model_in(annotation: Any) -> Any:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for argument in getattr(annotation, "__args__", ()):
        if (found := _model_in(argument)) is not None:
            return found
    return None
