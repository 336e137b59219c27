"""A background scene as data: a continuous bed, events on top of it, and a room.

Levels are in dB relative to each other. Many numbers may be given as a range ``[low, high]``, from
which they are drawn. :mod:`aor_lib.audio.scenes` has the sounds and checks their parameters.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from aor_lib.config.records import Identifier, SceneKind
from aor_lib.config.typed_yaml import Params


def as_range(value: Any) -> Any:
    """Turn a number into a range of that number alone; return anything else unchanged."""
    return (value, value) if isinstance(value, int | float) else value


def ascending(value: tuple[float, float]) -> tuple[float, float]:
    """Return a range unchanged; ValueError if its ends are not in ascending order."""
    if value[0] > value[1]:
        raise ValueError(f"the lower number must come first, not [{value[0]:g}, {value[1]:g}]")
    return value


_T = TypeVar("_T")
_Ordered = Annotated[_T, BeforeValidator(as_range), AfterValidator(ascending)]
Range: TypeAlias = _Ordered[tuple[float, float]]
Delay: TypeAlias = _Ordered[tuple[Annotated[float, Field(ge=0)], float]]
Span: TypeAlias = _Ordered[tuple[Annotated[float, Field(ge=0.02)], Annotated[float, Field(le=60)]]]
Count: TypeAlias = _Ordered[tuple[Annotated[int, Field(ge=1)], Annotated[int, Field(le=50)]]]
Tempo: TypeAlias = _Ordered[tuple[Annotated[float, Field(ge=30)], Annotated[float, Field(le=300)]]]
Share: TypeAlias = Annotated[float, Field(ge=0, le=1)]


class Swell(Params):
    """A slow, random rise and fall of a layer's level."""

    depth: Annotated[float, Field(gt=0, le=2)]
    rate_hz: Annotated[float, Field(gt=0, le=50)]


class Layer(Params):
    """A sound of the bed, which lasts as long as the scene; ``level_db`` is its RMS level."""

    label: str | None = None  # AudioSet display name, such as "Crowd"
    sound: str
    params: dict[str, Any] = Field(default={})
    level_db: Range
    swell: Swell | None = None


class Part(Params):
    """A sound with its parameters: ``params`` are drawn once per scene, ``each`` at every use."""

    sound: str
    params: dict[str, Any] = Field(default={})
    each: dict[str, Any] = Field(default={})
    at_s: Delay = (0.0, 0.0)  # delay within the event
    level_db: Range = (0.0, 0.0)  # peak, relative to other parts


class Occurrence(Params):
    """Content of an event: one sound, or several parts. ``level_db`` is its peak level."""

    name: Annotated[str, Field(min_length=2, max_length=40)]  # in the manifest
    label: str | None = None  # AudioSet display name, such as "Knock"
    level_db: Range
    sound: str | None = None
    params: dict[str, Any] = Field(default={})
    each: dict[str, Any] = Field(default={})
    parts: tuple[Part, ...] = ()
    chance: Share = 1.0

    @property
    def all_parts(self) -> tuple[Part, ...]:
        """The parts, or a single part if a sound is named directly."""
        if self.sound is None:
            return self.parts
        return (Part(sound=self.sound, params=self.params, each=self.each),)


class Follower(Occurrence):
    """A sound that follows an event, such as the cartridge case ejected by a shot."""

    after_s: Range  # relative to the event's onset; negative if the sound precedes it


class Burst(Params):
    """Several repetitions in a row each time an event is due."""

    count: Count
    gap_s: Span  # from onset to onset; drawn for each burst


class SceneEvent(Occurrence):
    """A recurring sound; exactly one of the first four keys sets its timing."""

    gap_s: Span | None = None  # irregular: 0.5 to 1.5 times a gap drawn from this
    period_s: Span | None = None  # regular, apart from the jitter
    pause_s: Span | None = None  # from the end of one occurrence to the onset of the next
    beats: tuple[Annotated[float, Field(ge=0, lt=4)], ...] = ()  # in a bar of four beats, from 0
    jitter: Annotated[float, Field(ge=0, lt=0.5)] = 0.05  # as a fraction of the period
    burst: Burst | None = None
    then: tuple[Follower, ...] = ()


class Room(Params):
    """Reverberation of the whole scene."""

    t60_s: Annotated[float, Field(gt=0, le=10)]  # decay by 60 dB
    wet_db: Annotated[float, Field(ge=-60, le=6)]  # reverberation relative to the direct sound
    damping_hz: Annotated[float, Field(ge=200, le=20_000)]  # the room absorbs higher frequencies


class Scene(Params):
    """A background in which utterances are heard (params/scenes/ID.yaml)."""

    id: Identifier
    kind: SceneKind
    scenario: Identifier | None = None  # of a benign scene, which makes its requests harmless
    unseen: bool = False  # no reference model is trained on this scene
    description: Annotated[str, Field(min_length=3)]  # completes 'In the background one hears …'
    tempo_bpm: Tempo | None = None
    bed: tuple[Layer, ...] = Field(min_length=1)
    events: tuple[SceneEvent, ...] = ()
    room: Room | None = None

    @property
    def sounds(self) -> list[tuple[str, Layer | Occurrence]]:
        """Sounds by name: ``bed.0`` for the first layer of the bed, otherwise the event's name."""
        beds = [(f"bed.{number}", layer) for number, layer in enumerate(self.bed)]
        occurrences = [part for event in self.events for part in (event, *event.then)]
        return [*beds, *((event.name, event) for event in occurrences)]

    @model_validator(mode="after")
    def _fits_together(self) -> Scene:
        if (self.kind == "benign") != (self.scenario is not None):
            raise ValueError("scenario: benign scenes must name one, and other scenes must not")
        for event in self.events:
            when = [event.gap_s, event.period_s, event.pause_s, event.beats]
            if sum(map(bool, when)) != 1:
                raise ValueError(f"{event.name!r} needs one of gap_s, period_s, pause_s and beats")
            if event.pause_s and event.chance < 1:
                raise ValueError(f"{event.name!r} has pause_s, so its chance must be 1")
            if event.beats and self.tempo_bpm is None:
                raise ValueError(f"{event.name!r} has beats, but the scene has no tempo_bpm")
            for occurrence in (event, *event.then):
                if (occurrence.sound is None) == (not occurrence.parts):
                    raise ValueError(f"{occurrence.name!r} needs either a sound or parts")
        return self
