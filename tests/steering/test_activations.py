import numpy as np

from aor_lib.steering.activations import hooked, record, width
from tests.models import checkpoints


def test_the_output_of_every_layer_for_the_last_token_is_recorded(tiny, conversations, tmp_path):
    model, asked, streams = tiny("qwen2_audio"), conversations[1:3], []
    with hooked(model.decoder_layers(), {1: streams.append}):
        logits = [model.logits(conversation) for conversation in asked]
    recorded = record(model, asked)
    assert recorded.activations.shape == (2, 2, checkpoints.WIDTH)
    last = [stream[0, -1] for stream in streams]
    np.testing.assert_allclose(recorded.activations[:, 1], last)
    np.testing.assert_array_equal(recorded.logits, np.stack(logits))
    assert width(model) == checkpoints.WIDTH
    assert not model.decoder_layers()[1]._forward_hooks
    on_disk = record(model, asked, folder=tmp_path)
    np.testing.assert_array_equal(on_disk.activations, recorded.activations)


def test_recorded_activations_are_the_models_own_hidden_states(tiny, conversations):
    model = tiny("qwen2_audio")
    network, _ = model.load()
    outputs = []

    def ask_for_states(_, args, kwargs):
        return args, kwargs | {"output_hidden_states": True}

    network.register_forward_pre_hook(ask_for_states, with_kwargs=True)
    network.register_forward_hook(lambda _, args, output: outputs.append(output))
    recorded = record(model, conversations[1:2])
    # The first are the embeddings; the last have gone through the final norm.
    own = outputs[0].hidden_states[1][0, -1]
    np.testing.assert_allclose(recorded.activations[0, 0], own, atol=1e-6)
