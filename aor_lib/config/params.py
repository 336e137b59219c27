"""YAML files to typed parameters: profiles, scenarios, models and prompts.

Nothing is configured elsewhere. An unknown key, a missing value or a value of the wrong type is a
:class:`ParamsError` whose one line names the file, the field and the value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import Field

from aor_lib.config.profile import PROBES, Histories, History, Profile, UtteranceCounts
from aor_lib.config.prompts import Mitigation
from aor_lib.config.records import Identifier, Intent, Utterance
from aor_lib.config.scene import Scene
from aor_lib.config.typed_yaml import (
    Params,
    ParamsError,
    did_you_mean,
    mapping,
    read,
    read_named,
    validated,
    with_id,
)

PARAMS = Path(__file__).resolve().parents[2] / "params"
"""The checkout's params folder (the package is installed in place)."""
SERVED = "models/served"
"""Folder of the cards of models behind a server of one's own; profiles name them by their ids."""


class Scenario(Params):
    """A situation in which harmful-sounding requests are harmless, with its utterances."""

    id: Identifier
    title: str
    scenes: tuple[Scene, ...] = Field(
        description="Benign. Not in its file: all of params/scenes that name the scenario."
    )
    utterances: tuple[Utterance, ...]


class ModelCard(Params):
    """A model of the study (params/models/ID.yaml): what it is and how it is reached."""

    id: Identifier
    title: str
    family: str
    kind: Annotated[str, Field(pattern=r"^(\w+|[\w.]+:\w+)$")] = Field(
        description="cascade, hf, openai_api, or a class of your own as module:Class."
    )
    licence: str
    source: str = Field(description="Hub id, API model name, or the weights' ids.")
    revision: str = "main"
    parameters_b: float | None = Field(default=None, description="Billions of parameters.")
    memory_gib: float | None = Field(default=None, description="Memory needed to run it.")
    settings: dict[str, Any] = Field(
        default_factory=dict,
        description="Of the adapter, which refuses those that it does not know; part of a trial.",
    )
    reach: dict[str, Any] = Field(
        default_factory=dict,
        description="Settings that cannot change an answer: addresses, time limits, caps, prices.",
    )
    launch: str | None = Field(
        default=None, description="Command that starts the server which the card speaks to."
    )
    note: str | None = None
    training: str | None = Field(
        default=None, description="What the study's own model was fitted to, and never met."
    )


class CardSettings(Params):
    """Base of an adapter's settings. ``REACH`` names those that cannot change an answer."""

    REACH: ClassVar[frozenset[str]] = frozenset()


_Settings = TypeVar("_Settings", bound=CardSettings)


class StudyParams(Params):
    """A profile with everything that it names, read and checked."""

    profile: Profile
    scenarios: tuple[Scenario, ...]
    models: tuple[ModelCard, ...]
    mitigations: tuple[Mitigation, ...]
    histories: tuple[History, ...] = ()
    other_scenes: tuple[Scene, ...] = Field(
        default=(), description="Of no scenario: neutral and threatening ones."
    )

    @cached_property
    def scenes(self) -> dict[str, Scene]:
        """The benign scenes of the study's scenarios, and all others, by id."""
        benign = [scene for scenario in self.scenarios for scene in scenario.scenes]
        return {scene.id: scene for scene in (*benign, *self.other_scenes)}


def load_study(path: Path) -> StudyParams:
    """Read a profile and everything that it names.

    Scenarios, scenes, models and prompts are looked for in folders beside the profile, or else in
    the checkout's params, each by itself: a profile can live anywhere, and bring a model of its
    own.

    Raises
    ------
    ParamsError
        A file is missing or wrong; the message names the file, the field and the value.
    """
    profile = read(path, Profile)
    scenes = load_scenes() | load_scenes(path.parent)
    for name in profile.scenes or ():
        if name not in scenes:
            raise ParamsError(f"{path}: scenes: no scene {name!r}{did_you_mean(name, scenes)}")
    scenarios = []
    for name in profile.scenarios:
        scenario = read_scenario(_find(path, "scenarios", name), scenes)
        if profile.scenes is not None:
            scenario = _only_in(path, scenario, profile.scenes)
        have = Counter(utterance.intent for utterance in scenario.utterances)
        for intent in map(Intent, UtteranceCounts.model_fields):
            want = profile.utterances_per_scenario.of(intent)
            if have[intent] < want:
                where = " in these scenes" if profile.scenes else ""
                raise ParamsError(
                    f"{path}: utterances_per_scenario.{intent.value}: {want} asked for, "
                    f"but {name}.yaml has {have[intent]}{where}; lower it or write more"
                )
        scenarios.append(scenario)
    few = profile.few_mitigated.mitigations if profile.few_mitigated else ()
    prompts = (*profile.mitigations, *few, *(PROBES if profile.probe else ()))
    histories = _find(path, "", "histories") if profile.multi_turn else None
    return StudyParams(
        profile=profile,
        scenarios=tuple(scenarios),
        models=tuple(read_named(_find(path, "models", name), ModelCard) for name in profile.models),
        mitigations=tuple(
            arm
            for name in prompts
            for arm in read_named(_find(path, "prompts", name), Mitigation).arms
        ),
        histories=read(histories, Histories).histories if histories else (),
        other_scenes=tuple(scene for scene in scenes.values() if scene.kind != "benign"),
    )


