"""A model that can be steered and is known by heart, and a study that it answered."""

import contextlib
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from aor_lib.config.records import Condition, Intent, content_hash, split_of
from aor_lib.inference.engine import Run
from aor_lib.inference.planning import plan_trials
from aor_lib.inference.store import STORE, Store
from aor_lib.judge import JUDGES
from aor_lib.judge.stored import judge_study
from aor_lib.models.base import Answer, Capabilities, Turn
from aor_lib.steering.directions import Requests
from aor_lib.steering.study import steer_study
from aor_lib.steering.trials import SteeredTrials
from aor_lib.stimuli.manifest import write_manifest
from tests.audio.sounds import quiet
from tests.conftest import ScriptedModel, make_text_stimuli
from tests.inference.conftest import STUDY as UNSTEERED

SILENT = contextlib.nullcontext(quiet)
INTENTS = {"pseudo_harmful": 90, "harmful": 60, "benign": 30}


class Steerable:
    """Refuses whatever sounds harmful, though it knows in another dimension what is.

    ``intent_of`` tells what a conversation's last turn means, by the name of its clip. The first of
    three tokens is that of the audio, if there is any; words beside a clip make it sound harmful.
    """

    WIDTH, LAYERS = 48, 4
    SOUNDS_HARMFUL, IS_HARMFUL, ASKS = 0, 1, 2
    ANSWERS = (
        "I'm sorry, but I can't help with that.",
        "Sure! First you open the box, then you stir.",
    )
    revision = "1"
    capabilities = Capabilities(activations=True)

    def __init__(self, intent_of=lambda name: name.split(".")[0]):
        card = ScriptedModel(name="steerable").card
        self.card = card.model_copy(update={"kind": f"{__name__}:Steerable"})
        self._intent_of = intent_of
        self._layers = torch.nn.ModuleList(torch.nn.Identity() for _ in range(self.LAYERS))

    def decoder_layers(self):
        return self._layers

    def logits(self, conversation):
        return self._read([conversation])[0]

    def answer(self, conversations, generation):
        chosen = self._read(conversations).argmax(dim=1)
        return [Answer(self.ANSWERS[token], 10) for token in chosen.tolist()]

    def _read(self, conversations):
        stream = torch.stack([self._embedded(conversation) for conversation in conversations])
        for layer in self._layers:
            stream = layer(stream)
        refusing = 4 * stream[:, -1, self.SOUNDS_HARMFUL] - 2
        return torch.stack([refusing, -refusing], dim=1)

    def _embedded(self, conversation):
        turn = conversation[-1]
        name = turn.audio.stem if turn.audio is not None else str(turn.text)
        intent = self._intent_of(name)
        tokens = np.random.default_rng(zlib.crc32(name.encode())).normal(0, 0.1, (3, self.WIDTH))
        tokens[:, self.SOUNDS_HARMFUL] += intent != "benign"
        tokens[:, self.SOUNDS_HARMFUL] += turn.audio is not None and turn.text is not None
        tokens[:, self.IS_HARMFUL] += intent == "harmful"
        tokens[:, self.ASKS] += 1
        return torch.from_numpy(tokens.astype(np.float32))


def clips(intent, number):
    """Conversations of one clip each, for :class:`Steerable`."""
    return [(Turn("user", audio=Path(f"{intent}.{n}.flac")),) for n in range(number)]


AWAY = np.eye(Steerable.WIDTH, dtype=np.float32)[Steerable.SOUNDS_HARMFUL]
"""Direction from what sounds harmful: to be added, it makes the model refuse."""


@pytest.fixture(scope="session")
def requests():
    """Requests of which a third are harmful and a third benign, in three layers.

    The third dimension of layer 1 tells what is harmful; the first, what is refused. Three requests
    each are of one family.
    """
    number, rng = 60, np.random.default_rng(2)
    intents = np.array(["harmful", "benign", "pseudo_harmful"] * (number // 3))
    rows = rng.normal(0, 0.1, (number, 3, 16)).astype(np.float32)
    rows[:, 1, 2] += intents == "harmful"
    rows[:, :, 0] += (intents != "benign")[:, None]
    answers = pd.DataFrame({"intent": intents, "condition": "benign_scene", "contrast_of": None})
    answers["stimulus_id"] = [f"s{n}" for n in range(number)]
    answers["utterance_id"] = [f"u{n // 3}" for n in range(number)]
    answers["label"] = np.where(intents == "benign", "full_compliance", "full_refusal")
    return Requests(answers, [()] * number, {"audio": rows})


(BLANK,) = make_text_stimuli(1)
STIMULI = [
    BLANK.model_copy(
        update={
            "stimulus_id": f"{intent}.{n}.{condition}",
            "utterance_id": f"{intent}.{n}",
            "intent": Intent(intent),
            "text": f"{intent} {n}",
            "condition": Condition(condition),
            "voice": "af_heart",
            "presented_text": None,
            "path": f"clips/{intent}.{n}.{condition}.flac",
            "sha256": content_hash([intent, n, condition]),
            "split": split_of(f"{intent}.{n}"),
        }
    )
    for intent, count in INTENTS.items()
    for n in range(count)
    for condition in ("benign_scene", "speech_only", "threatening_scene")
    if condition != "threatening_scene" or intent == "pseudo_harmful"
]
"""Clips that need not exist: each names what it means."""


STUDY = UNSTEERED.model_copy(update={"models": (Steerable().card,)})


def answer_study(build, model):
    build.mkdir(exist_ok=True)
    write_manifest(STIMULI, build)
    trials = plan_trials(STUDY, STIMULI, [model])
    with Store(build / STORE) as store:
        store.set_plan(trials)
        Run(trials, [model], STIMULI, build, store).answer(quiet)
    judge_study(build, JUDGES["speech-acts"], quiet)


def steer(build, model, study=STUDY):
    load = model if callable(model) else lambda card: model
    return steer_study(study, build, load, JUDGES["speech-acts"], lambda _: SILENT)


def trials_in(build, model):
    return SteeredTrials(model, STUDY, build, JUDGES["speech-acts"], lambda _: SILENT)


@pytest.fixture(scope="session")
def steered_build(tmp_path_factory):
    build = tmp_path_factory.mktemp("study") / "build"
    answer_study(build, Steerable())
    assert steer(build, Steerable()) == {}
    return build
