"""Read YAML files as typed values, with actionable error messages."""

import difflib
import functools
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator


class AorError(Exception):
    """An error whose one-line message says what is wrong, where, and what to do about it."""


class ParamsError(AorError, ValueError):
    """A parameter that cannot be used; the message names the file, the field and the value."""


class Params(BaseModel):
    """Base class of all parameters: immutable, and unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    @model_validator(mode="before")
    @classmethod
    def _knows_its_keys(cls, data: Any) -> Any:
        # Before the fields: a mistyped key also leaves a key missing, but is the one to fix.
        for key in data if isinstance(data, dict) else ():
            if key not in cls.model_fields:
                raise ValueError(f"{key}: unknown key{did_you_mean(key, cls.model_fields)}")
        return data


T = TypeVar("T", bound=Params)


class _Loader(yaml.CSafeLoader):  # libyaml is ten times as fast
    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        # Checked before keys are merged in (``<<``), which the mapping's own keys may override.
        keys = [str(key.value) for key, _ in node.value]
        if repeated := [key for key in keys if keys.count(key) > 1]:
            raise yaml.YAMLError(f"{repeated[0]!r} twice, from line {node.start_mark.line + 1} on")
        super().flatten_mapping(node)
        node.value = list({str(key.value): (key, value) for key, value in node.value}.values())


# Once per process: every stage reads the same hundred files.
_parse = functools.lru_cache(maxsize=256)(functools.partial(yaml.load, Loader=_Loader))


def read(path: Path, kind: type[T]) -> T:
    """Read a YAML file as ``kind``; ``ParamsError`` if it is invalid."""
    return validated(mapping(path), kind, str(path))


def read_named(path: Path, kind: type[T]) -> T:
    """Read a YAML file as :func:`read` does; its ``id`` must be the file's name."""
    value = read(path, kind)
    if getattr(value, "id", path.stem) != path.stem:
        raise ParamsError(f"{path}: id: must be the file's name, {path.stem!r}")
    return value


def mapping(path: Path) -> dict[str, Any]:
    """Keys and values of a YAML file; raises ``ParamsError`` like :func:`read`."""
    try:
        data = _parse(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ParamsError(f"{path}: cannot be read: {error}") from error
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a date that does not exist
        raise ParamsError(f"{path}: is not YAML: {one_line(error)}") from error
    if not isinstance(data, dict):
        raise ParamsError(f"{path}: must be a mapping of keys to values")
    return dict(data)


def validated(data: object, kind: type[T], where: str) -> T:
    """Convert ``data`` to ``kind``, or raise a :class:`ParamsError` that begins with ``where``."""
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        first, *others = error.errors()
        problem = first["msg"].removeprefix("Value error, ")
        if first["type"] not in ("missing", "value_error"):
            problem += f", not {first['input']!r}"
        more = f" (and {len(others)} more)" if others else ""
        field = ".".join(map(str, first["loc"]))
        place = f"{where}: {field}" if field else where
        raise ParamsError(f"{place}: {problem}{more}") from error


def did_you_mean(value: str, options: Iterable[object]) -> str:
    """Hint for an error message: the nearest valid option, or all of them."""
    names = sorted(str(option) for option in options)
    close = difflib.get_close_matches(str(value), names, n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; valid: {', '.join(names)}"


def one_line(text: object, at_most: int | None = None) -> str:
    """A text as one printable line of at most ``at_most`` characters."""
    printable = "".join(c if c.isprintable() else " " for c in str(text))
    return " ".join(printable.split())[:at_most]
