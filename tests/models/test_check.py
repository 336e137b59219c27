"""The conformance check: sound models pass it, and every way of being broken is found."""

import hashlib
import itertools

import numpy as np
import pytest
import soundfile
import torch

from aor_lib.audio.clip import Clip
from aor_lib.config.params import ModelCard
from aor_lib.models import checked_model
from aor_lib.models.base import Answer, Capabilities, Failure, ModelError
from aor_lib.models.check import check_model
from tests.models.checkpoints import each_architecture

CARD = ModelCard(id="sound", title="", family="", kind="cascade", licence="", source="")


def digest(text):
    return hashlib.sha256(str(text).encode()).hexdigest()


class Sound:
    """Does everything right; its answers and its logits are a hash of what it was asked."""

    card = CARD
    revision = "1"
    capabilities = Capabilities(activations=True)
    tokens = 10
    cut_off_by = "length"

    def __init__(self):
        self.counter = itertools.count()
        self.decoder = torch.nn.ModuleList(torch.nn.Identity() for _ in range(3))
        self.encoder = torch.nn.ModuleList(torch.nn.Identity() for _ in range(3))

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
        return Answer(text[:limit], limit, finish_reason=self.cut_off_by)

    def fail(self, error):
        return Failure(f"{type(error).__name__}: {error}")

    def say(self, conversation):
        return self.understand(conversation)

    def understand(self, conversation):
        return digest([(turn.role, turn.text, self.hear(turn)) for turn in conversation])

    def hear(self, turn):
        if turn.audio is None:
            return ""
        if isinstance(turn.audio, Clip):
            return digest(turn.audio.samples.tobytes())
        return digest(soundfile.read(turn.audio, dtype="float32")[0].tobytes())

    def logits(self, conversation):
        state = torch.tensor(list(bytes.fromhex(self.understand(conversation))[:8])) / 255
        if any(turn.audio for turn in conversation):
            for layer in self.encoder:
                state = layer(state)
        for layer in self.decoder:
            state = layer(state)
        return state

    def decoder_layers(self):
        return self.decoder


def but(**methods):
    """A sound model but for some methods or attributes."""
    return type("Broken", (Sound,), methods)()


def refuses(where, reason):
    """A sound model that fails where the conversation is such."""

    def say(self, conversation):
        if where(conversation):
            raise OSError(reason)
        return self.understand(conversation)

    return but(say=say)


def crash(self, error):
    raise error


# As a checkpoint with random weights may do: whatever it hears, it says the same.
BABBLES = but(say=lambda self, c: self.understand(c) and "la la la")
DEAF = but(hear=lambda self, turn: "something" if Sound.hear(self, turn) else "")
RANDOM = but(
    capabilities=Capabilities(), say=lambda self, c: self.understand(c) + str(next(self.counter))
)
HEARS_ITS_BATCH = but(say=lambda self, c: f"{self.batch} {self.understand(c)}")
LOSES_ANSWERS = but(answer=lambda self, conversations, generation: [])
CRASHES = but(fail=crash)
INVENTS = but(fail=lambda self, error: Answer("silence", 12))
FILES_ONLY = but(
    hear=lambda self, turn: "?" if isinstance(turn.audio, Clip) else Sound.hear(self, turn)
)
NO_SYSTEM_TURN = refuses(lambda c: c[0].role == "system", "no system turn here")
WANTS_AUDIO = refuses(lambda c: not any(turn.audio for turn in c), "wants audio")
FORGETFUL = but(understand=lambda self, c: Sound.understand(self, c[-1:]))
SHOWS_ENCODER = but(decoder_layers=lambda self: self.encoder)
DEAD_LAYERS = but(logits=lambda self, c: 0 * Sound.logits(self, c))
TALKS_ON = but(tokens=192, say=lambda self, c: self.understand(c) + ".\nuser\nAnd Rome?")
CHATTY = but(tokens=192)
CUT_IN_SILENCE = but(cut_off_by="stop")
EMPTY = but(say=lambda self, c: " ")
MODEST = but(capabilities=Capabilities(audio=False, text_only=True, multi_turn=False))


