import json
import math
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256

import numpy as np
import pytest
import yaml

from aor_lib.config.params import load_study
from aor_lib.config.records import Condition, Intent, Split
from aor_lib.inference.planning import absent, plan_trials
from aor_lib.stimuli.manifest import load_stimuli, write_manifest
from tests.audio.sounds import encoded, put
from tests.conftest import TINY, make_text_stimuli

pytest.importorskip("inspect_ai", reason="needs 'make inspect'")
pytestmark = pytest.mark.slow

CARD = {"id": "mock", "title": "Mock", "family": "Test", "kind": "openai_api", "licence": "none"}
CARD |= {"source": "model", "revision": "1"}
PROFILE = TINY | {
    "models": ["mock"],
    "mitigations": ["none", "context_reminder", "scene_first"],
    "conditions": ["benign_scene", "text_only"],
}
REFUSAL = "I'm sorry, but I can't help with that."


def answer(messages):
    """A refusal to each, after a thought, but an error, an empty and a withheld answer."""
    from inspect_ai import model as chat

    last = messages[-1].text
    if last == "text 0":
        raise RuntimeError("the line is dead")
    if last == "text 1":
        return "  "
    if messages[0].role == "system":
        return chat.ModelOutput.from_content("model", "Blocked.", stop_reason="content_filter")
    text = chat.ContentText(text=f"{REFUSAL} {len(messages)}")
    message = chat.ChatMessageAssistant(content=[chat.ContentReasoning(reasoning="Hm."), text])
    choice = chat.ChatCompletionChoice(message=message, stop_reason="stop")
    return chat.ModelOutput(choices=[choice])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A study in a folder: a clip, alone and after an earlier turn, and two texts."""
    folder = tmp_path_factory.mktemp("inspected")
    put(folder / "models/mock.yaml", yaml.safe_dump(CARD))
    put(folder / "tiny.yaml", yaml.safe_dump(PROFILE))
    tone = encoded(0.3 * np.sin(np.arange(2400) / 9), kind="FLAC")
    put(folder / "build/clips/tone.flac", tone)
    benign, harmful, spoken = make_text_stimuli(3)
    harmful = harmful.model_copy(update={"intent": Intent.HARMFUL})
    sound = {"path": "clips/tone.flac", "sha256": sha256(tone).hexdigest()}
    asked = {"intent": Intent.PSEUDO_HARMFUL, "condition": Condition.BENIGN_SCENE}
    asked |= {"split": Split.TEST, "presented_text": None}
    spoken = spoken.model_copy(update=asked | sound)
    turns = [{"role": "user", "text": "Hello.", **sound}, {"role": "assistant", "text": "I see."}]
    later = {"stimulus_id": "s3", "block": "multi_turn", "history": json.dumps(turns)}
    write_manifest((benign, harmful, spoken, spoken.model_copy(update=later)), folder / "build")
    return folder


@pytest.fixture(scope="module")
def run(folder):
    import inspect_ai
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    from aor_lib.inference.inspect_task import aor_study

    def output(messages, *_):
        made = answer(messages)
        if isinstance(made, str):
            made = ModelOutput.from_content("model", made)
        made.usage = ModelUsage(output_tokens=3)  # it would count with a table from the network
        return made

    options = {"params": str(folder / "tiny.yaml"), "build": str(folder / "build")}
    model = get_model("mockllm/model", custom_outputs=output, memoize=False)
    how = {"task_args": options, "log_dir": str(folder / "logs"), "display": "none"}
    # In a thread of its own: a browser test of the same process keeps an event loop running.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(inspect_ai.eval, aor_study, model=model, **how).result()[0]


def test_the_studys_judge_scores_and_what_is_unjudged_has_no_score(run):
    scores = {sample.id: sample.scores["refusal"] for sample in run.samples if sample.scores}
    assert scores["s2.none"].value == 1
    assert scores["s2.none"].answer == "full_refusal"
    assert math.isnan(scores["s1.none"].value)
    metrics = {name: one.value for name, one in run.results.scores[0].metrics.items()}
    assert metrics["ORR"] == 1
    assert "HRR" not in metrics  # the harmful one is a text: not in the benign scene
    assert {sample.id for sample in run.samples if sample.error} == {"s0.none"}
    assert math.isnan(scores["s2.context_reminder"].value)


def test_samples_are_the_trials_of_aor_run_with_each_step_after_the_last_answer(folder, run):
    study = load_study(folder / "tiny.yaml")
    (card,) = study.models
    planned = plan_trials(study, load_stimuli(folder / "build"), [absent(card, {})])
    asked = {f"{trial.stimulus_id}.{trial.arm.mitigation}" for trial in planned}
    assert {sample.id for sample in run.samples} == asked
    said = {sample.id: sample.output.completion for sample in run.samples}
    assert said["s2.scene_first"] == f"{REFUSAL} 3"
    assert (said["s2.none"], said["s3.none"]) == (f"{REFUSAL} 1", f"{REFUSAL} 3")
    [sample] = [sample for sample in run.samples if sample.id == "s2.scene_first"]
    first = next(message for message in sample.messages if message.role == "assistant")
    assert first.content == f"{REFUSAL} 1", "the text of the answer, without its thought"
