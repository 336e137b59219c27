"""The prompt of a reference model for a clip."""

import torch

from aor_lib.audio.hearing.ear import Heard
from aor_lib.config.records import content_hash
from aor_lib.models import cascade_prompt as prompt
from aor_lib.models.cascade_prompt import AUDIO_TOKENS, audio_tokens, format_clip

GOLDEN = "f3225cde"
NAMES = ["rain", "siren", "calm", "nothing"]
EYE = torch.eye(len(NAMES))
CLIP = Heard(((("rain", 0.5), ("siren", 0.25)), *((),) * 7), (("calm", 1.0),))


def embedding(name):
    return EYE[NAMES.index(name)]


def test_what_is_read_of_the_same_clip_changes_only_with_the_version():
    read = [format_clip("How late is it?"), audio_tokens([CLIP], embedding).tolist()]
    now = content_hash([prompt.VERSION, read])[:8]
    assert now == GOLDEN, f"raise VERSION in {prompt.__name__}, then write {now!r} here"


def test_an_audio_token_is_the_sum_of_what_is_heard_in_its_segment_and_the_last_is_the_mood():
    tokens = audio_tokens([CLIP], embedding)
    assert tokens.shape == (AUDIO_TOKENS, len(NAMES))
    assert tokens[0].tolist() == [0.5, 0.25, 0.0, 0.0]
    assert tokens[1:-1].count_nonzero() == 0
    assert tokens[-1].equal(embedding("calm"))