@pytest.fixture
def tones(monkeypatch):
    """Clips that need no weights: a tone for each text and scene, as long as the text."""

    def make_clip(text, scene=""):
        seconds = np.arange(len(text) * 1_000) / 24_000
        samples = 0.1 * np.sin(2 * np.pi * 10 * len(text + scene) * seconds)
        return Clip(samples.astype(np.float32), 24_000)

    monkeypatch.setattr(checked_model, "make_clip", make_clip)


def checks(rows, outcome):
    return rows.loc[rows["outcome"] == outcome, "check"].tolist()


@pytest.mark.parametrize("model", [Sound(), BABBLES])
def test_a_sound_model_passes_every_check(model, tones):
    rows = check_model(model)
    assert checks(rows, "passed") == rows["check"].tolist()
    assert set(rows["what_to_do"]) == {""}


@pytest.mark.parametrize(
    ("model", "broken", "detail"),
    [
        (DEAF, ["hears", "multi turn"], "neither the answer nor the logits"),
        (RANDOM, ["is deterministic"], "another answer"),
        (HEARS_ITS_BATCH, ["batch equals single"], "asked together, bring other answers"),
        (LOSES_ANSWERS, ["answers"], "1 conversations brought 0 results"),
        (CRASHES, ["failures are typed"], "raised LibsndfileError"),
        (INVENTS, ["failures are typed"], "a missing sound file brought an answer"),
        (FILES_ONLY, ["file equals waveform"], "as a waveform than as a file"),
        (NO_SYSTEM_TURN, ["takes an instruction"], "no system turn here"),
        (TALKS_ON, ["ends its turn"], "goes on with a next turn"),
        (CUT_IN_SILENCE, ["says where it was cut off"], "'stop' is said to have ended"),
        (WANTS_AUDIO, ["text only"], "wants audio"),
        (FORGETFUL, ["multi turn"], "another first turn"),
        (SHOWS_ENCODER, ["decoder layers"], "layer 0's output set to zero"),
        (DEAD_LAYERS, ["decoder layers"], "the logits stay the same"),
    ],
)
def test_a_broken_model_fails_the_check_of_what_is_broken_and_is_told_what_to_do(
    model, broken, detail, tones
):
    rows = check_model(model)
    assert checks(rows, "failed") == broken
    row = rows.set_index("check").loc[broken[0]]
    assert detail in row["detail"]
    assert row["what_to_do"]


def test_a_model_that_answers_nothing_is_asked_no_further(tones):
    rows = check_model(EMPTY)
    assert checks(rows, "failed") == ["answers"]
    assert len(checks(rows, "skipped")) == len(rows) - 1


@pytest.mark.parametrize(
    ("model", "skipped", "detail"),
    [
        (RANDOM, ["hears", "batch equals single"], "its answers change by themselves"),
        (RANDOM, ["file equals waveform", "multi turn"], "its answers change by themselves"),
        (DEAF, ["hears the background"], "it may hear words alone"),
        (CHATTY, ["ends its turn"], "up to the limit of 192 tokens"),
        (MODEST, ["hears", "hears the background", "file equals waveform"], "is not claimed"),
        (MODEST, ["multi turn", "decoder layers", "failures are typed"], "is not claimed"),
    ],
)
def test_what_cannot_be_decided_or_is_not_claimed_is_skipped(model, skipped, detail, tones):
    rows = check_model(model).set_index("check").loc[skipped]
    assert set(rows["outcome"]) == {"skipped"}
    assert rows["detail"].str.endswith(detail).all()


def test_a_model_that_cannot_run_here_ends_the_check(tones):
    def cannot_run(self, conversation, limit):
        raise ModelError("sound needs a GPU")

    with pytest.raises(ModelError, match="needs a GPU"):
        check_model(but(answer_one=cannot_run))


@pytest.mark.nightly
def test_a_reference_model_passes():
    rows = check_model("ref-permissive")
    assert not checks(rows, "failed"), rows
    assert "Paris" in rows["detail"][0]


@pytest.mark.slow
@each_architecture()
def test_a_tiny_checkpoint_of_every_architecture_passes(name, tiny):
    rows = check_model(tiny(name, batch_size=4))
    assert not checks(rows, "failed"), rows
    # Random weights seldom end a turn.
    assert {*checks(rows, "skipped")} <= {"ends its turn"}, rows