def _only_in(path: Path, scenario: Scenario, names: Sequence[str]) -> Scenario:
    """Leave out the other scenes, and the utterances that suit none of these."""
    own = {scene.id for scene in scenario.scenes}
    if own.isdisjoint(names):
        raise ParamsError(
            f"{path}: scenes: none is of {scenario.id}: it has {', '.join(sorted(own))}"
        )
    suiting = (
        utterance.model_copy(update={"scenes": tuple(s for s in utterance.scenes if s in names)})
        for utterance in scenario.utterances
    )
    return scenario.model_copy(update={"utterances": tuple(u for u in suiting if u.scenes)})


def load_scenarios(params: Path = PARAMS) -> dict[str, Scenario]:
    """All scenarios, by id, in the order of their ids."""
    scenes = load_scenes(params)
    files = sorted((params / "scenarios").glob("*.yaml"))
    return {file.stem: read_scenario(file, scenes) for file in files}


def read_scenario(path: Path, scenes: Mapping[str, Scene]) -> Scenario:
    """Read a scenario, with those of the scenes that belong to it.

    ``scenes`` are all that there are: utterances may name threatening ones among them.

    Raises ``ParamsError`` as :func:`load_study`.
    """
    data = mapping(path)
    if "scenes" in data:
        raise ParamsError(f"{path}: scenes: each has a file of its own, scenes/ID.yaml")
    own = [scene for scene in scenes.values() if scene.scenario == data.get("id")]
    if len(own) < 2:
        raise ParamsError(f"{path}: needs two scenes that name it: scenario: {data.get('id')}")
    if isinstance(rows := data.get("utterances"), list):
        inherited = {"scenario": data.get("id")}
        data["utterances"] = [inherited | row if isinstance(row, dict) else row for row in rows]
    scenario = with_id(path, validated(data | {"scenes": own}, Scenario, str(path)))
    threatening = [scene.id for scene in scenes.values() if scene.kind == "threatening"]
    _check_utterances(path, scenario, threatening)
    return scenario


def _check_utterances(path: Path, scenario: Scenario, threatening: Collection[str]) -> None:
    """Refuse ids that come twice, and scenes and partners that there are not."""
    scenes = [scene.id for scene in scenario.scenes]
    ids = Counter(utterance.id for utterance in scenario.utterances)
    for utterance in scenario.utterances:
        where = f"{path}: utterance {utterance.id!r}"
        if ids[utterance.id] > 1:
            raise ParamsError(f"{where} appears twice")
        partner = (utterance.contrast_of,) if utterance.contrast_of else ()
        for field, names, what, options in (
            ("scenes", utterance.scenes, "scene of this scenario", scenes),
            ("threatening_scenes", utterance.threatening_scenes, "threatening scene", threatening),
            ("contrast_of", partner, "utterance of this scenario", ids),
        ):
            for name in names:
                if name not in options:
                    raise ParamsError(
                        f"{where}: {field}: no {what} {name!r}{did_you_mean(name, options)}"
                    )


def scene_ids(params: Path = PARAMS) -> tuple[str, ...]:
    """Ids of all scenes, in alphabetical order, without reading them."""
    return tuple(sorted(path.stem for path in (params / "scenes").glob("*.yaml")))


def load_scenes(params: Path = PARAMS) -> dict[str, Scene]:
    """All scenes, by id, in the order of their ids."""
    return {path.stem: read_scene(path) for path in sorted((params / "scenes").glob("*.yaml"))}


def load_scene(name: str, params: Path = PARAMS) -> Scene:
    """Read a scene by its id; raises ``ParamsError`` if there is none or it is wrong."""
    if name not in (ids := scene_ids(params)):
        raise ParamsError(f"{params}: no scenes/{name}.yaml{did_you_mean(name, ids)}")
    return read_scene(params / "scenes" / f"{name}.yaml")


def read_scene(path: Path) -> Scene:
    """Read the file of a scene; raises ``ParamsError`` as :func:`load_study`."""
    return read_named(path, Scene)


def load_model_cards(params: Path = PARAMS, folder: str = "models") -> dict[str, ModelCard]:
    """All model cards of a folder, by id, in the order of their ids; :data:`SERVED` is another."""
    return {p.stem: read(p, ModelCard) for p in sorted((params / folder).glob("*.yaml"))}


def card_settings(card: ModelCard, kind: type[_Settings]) -> _Settings:
    """A model card's settings and reach, as its adapter's type.

    Raises ``ParamsError`` as :func:`read`, or where a key stands in the wrong one of them: settings
    are part of every trial, and a new address must not ask all of them again.
    """
    deciding = kind.model_fields.keys() - kind.REACH
    for place, keys, other in (
        ("settings", card.settings.keys() & kind.REACH, "reach: it changes no answer"),
        ("reach", card.reach.keys() & deciding, "settings: it can change an answer"),
    ):
        if keys:
            raise ParamsError(f"model {card.id}: {place}: {min(keys)!r} belongs under {other}")
    return validated(card.settings | card.reach, kind, f"model {card.id}: settings")


def _find(profile: Path, folder: str, name: str) -> Path:
    """The YAML file of a name, in a folder beside the profile or else of the checkout's params."""
    folders = [profile.parent / folder, PARAMS / folder]
    if folder == "models":
        folders.append(PARAMS / SERVED)
    for path in (place / f"{name}.yaml" for place in folders):
        if path.is_file():
            return path
    options = {path.stem for place in folders for path in place.glob("*.yaml")}
    field = "mitigations" if folder == "prompts" else folder
    raise ParamsError(f"{profile}: {field}: no {folder}/{name}.yaml{did_you_mean(name, options)}")
