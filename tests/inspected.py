"""A small study that inspect_ai asks, and a model made up of a function.

The study has a clip, alone and after an earlier turn, and two texts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
import yaml

from aor_lib.config.params import StudyParams, load_study
from aor_lib.config.records import Condition, Intent, Split
from aor_lib.stimuli.manifest import write_manifest
from tests.conftest import TINY, make_text_stimuli

CARD = {"id": "mock", "title": "Mock", "family": "Test", "kind": "openai_api", "licence": "none"}
CARD |= {"source": "model", "revision": "1"}
PROFILE = TINY | {
    "models": ["mock"],
    "mitigations": ["none", "context_reminder", "scene_first"],
    "conditions": ["benign_scene", "text_only"],
}


class Inspected:
    """A study's folder, and what it takes to have a model asked through inspect_ai."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.profile, self.build = folder, folder / "tiny.yaml", folder / "build"

    @property
    def study(self) -> StudyParams:
        return load_study(self.profile)

    def eval(self, model: Any, *, log_images: bool = True, **options: str) -> Any:
        """The log of a run of the task, with these of its options."""
        import inspect_ai

        from aor_lib.inference.inspect_task import aor_study

        where = {"params": str(self.profile), "build": str(self.build)}
        # In a thread of its own: a browser test of the same process keeps an event loop running.
        with ThreadPoolExecutor(1) as thread:
            logs = thread.submit(
                inspect_ai.eval,
                aor_study,
                task_args=where | options,
                model=model,
                log_dir=str(self.folder / "logs"),
                log_images=log_images,
                display="none",
            )
            return logs.result()[0]


def write_study(folder: Path, card: dict[str, Any] | None = None, **profile: Any) -> Inspected:
    """Write the profile, the card, the manifest and the clip of a study."""
    made = Inspected(folder)
    (folder / "models").mkdir(parents=True)
    (folder / "models/mock.yaml").write_text(yaml.safe_dump(CARD | (card or {})))
    made.profile.write_text(yaml.safe_dump(PROFILE | profile))
    (made.build / "clips").mkdir(parents=True)
    clip = made.build / "clips/tone.flac"
    soundfile.write(clip, 0.3 * np.sin(np.arange(2400) / 9), 24_000)
    benign, harmful, spoken = make_text_stimuli(3)
    harmful = harmful.model_copy(update={"intent": Intent.HARMFUL})
    spoken = spoken.model_copy(
        update={
            "intent": Intent.PSEUDO_HARMFUL,
            "condition": Condition.BENIGN_SCENE,
            "split": Split.TEST,
            "presented_text": None,
            "path": "clips/tone.flac",
            "sha256": hashlib.sha256(clip.read_bytes()).hexdigest(),
        }
    )
    clips = {"path": spoken.path, "sha256": spoken.sha256}
    turns = [{"role": "user", "text": "Hello.", **clips}, {"role": "assistant", "text": "I see."}]
    later = {"stimulus_id": "s3", "block": "multi_turn", "history": json.dumps(turns)}
    write_manifest((benign, harmful, spoken, spoken.model_copy(update=later)), made.build)
    return made


def mock_model(answer: Callable[[list[Any]], Any]) -> Any:
    """inspect_ai's mock model; ``answer`` gives a text or an output for the messages so far."""
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    def output(messages: list[Any], *_: Any) -> Any:
        made = answer(messages)
        if isinstance(made, str):
            made = ModelOutput.from_content("model", made)
        made.usage = ModelUsage(output_tokens=3)  # it would count with a table from the network
        return made

    return get_model("mockllm/model", custom_outputs=output, memoize=False)
