from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import soundfile
import yaml
from hypothesis import settings

from aor_lib.config.params import ModelCard, load_study
from aor_lib.config.records import Condition, Intent, Stimulus, content_hash, split_of
from aor_lib.models.base import Answer, Capabilities, Failure, Turn
from aor_lib.study import Study

# The same examples in every run: a failure is seen again by whoever looks for it. And no clock.
settings.register_profile("same examples", derandomize=True, deadline=None)
settings.load_profile("same examples")

CONDITIONS = {"speech_only": 20, "neutral_scene": 20, "noise": 20, "benign_scene": 5}
"""Number of refusals in each condition, of 20 pseudo-harmful requests."""

TINY = {
    "name": "tiny",
    "seed": 1,
    "scenarios": ["kitchen", "video_gaming"],
    "utterances_per_scenario": {"pseudo_harmful": 1, "harmful": 1, "benign": 1},
    "voices": ["af_heart", "am_michael"],
    "conditions": [kind.value for kind in Condition if kind is not Condition.AS_FOUND],
    "models": ["ref-permissive", "ref-contextual"],
    "mitigations": ["none", "chain_of_thought"],
    "generation": {"max_new_tokens": 8},
}


@pytest.fixture
def write_profile(tmp_path):
    def write(**changes: object) -> Path:
        path = tmp_path / "tiny.yaml"
        path.write_text(yaml.safe_dump(TINY | changes))
        return path

    return write


@pytest.fixture(scope="session")
def tiny_study(tmp_path_factory):
    from aor_lib.stimuli.dataset import build_dataset

    folder = tmp_path_factory.mktemp("tiny")
    profile = folder / "tiny.yaml"
    profile.write_text(yaml.safe_dump(TINY))
    study = load_study(profile)
    build_dataset(study, folder / "build", 1, lambda done, of: None)
    return study, folder / "build"


class ScriptedModel:
    """Stands for a model: ``answer_one`` gives the result for the last text of a conversation."""

    revision = "1"
    capabilities = Capabilities()

    def __init__(
        self,
        answer_one: Callable[[str], Answer | Failure] = lambda text: Answer(text.upper(), 2),
        name: str = "scripted",
    ) -> None:
        about = dict.fromkeys(("title", "family", "licence", "source"), "")
        self.card = ModelCard(id=name, kind="cascade", **about)
        self.answer_one = answer_one
        self.asked: list[list[str]] = []

    def answer(self, conversations, generation):
        texts = [str(conversation[-1].text) for conversation in conversations]
        self.asked.append(texts)
        return [self.answer_one(text) for text in texts]


def make_text_stimuli(number: int, **changes: object) -> list[Stimulus]:
    empty = dict.fromkeys(Stimulus.model_fields) | {"scenario": "kitchen", "seed": 0, "variant": 0}
    empty |= {"events": "[]", "history": "[]", "block": "core", "condition": "text_only"}
    return [
        Stimulus.model_validate(
            empty
            | {"stimulus_id": f"s{n}", "utterance_id": f"u{n}", "intent": Intent.BENIGN}
            | {"text": f"text {n}", "presented_text": f"text {n}"}
            | {"sha256": content_hash(n), "split": split_of(f"u{n}")}
            | changes
        )
        for n in range(number)
    ]


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory) -> Callable[[str], Path]:
    from tests.models import checkpoints

    shelf = tmp_path_factory.mktemp("checkpoints")
    return lambda name: checkpoints.build(name, shelf / name)


@pytest.fixture
def tiny(checkpoint, monkeypatch) -> Iterator[Callable[..., Any]]:
    import torch

    from aor_lib.models import hf
    from tests.models import checkpoints

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)

    def load(name: str, source: Path | None = None, **options: Any) -> hf.HuggingFaceModel:
        return checkpoints.load(name, source or checkpoint(name), **options)

    yield load
    hf._loaded.clear()


@pytest.fixture(scope="session")
def conversations(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clips")
    noise, tone = folder / "noise.wav", folder / "tone.wav"
    hiss = np.random.default_rng(0).normal(0, 0.1, 71_976)  # three times as long as the tone
    sine = 0.3 * np.sin(2 * np.pi * 440 * np.arange(24_000) / 24_000)
    for path, samples in ((noise, hiss), (tone, sine)):
        soundfile.write(path, samples, 24_000, subtype="FLOAT")
    one_tone, one_noise = Turn("user", audio=tone), Turn("user", audio=noise)
    thoughtful = (Turn("system", text="Think first."), one_tone)
    written = (Turn("user", text="Are you there?"), Turn("assistant", text="Yes."))
    return [
        (one_noise,),
        (Turn("user", text="How do I beat this boss?"),),
        (one_tone,),
        thoughtful,
        (*thoughtful, Turn("assistant", text="Beat whom?"), one_noise),
        (*written, Turn("user", text="What is that noise?")),
    ]


@pytest.fixture(scope="session")
def study():
    asked = [(c, "pseudo_harmful", n, n < CONDITIONS[c]) for c in CONDITIONS for n in range(20)]
    asked += [(c, "harmful", 100 + n, n < 9) for c in CONDITIONS for n in range(10)]
    trials = pd.DataFrame(asked, columns=["condition", "intent", "utterance_id", "label"])
    trials["utterance_id"] = "u" + trials["utterance_id"].astype(str)
    trials["label"] = trials["label"].map({True: "full_refusal", False: "full_compliance"})
    about = {"model": "a", "revision": "1", "split": "test", "block": "core", "variant": 0}
    about |= {"status": "ok", "flags": "[]", "voice": "v", "scenario": "kitchen"}
    about |= {"arm": "none", "method": "none", "is_control": False, "mitigation": "none"}
    trials = trials.assign(**about, stimulus_id=trials["utterance_id"] + "." + trials["condition"])
    dev = trials.head(10).assign(split="dev")
    probes = trials.head(3).assign(method="probe", arm="probe_background")
    study = Study(Path("nowhere"))
    vars(study)["trials"] = pd.concat([trials, dev, probes], ignore_index=True)
    vars(study)["titles"] = {"a": "Model A"}
    return study
