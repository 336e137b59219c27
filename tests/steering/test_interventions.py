"""Activations and interventions on tiny random checkpoints of every architecture."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import torch

from aor_lib.config.records import Generation
from aor_lib.models.base import Turn
from aor_lib.steering.residual_stream import Gate, Intervention, hooked, record, steered
from tests.models import checkpoints
from tests.steering.conftest import AWAY, Steerable

GENERATION = Generation(max_new_tokens=6)
DIRECTION = np.linspace(-1, 1, checkpoints.WIDTH, dtype=np.float32)
ADDITION = Intervention(0, DIRECTION, 1.5)
ABLATION = Intervention(0, DIRECTION)


def test_recorded_activations_are_the_models_own_hidden_states(tiny, conversations):
    model, asked = tiny("qwen2_audio"), conversations[1:3]
    network, _ = model.load()
    outputs = []
    network.register_forward_pre_hook(
        lambda _, args, kwargs: (args, kwargs | {"output_hidden_states": True}), with_kwargs=True
    )
    network.register_forward_hook(lambda _, args, output: outputs.append(output))
    last_token = record(model, asked)
    assert last_token.shape == (2, 2, checkpoints.WIDTH)
    # The first are the embeddings; the last have gone through the final norm.
    own = [output.hidden_states[1][0, -1] for output in outputs[:2]]
    np.testing.assert_allclose(last_token[:, 0], np.stack(own), atol=1e-6)


@pytest.mark.slow
@checkpoints.each_architecture()
def test_an_addition_reaches_the_next_layer_and_is_gone_afterwards(name, tiny, conversations):
    model, asked = tiny(name), conversations[0]
    entered = []
    model.decoder_layers()[1].register_forward_pre_hook(lambda _, args: entered.append(args[0]))
    before = model.logits(asked)
    with steered(model, ADDITION):
        after = model.logits(asked)
    assert torch.equal(model.logits(asked), before)
    assert float((after - before).abs().max()) > 0.01
    plain, changed = entered[:2]
    if name == "gemma3n":  # of whose streams the first is the residual one
        plain, changed = plain[0], changed[0]
    change = torch.from_numpy(ADDITION.coefficient * ADDITION.direction)
    torch.testing.assert_close(changed, plain + change)


@pytest.mark.slow
@checkpoints.each_architecture()
def test_a_batch_of_prompts_of_unlike_length_is_steered_as_each_alone(name, tiny, conversations):
    written = [conversations[1], conversations[5]]
    model = tiny(name)
    plain = [model.answer([one], GENERATION)[0] for one in written]
    threshold = sum(_scores(model, written)) / 2
    gated = Intervention(1, DIRECTION, 4.0, Gate(0, DIRECTION, 0.0, threshold))
    interventions = [ADDITION, ABLATION, gated]
    single = []
    for intervention in interventions:
        with steered(model, intervention):
            single.append([model.answer([one], GENERATION)[0] for one in written])
    assert any(answers != plain for answers in single)
    together = tiny(name, batch_size=8)
    for intervention, answers in zip(interventions, single, strict=True):
        with steered(together, intervention):
            assert together.answer(written, GENERATION) == answers


@pytest.mark.slow
@checkpoints.each_architecture()
def test_ablation_leaves_no_component_in_any_layer(name, tiny, conversations):
    model = tiny(name)
    unit = torch.nn.functional.normalize(torch.from_numpy(DIRECTION), dim=0)
    for layer in (0, 1):
        streams, layers = [], model.decoder_layers()
        with steered(model, ABLATION), hooked(layers, {layer: streams.append}):
            model.answer(conversations[:1], GENERATION)
        # The prompt, and every token of the answer but the last, which nothing follows.
        assert [stream.shape[1] for stream in streams[1:]] == [1] * (GENERATION.max_new_tokens - 1)
        assert max(float((stream @ unit).abs().max()) for stream in streams) < 1e-4


@pytest.mark.slow
def test_a_gate_decides_by_the_prompt_and_holds_while_the_answer_is_written(tiny, conversations):
    model = tiny("qwen2_audio", batch_size=8)
    written = [conversations[1], conversations[5]]
    plain = model.answer(written, GENERATION)
    with steered(model, then := Intervention(1, DIRECTION, 4.0)):
        changed = model.answer(written, GENERATION)
    for layer in (0, 1):
        scores = _scores(model, written, layer)
        assert scores[0] != scores[1]
        for threshold in (min(scores) - 1, sum(scores) / 2, max(scores) + 1):
            gate = Gate(layer, DIRECTION, 0.0, threshold)
            with steered(model, replace(then, gate=gate)):
                answers = model.answer(written, GENERATION)
            assert answers == [
                changed[row] if score > threshold else plain[row]
                for row, score in enumerate(scores)
            ]


def test_a_model_is_restored_where_a_question_fails_and_no_other_thread_is_steered():
    model, question = Steerable(lambda name: "harmful"), (Turn("user", text="a"),)
    before = model.logits(question)
    with steered(model, Intervention(0, AWAY, -1.0)), ThreadPoolExecutor(1) as thread:
        assert model.logits(question).argmax() != before.argmax()
        assert torch.equal(thread.submit(model.logits, question).result(), before)
    with pytest.raises(AttributeError), steered(model, Intervention(0, AWAY, -1.0)):
        model.logits((Turn("user"), "not a turn"))
    assert torch.equal(model.logits(question), before)


def _scores(model, asked, layer=0):
    return (record(model, asked)[:, layer] @ DIRECTION).tolist()
