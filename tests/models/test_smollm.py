import torch

from aor_lib.audio.hearing.sound_tagger import SoundTags
from aor_lib.config.records import Generation, content_hash
from aor_lib.models import cascade
from aor_lib.models.smollm import Prompt, Sampled, audio_tokens, format_clip
from aor_lib.models.smollm_weights import IntegerLinear

GOLDEN = "f3225cde"
DRAWN = [955, 859, 409, 976]
NAMES = ["rain", "siren", "calm", "nothing"]
CLIP = SoundTags(((("rain", 0.5), ("siren", 0.25)), *((),) * 7), (("calm", 1.0),))


def linear(inputs=96, outputs=40):
    torch.manual_seed(0)
    return torch.nn.Linear(inputs, outputs, bias=False)


def test_what_is_read_of_the_same_clip_changes_only_with_the_version():
    embeddings = dict(zip(NAMES, torch.eye(len(NAMES)), strict=True))
    tokens = audio_tokens([CLIP], embeddings.__getitem__).tolist()
    read = [format_clip("How late is it?"), tokens]
    now = content_hash([cascade.VERSION, read])[:8]
    assert now == GOLDEN, f"raise VERSION in {cascade.__name__}, then write {now!r} here"


def test_what_is_drawn_for_a_prompt_changes_only_with_its_seed_and_what_is_read():
    draw = Sampled([Prompt("How late is it?", (CLIP,))], Generation(temperature=1.0, seed=1))
    assert [int(draw(torch.empty(0), torch.zeros(1, 1000)).argmax()) for _ in range(4)] == DRAWN


def test_an_integer_layer_gives_nearly_what_it_gives_with_floats():
    layer, rows = linear(), torch.randn(2, 5, 96)
    found, exact = IntegerLinear(layer)(rows), layer(rows)
    assert found.shape == exact.shape
    assert (found - exact).norm() < 0.03 * exact.norm()
    assert IntegerLinear(layer)(torch.zeros(3, 96)).equal(torch.zeros(3, 40))


def test_a_row_of_an_integer_layer_gets_exactly_what_it_gets_alone():
    layer, rows = IntegerLinear(linear()), torch.randn(33, 96)
    rows[0] *= 1000
    assert layer(rows).equal(torch.cat([layer(row[None]) for row in rows]))
