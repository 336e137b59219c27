"""Read profiles, scenarios, models and prompts from YAML files as typed parameters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import Field

from aor_lib.config.profile import PROBES, Histories, History, Mitigation, Profile
from aor_lib.config.records import Identifier, Utterance
from aor_lib.config.scene import Scene
from aor_lib.config.typed_yaml import Params, ParamsError, did_you_mean, read, read_named, validated

PARAMS = Path(__file__).resolve().parents[2] / "params"  # the package is installed in place
SERVED = "models/served"  # cards of models on a self-hosted server


class Scenario(Params):
    """A situation in which harmful-sounding requests are harmless, with its utterances."""

    id: Identifier
    title: str
    scenes: tuple[Scene, ...] = ()  # benign; set by code, as each scene names its scenario
    utterances: tuple[Utterance, ...]


class ModelCard(Params):
    """Model card (``params/models/ID.yaml``): what a model is and how it is reached.

    ``settings`` configure the backend and are part of each trial's identity. ``reach`` holds what
    does not influence answers: addresses, time limits, spending caps and prices.

    Examples
    --------
    >>> about = {"title": "Mine", "family": "Qwen", "licence": "Apache-2.0", "source": "me/mine"}
    >>> ModelCard(id="mine", kind="hf", settings={"architecture": "qwen2_audio"}, **about).revision
    'main'
    """

    id: Identifier
    title: str
    family: str
    kind: Annotated[str, Field(pattern=r"^(\w+|[\w.]+:\w+)$")]  # an adapter, or module:Class
    licence: str  # of the weights
    source: str  # a Hub id, an API's name of the model, or ids of weights
    revision: str = "main"  # a commit, branch or tag
    parameters_b: float | None = None  # billions
    memory_gib: float | None = None
    settings: dict[str, Any] = Field(default={})
    reach: dict[str, Any] = Field(default={})
    launch: str | None = None  # command that starts the model's server
    note: str | None = None
    training: str | None = None  # what a reference model was trained on


class CardSettings(Params):
    """Base class of adapter settings; ``REACH`` names the fields that cannot change an answer."""

    REACH: ClassVar[frozenset[str]] = frozenset()


_Settings = TypeVar("_Settings", bound=CardSettings)


class StudyParams(Params):
    """A profile and everything that it names, read and validated."""

    profile: Profile
    scenarios: tuple[Scenario, ...]
    models: tuple[ModelCard, ...]
    mitigations: tuple[Mitigation, ...]
    histories: tuple[History, ...] = ()
    other_scenes: tuple[Scene, ...] = ()  # neutral and threatening

    @cached_property
    def scenes(self) -> dict[str, Scene]:
        """Benign scenes of the study's scenarios, and all neutral and threatening scenes, by id."""
        benign = [scene for scenario in self.scenarios for scene in scenario.scenes]
        return {scene.id: scene for scene in (*benign, *self.other_scenes)}


def load_study(path: Path) -> StudyParams:
    """Read a profile and the files that it names, from its own folder or else from ``params``."""
    profile = read(path, Profile)
    scenes = load_scenes() | load_scenes(path.parent)
    _check_names(f"{path}: scenes", profile.scenes or (), scenes)
    few = profile.few_mitigated.mitigations if profile.few_mitigated else ()
    prompts = (*profile.mitigations, *few, *(PROBES if profile.probe else ()))
    earlier: tuple[History, ...] = ()
    if profile.multi_turn:
        earlier = read(file := _find(path, "", "histories"), Histories).histories
        _refuse_repeated(f"{file}: history", (history.id for history in earlier))
    scenarios = tuple(_scenario_of(path, profile, name, scenes) for name in profile.scenarios)
    utterances = chain.from_iterable(scenario.utterances for scenario in scenarios)
    where = f"{path}: scenarios {', '.join(profile.scenarios)}: utterance"
    _refuse_repeated(where, (utterance.id for utterance in utterances))
    read_prompts = [read_named(_find(path, "prompts", name), Mitigation) for name in prompts]
    return StudyParams(
        profile=profile,
        scenarios=scenarios,
        models=tuple(read_named(_find(path, "models", name), ModelCard) for name in profile.models),
        mitigations=tuple(arm for prompt in read_prompts for arm in prompt.arms),
        histories=earlier,
        other_scenes=tuple(scene for scene in scenes.values() if scene.kind != "benign"),
    )


def _scenario_of(path: Path, profile: Profile, name: str, scenes: Mapping[str, Scene]) -> Scenario:
    # The scenario with the utterances that fit the profile's scenes; there must be enough.
    scenario = _read_scenario(_find(path, "scenarios", name), scenes)
    if (wanted := profile.scenes) is not None:
        suited = []
        for utterance in scenario.utterances:
            if own := tuple(scene for scene in utterance.scenes if scene in wanted):
                suited.append(utterance.model_copy(update={"scenes": own}))
        scenario = scenario.model_copy(update={"utterances": tuple(suited)})
    have = Counter(utterance.intent for utterance in scenario.utterances)
    for intent, want in profile.utterances_per_scenario.items():
        if have[intent] < want:
            where = " in the profile's scenes" if wanted else ""
            raise ParamsError(
                f"{path}: utterances_per_scenario.{intent.value}: {want} asked for, "
                f"but {name}.yaml has {have[intent]}{where}; lower it or write more"
            )
    return scenario


