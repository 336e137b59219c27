import numpy as np

from aor_lib.steering.activations import record
from tests.models import checkpoints


def test_recorded_activations_are_the_models_own_hidden_states(tiny, conversations):
    model, asked = tiny("qwen2_audio"), conversations[1:3]
    network, _ = model.load()
    outputs = []

    def ask_for_states(_, args, kwargs):
        return args, kwargs | {"output_hidden_states": True}

    network.register_forward_pre_hook(ask_for_states, with_kwargs=True)
    network.register_forward_hook(lambda _, args, output: outputs.append(output))
    last_token = record(model, asked)
    assert last_token.shape == (2, 2, checkpoints.WIDTH)
    # The first are the embeddings; the last have gone through the final norm.
    own = [output.hidden_states[1][0, -1] for output in outputs[:2]]
    np.testing.assert_allclose(last_token[:, 0], np.stack(own), atol=1e-6)
