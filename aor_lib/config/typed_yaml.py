"""YAML files to typed values, with errors that a person can act on."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from aor_lib.config.errors import AorError


class ParamsError(AorError, ValueError):
    """A parameter file that cannot be used; the message is one line for the person who wrote it."""


class Params(BaseModel):
    """Base of all parameters: immutable, unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


T = TypeVar("T", bound=Params)


def read(path: Path, kind: type[T]) -> T:
    """Read one YAML file as ``kind``.

    Raises
    ------
    ParamsError
        The file is missing, is not YAML, or does not fit; one line says where and why.
    """
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ParamsError(f"{path}: cannot be read: {error}") from error
    except yaml.YAMLError as error:
        raise ParamsError(f"{path}: is not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(data, dict):
        raise ParamsError(f"{path}: must be a mapping of keys to values")
    return validated(data, kind, str(path))


def validated(data: dict[str, Any], kind: type[T], where: str) -> T:
    """``data`` as ``kind``, or a :class:`ParamsError` that begins with ``where``."""
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        raise ParamsError(f"{where}: {_one_line(error, kind)}") from error


def nearest(value: str, options: Any) -> str:
    """A hint for an error: the nearest valid option, or all of them."""
    names = sorted(str(option) for option in options)
    close = difflib.get_close_matches(str(value), names, n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; valid: {', '.join(names)}"


def _one_line(error: ValidationError, kind: type[BaseModel]) -> str:
    """The first problem as 'field: what is wrong, with the value'; how many more there are."""
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        valid = _fields_at(kind, first["loc"][:-1])
        text = f"{where}: unknown key{nearest(str(first['loc'][-1]), valid)}"
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
        if part not in kind.model_fields:  # an index of a list, or a key of a mapping
            continue
        kind = _model_in(kind.model_fields[part].annotation)
    return list(kind.model_fields)


def _model_in(annotation: Any) -> Any:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for argument in getattr(annotation, "__args__", ()):
        if (found := _model_in(argument)) is not None:
            return found
    return None