def load_scenarios(params: Path = PARAMS) -> dict[str, Scenario]:
    """All scenarios, by id, in alphabetical order."""
    scenes = load_scenes(params)
    files = sorted((params / "scenarios").glob("*.yaml"))
    return {file.stem: _read_scenario(file, scenes) for file in files}


def load_prompts(params: Path = PARAMS) -> list[Mitigation]:
    """All mitigations of ``params/prompts``, in alphabetical order."""
    return [read_named(path, Mitigation) for path in sorted((params / "prompts").glob("*.yaml"))]


def _read_scenario(path: Path, scenes: Mapping[str, Scene]) -> Scenario:
    scenario = read_named(path, Scenario)
    own = tuple(scene for scene in scenes.values() if scene.scenario == scenario.id)
    if scenario.scenes or len(own) < 2:
        raise ParamsError(
            f"{path}: scenes: needs two files scenes/ID.yaml with 'scenario: {scenario.id}'"
        )
    benign = [scene.id for scene in own]
    threatening = [scene.id for scene in scenes.values() if scene.kind == "threatening"]
    ids = [utterance.id for utterance in scenario.utterances]
    _refuse_repeated(f"{path}: utterance", ids)
    for utterance in scenario.utterances:
        where = f"{path}: utterance {utterance.id!r}"
        _check_names(f"{where}: scenes", utterance.scenes, benign)
        _check_names(f"{where}: threatening_scenes", utterance.threatening_scenes, threatening)
        _check_names(f"{where}: contrast_of", filter(None, [utterance.contrast_of]), ids)
    utterances = [u.model_copy(update={"scenario": scenario.id}) for u in scenario.utterances]
    return scenario.model_copy(update={"scenes": own, "utterances": tuple(utterances)})


def _refuse_repeated(where: str, ids: Iterable[str]) -> None:
    for name, times in Counter(ids).items():
        if times > 1:
            raise ParamsError(f"{where} {name!r} appears twice")


def _check_names(where: str, names: Iterable[str], options: Collection[str]) -> None:
    for name in names:
        if name not in options:
            raise ParamsError(f"{where}: there is no {name!r}{did_you_mean(name, options)}")


def scene_ids(params: Path = PARAMS) -> tuple[str, ...]:
    """Ids of all scenes, in alphabetical order, without reading their files."""
    return tuple(sorted(path.stem for path in (params / "scenes").glob("*.yaml")))


def load_scenes(params: Path = PARAMS) -> dict[str, Scene]:
    """All scenes, by id, in alphabetical order."""
    return {name: load_scene(name, params) for name in scene_ids(params)}


def load_scene(name: str | Path, params: Path = PARAMS) -> Scene:
    """Read a scene by its id, or by the path of its YAML file."""
    path = Path(name)
    if path.suffix not in (".yaml", ".yml"):
        _check_names(f"{params}/scenes", [str(name)], scene_ids(params))
        path = params / "scenes" / f"{name}.yaml"
    return read_named(path, Scene)


def load_model_cards(params: Path = PARAMS, folder: str = "models") -> dict[str, ModelCard]:
    """All model cards in a folder (``models`` or :data:`SERVED`), by id, in alphabetical order."""
    return {p.stem: read(p, ModelCard) for p in sorted((params / folder).glob("*.yaml"))}


def card_settings(card: ModelCard, kind: type[_Settings]) -> _Settings:
    """Validate a card's settings and reach as its adapter's type; ``ParamsError`` if invalid."""
    deciding = kind.model_fields.keys() - kind.REACH
    for place, keys, other in (
        ("settings", card.settings.keys() & kind.REACH, "reach: it changes no answer"),
        ("reach", card.reach.keys() & deciding, "settings: it can change an answer"),
    ):
        if keys:
            raise ParamsError(f"model {card.id}: {place}: {min(keys)!r} belongs under {other}")
    return validated(card.settings | card.reach, kind, f"model {card.id}: settings")


def _find(profile: Path, folder: str, name: str) -> Path:
    folders = [profile.parent / folder, PARAMS / folder]
    if folder == "models":
        folders.append(PARAMS / SERVED)
    for path in (place / f"{name}.yaml" for place in folders):
        if path.is_file():
            return path
    options = {path.stem for place in folders for path in place.glob("*.yaml")}
    field = "mitigations" if folder == "prompts" else folder
    raise ParamsError(f"{profile}: {field}: no {folder}/{name}.yaml{did_you_mean(name, options)}")
