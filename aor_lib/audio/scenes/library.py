"""Library of named sounds: functions of a :class:`Synth` and of parameters in a scene's YAML.

The annotations of the functions define valid values; numbers may be given as ranges.
"""

import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeAlias, TypeVar

import numpy as np
from pydantic import AfterValidator, BeforeValidator, Field, create_model

from aor_lib.audio.scenes.synth import FloatArray
from aor_lib.config.scene import Share, as_range, ascending
from aor_lib.config.typed_yaml import Params, ParamsError, did_you_mean, mapping, validated

Pitch: TypeAlias = Annotated[float, Field(ge=20, le=12_000)]
Rate: TypeAlias = Annotated[float, Field(ge=0, le=2_000)]
Seconds: TypeAlias = Annotated[float, Field(ge=0.002, le=120)]
Gain: TypeAlias = Annotated[float, Field(ge=0, le=10)]
Ratio: TypeAlias = Annotated[float, Field(ge=0, le=2)]
Count: TypeAlias = Annotated[int, Field(ge=1, le=40)]
_Semitones: TypeAlias = Annotated[float, Field(ge=-36, le=36)]
Steps: TypeAlias = Annotated[tuple[_Semitones, ...], Field(min_length=1)]
Chord: TypeAlias = Annotated[tuple[Annotated[float, Field(gt=0, le=8)], ...], Field(min_length=1)]
"""Ratios to a tone's pitch."""


def _rising(points: tuple[tuple[float, float], ...]) -> tuple[tuple[float, float], ...]:
    positions = [position for position, _ in points]
    if positions != sorted(set(positions)):
        raise ValueError(f"the first numbers of the pairs must increase, not {positions}")
    return points


_Hertz: TypeAlias = Annotated[float, Field(ge=1, le=24_000)]
_Decibels: TypeAlias = Annotated[float, Field(ge=-96, le=24)]
_Factor: TypeAlias = Annotated[float, Field(ge=0, le=20)]
_T = TypeVar("_T")
_Points = Annotated[tuple[_T, ...], Field(min_length=1), AfterValidator(_rising)]
Spectrum: TypeAlias = _Points[tuple[_Hertz, _Decibels]]
"""Ascending frequencies in Hz, with levels in dB."""
Curve: TypeAlias = _Points[tuple[Share, _Factor]]
"""Positions as ascending fractions of the sound's length, with factors."""

FLAT = ((0.0, 1.0),)
TABLES = mapping(Path(__file__).with_name("tables.yaml"))
"""Constants of the sounds, by table and name; comments in the file explain them."""


def named_in(table: str) -> AfterValidator:
    """Validator of a parameter that names a row of a table."""

    def check(name: str) -> str:
        if name not in TABLES[table]:
            raise ValueError(f"{name!r} is unknown{did_you_mean(name, TABLES[table])}")
        return name

    return AfterValidator(check)


@dataclass(frozen=True)
class Sound:
    """A named sound: its function, and its parameters, of which ``numbers`` may be ranges."""

    make: Callable[..., FloatArray]
    parameters: type[Params]
    numbers: frozenset[str]


SOUNDS: dict[str, Sound] = {}
"""All sounds by name."""

Values: TypeAlias = Mapping[str, Any]


def sound(make: Callable[..., FloatArray]) -> Callable[..., FloatArray]:
    """Add a function to the library under its name."""
    hints = typing.get_type_hints(make, include_extras=True)
    fields: dict[str, Any] = {}
    numbers = set()
    for name, parameter in list(inspect.signature(make).parameters.items())[1:]:
        hint, default = hints[name], parameter.default
        if typing.get_origin(hint) is Annotated and hint.__origin__ in (int, float):
            numbers.add(name)
            ends: Any = tuple.__class_getitem__((hint, hint))
            hint = Annotated[ends, BeforeValidator(as_range), AfterValidator(ascending)]
            default = default if default is inspect.Parameter.empty else (default, default)
        fields[name] = (hint, ... if default is inspect.Parameter.empty else default)
    model = create_model(make.__name__, __base__=Params, **fields)
    SOUNDS[make.__name__] = Sound(make, model, frozenset(numbers))
    return make


def checked(name: str, params: Values, where: str, *, as_bed: bool = False) -> dict[str, Any]:
    """Validate parameters of the sound ``name``; add defaults and turn every number into a range.

    ParamsError, which begins with ``where``, if the sound or a parameter is unknown, a value is out
    of range, or the sound is for a bed (``as_bed``) but has a length of its own.
    """
    if name not in SOUNDS:
        raise ParamsError(f"{where}.sound: unknown sound {name!r}{did_you_mean(name, SOUNDS)}")
    if as_bed:
        lasting = [n for n, sound in SOUNDS.items() if "seconds" in sound.parameters.model_fields]
        if name not in lasting:
            hint = did_you_mean(name, lasting)
            raise ParamsError(f"{where}.sound: {name!r} has a length of its own{hint}")
        if "seconds" in params:
            raise ParamsError(f"{where}.params.seconds: a bed lasts as long as the scene")
        params = {**params, "seconds": 1.0}
    return dict(validated(dict(params), SOUNDS[name].parameters, f"{where}.params"))


def drawn(name: str, values: Values, rng: np.random.Generator) -> dict[str, Any]:
    """Replace each range in ``values`` by a number drawn from it."""
    result = dict(values)
    for key in sorted(SOUNDS[name].numbers & result.keys()):
        low, high = result[key]
        if isinstance(low, int) and isinstance(high, int):
            result[key] = int(rng.integers(low, high, endpoint=True))
        else:
            result[key] = float(rng.uniform(low, high))
    return result
