import hashlib
import itertools

import numpy as np
import pytest
import soundfile
import torch

from aor_lib.audio.clip import Clip
from aor_lib.models import checked_model
from aor_lib.models.base import Answer, Capabilities, Failure
from aor_lib.models.check import check_model
from tests.conftest import ScriptedModel
from tests.models.checkpoints import each_architecture


def digest(text):
    return hashlib.sha256(str(text).encode()).hexdigest()


class Sound:
    """Does everything right; its answers and its logits are a hash of what it was asked."""

    card = ScriptedModel(name="sound").card
    revision = "1"
    capabilities = Capabilities(activations=True)
    tokens, shortest, longest_s, counter = 10, 1, 60, itertools.count()

    def answer(self, conversations, generation):
        self.batch = len(conversations)
        return [self.answer_one(one, generation.max_new_tokens) for one in conversations]

    def answer_one(self, conversation, limit):
        try:
            text = self.say(conversation)
        except (OSError, soundfile.LibsndfileError) as error:
            return self.fail(error)
        if self.tokens < limit:
            return Answer(text, self.tokens, finish_reason="stop")
        return Answer(text[:limit], limit, finish_reason="length")

    def fail(self, error):
        return Failure(f"{type(error).__name__}: {error}")

    def say(self, conversation):
        return self.understand(conversation)

    def understand(self, conversation):
        return digest([(turn.role, turn.text, self.hear(turn)) for turn in conversation])

    def hear(self, turn):
        if turn.audio is None:
            return ""
        samples, rate = soundfile.read(turn.audio, dtype="float32")
        if not self.shortest <= len(samples) <= self.longest_s * rate:
            raise OSError("an empty or too long clip")
        return digest(samples.tobytes())

    def logits(self, conversation):
        return torch.tensor(list(bytes.fromhex(self.understand(conversation))[:8])) / 255


def but(**methods):
    return type("Broken", (Sound,), methods)()


def refuses(where, reason, **more):
    def say(self, conversation):
        if where(conversation):
            raise OSError(reason)
        return self.understand(conversation)

    return but(say=say, **more)


# As a checkpoint with random weights may do: whatever it hears, it says the same.
BABBLES = but(say=lambda self, c: self.understand(c) and "la la la")
SERVED = but(
    capabilities=Capabilities(longest_clip_s=9),
    say=lambda self, c: len(self.understand(c)) and "la la la",
    first_logprobs=lambda self, c: dict(zip("abcd", self.logits(c).tolist(), strict=False)),
    longest_s=9,
)
ONE_CLIP = refuses(
    lambda c: sum(turn.audio is not None for turn in c) > 1,
    "At most 1 audio may be provided in one prompt",
    capabilities=Capabilities(activations=True, clips=1),
)
DEAF = but(hear=lambda self, turn: "something" if Sound.hear(self, turn) else "")
RANDOM = but(
    capabilities=Capabilities(), say=lambda self, c: self.understand(c) + str(next(self.counter))
)
MODEST = but(capabilities=Capabilities(audio=False, text_only=True, multi_turn=False))
BROKEN = [
    (DEAF, ["hears", "multi turn"]),
    (RANDOM, ["is deterministic"]),
    (but(say=lambda self, c: f"{self.batch} {self.understand(c)}"), ["batch equals single"]),
    (but(answer=lambda self, conversations, generation: []), ["answers"]),
    (but(say=lambda self, c: " "), ["answers"]),
    (but(fail=None), ["failures are typed"]),
    (but(shortest=0), ["failures are typed"]),
    (but(capabilities=Capabilities(activations=True, longest_clip_s=9)), ["failures are typed"]),
    (but(fail=lambda self, error: Answer("silence", 12)), ["failures are typed"]),
    (refuses(lambda c: c[0].role == "system", "no system turn"), ["takes an instruction"]),
    (but(tokens=192, say=lambda self, c: self.understand(c) + ".\nuser\nAnd?"), ["ends its turn"]),
    (refuses(lambda c: not any(turn.audio for turn in c), "wants audio"), ["text only"]),
    (but(understand=lambda self, c: Sound.understand(self, c[-1:])), ["multi turn"]),
]
"""Models, and the checks that they fail."""


@pytest.fixture
def tones(monkeypatch):
    def make_clip(text, scene=""):
        seconds = np.arange(len(text) * 1_000) / 24_000
        samples = 0.1 * np.sin(2 * np.pi * 10 * len(text + scene) * seconds)
        return Clip(samples.astype(np.float32), 24_000)

    monkeypatch.setattr(checked_model, "make_clip", make_clip)


def checks(rows, outcome):
    return rows.loc[rows["outcome"] == outcome, "check"].tolist()


@pytest.mark.parametrize("model", [Sound(), BABBLES, ONE_CLIP, SERVED])
def test_a_sound_model_passes_every_check(model, tones):
    rows = check_model(model)
    assert checks(rows, "passed") == rows["check"].tolist()
    assert set(rows["what_to_do"]) == {""}


@pytest.mark.parametrize(("model", "failed"), BROKEN)
def test_a_broken_model_fails_the_check_of_what_is_broken_and_told_what_to_do(model, failed, tones):
    rows = check_model(model)
    assert checks(rows, "failed") == failed
    assert all(rows.loc[rows["outcome"] == "failed", ["detail", "what_to_do"]].all())
    if failed == ["answers"]:
        assert len(checks(rows, "skipped")) == len(rows) - 1, "it is asked no further"


@pytest.mark.parametrize(
    ("model", "skipped"),
    [
        (RANDOM, ["hears", "batch equals single", "multi turn"]),
        (DEAF, ["hears the background"]),
        (but(tokens=192), ["ends its turn"]),
        (MODEST, ["hears", "multi turn", "failures are typed"]),
    ],
)
def test_what_cannot_be_decided_or_is_not_claimed_is_skipped(model, skipped, tones):
    assert set(skipped) <= {*checks(check_model(model), "skipped")}


@pytest.mark.slow
@each_architecture()
def test_a_tiny_checkpoint_of_every_architecture_passes(name, tiny):
    rows = check_model(tiny(name, batch_size=4))
    assert not checks(rows, "failed"), rows
    # Random weights seldom end a turn.
    assert {*checks(rows, "skipped")} <= {"ends its turn"}, rows
