"""The conformance check: sound models pass it, and every way of being broken is found."""

import dataclasses
import hashlib
import itertools
import shutil

import numpy as np
import pytest
import soundfile
import torch

from aor_lib.config.params import ModelCard, load_model_cards
from aor_lib.models import asked, hf, hf_generate
from aor_lib.models.base import Answer, Capabilities, Failure, ModelError, Waveform
from aor_lib.models.check import check_model
from aor_lib.models.registry import load_model
from tests.models import checkpoints
from tests.models.checkpoints import each_architecture

CARD = ModelCard(id="sound", title="", family="", kind="cascade", licence="", source="")


def digest(text):
    return hashlib.sha256(str(text).encode()).hexdigest()


class Sound:
    """Does everything right; its answers and its logits are a hash of what it was asked."""

    card = CARD
    revision = "1"
    capabilities = Capabilities(activations=True)

    def __init__(self):
        self.counter = itertools.count()
        self.decoder = torch.nn.ModuleList(torch.nn.Linear(8, 8) for _ in range(3))
        self.encoder = torch.nn.ModuleList(torch.nn.Linear(8, 8) for _ in range(3))
        for number, layer in enumerate([*self.decoder, *self.encoder]):
            torch.nn.init.constant_(layer.bias, 0.1 * (number + 1))

    def answer(self, conversations, generation):
        whole = [self.answer_one(conversation) for conversation in conversations]
        return [self.cut_off(result, generation.max_new_tokens) for result in whole]

    def cut_off(self, result, limit):
        if isinstance(result, Failure) or result.tokens <= limit:
            return result
        return Answer(result.text[:limit], limit, finish_reason="length")

    def departures(self, conversation, generation):
        return 0

    def answer_one(self, conversation):
        try:
            return Answer(self.understand(conversation), 12, finish_reason="stop")
        except (OSError, soundfile.LibsndfileError) as error:
            return Failure(f"{type(error).__name__}: {error}")

    def understand(self, conversation):
        return digest([(turn.role, turn.text, self.hear(turn)) for turn in conversation])

    def hear(self, turn):
        if turn.audio is None:
            return ""
        if isinstance(turn.audio, Waveform):
            return digest(turn.audio.samples.tobytes())
        return digest(soundfile.read(turn.audio, dtype="float32")[0].tobytes())

    def logits(self, conversation):
        state = torch.tensor(list(bytes.fromhex(self.understand(conversation))[:8])) / 255
        if any(turn.audio for turn in conversation):
            for layer in self.encoder:
                state = state + 0.1 * layer(state)
        for layer in self.decoder:
            state = layer(state)
        return state

    def decoder_layers(self):
        return self.decoder


def but(**methods):
    """A sound model but for some methods or attributes."""
    return type("Broken", (Sound,), methods)()


def babbles(self, conversation):
    """As a checkpoint with random weights may do: whatever it hears, it says the same."""
    result = Sound.answer_one(self, conversation)
    return result if isinstance(result, Failure) else Answer("la la la", 4, finish_reason="stop")


def goes_on(text):
    """Append a text to every answer, up to the limit."""

    def answer_one(self, conversation):
        result = Sound.answer_one(self, conversation)
        if isinstance(result, Failure):
            return result
        return Answer(result.text + text, 192, finish_reason="length")

    return answer_one


def cuts_in_silence(self, result, limit):
    shown = Sound.cut_off(self, result, limit)
    return result if shown is result else dataclasses.replace(shown, finish_reason="stop")


def hears_its_batch(self, conversations, generation):
    results = Sound.answer(self, conversations, generation)
    return [
        result
        if isinstance(result, Failure)
        else dataclasses.replace(result, text=f"{result.text} {len(conversations)}")
        for result in results
    ]


def loses_failures(self, conversations, generation):
    results = Sound.answer(self, conversations, generation)
    return [result for result in results if isinstance(result, Answer)]


def invents(self, turn):
    try:
        return Sound.hear(self, turn)
    except (OSError, soundfile.LibsndfileError):
        return "silence"


def fails(where, error):
    """Answer but where the conversation is such."""
    return lambda self, c: Failure(error) if where(c) else Sound.answer_one(self, c)


DEAF = but(hear=lambda self, turn: "something" if Sound.hear(self, turn) else "")
RANDOM = but(
    capabilities=Capabilities(),
    understand=lambda self, c: Sound.understand(self, c) + str(next(self.counter)),
)
HEARS_ITS_BATCH = but(answer=hears_its_batch)
LOSES_FAILURES = but(answer=loses_failures)
CRASHES = but(answer_one=lambda self, c: Answer(self.understand(c), 12, finish_reason="stop"))
INVENTS = but(hear=invents)
FILES_ONLY = but(
    hear=lambda self, turn: "?" if isinstance(turn.audio, Waveform) else Sound.hear(self, turn)
)
NO_SYSTEM_TURN = but(answer_one=fails(lambda c: c[0].role == "system", "no system turn here"))
WANTS_AUDIO = but(answer_one=fails(lambda c: not any(turn.audio for turn in c), "wants audio"))
FORGETFUL = but(understand=lambda self, c: Sound.understand(self, c[-1:]))
SHOWS_ENCODER = but(decoder_layers=lambda self: self.encoder)
DEAD_LAYERS = but(logits=lambda self, c: 0 * Sound.logits(self, c))
TALKS_ON = but(answer_one=goes_on(".\nuser\nAnd Rome?"))
CHATTY = but(answer_one=goes_on(" is for the user of a model, who"))
CUT_IN_SILENCE = but(cut_off=cuts_in_silence)
PENALISED = but(departures=lambda self, conversation, generation: 2)
EMPTY = but(answer_one=lambda self, c: Answer(" ", 0))


@pytest.fixture
def tones(monkeypatch):
    """A voice that needs no weights: a tone for each text, as long as the text."""

    class Tones:
        def __init__(self, voice_id):
            pass

        def synthesise(self, text, rate):
            seconds = np.arange(len(text) * 1_000) / 24_000
            return (0.1 * np.sin(2 * np.pi * 10 * len(text) * seconds)).astype(np.float32)

    monkeypatch.setattr(asked.speech, "KokoroVoice", Tones)


def checks(rows, outcome):
    return [row.check for row in rows if row.outcome == outcome]


@pytest.mark.parametrize("model", [Sound(), but(answer_one=babbles)])
def test_a_sound_model_passes_every_check(model, tones):
    rows = check_model(model)
    assert len(checks(rows, "passed")) == len(rows) - 1 == 14
    assert checks(rows, "skipped") == ["its adapter hears"]
    assert not any(row.what_to_do for row in rows)


@pytest.mark.parametrize(
    ("model", "broken", "detail"),
    [
        (DEAF, ["hears", "multi-turn"], "neither the answer nor the logits"),
        (RANDOM, ["is deterministic"], "another answer"),
        (HEARS_ITS_BATCH, ["batch equals single"], "asked together, bring other answers"),
        (LOSES_FAILURES, ["failures are typed"], "3 conversations brought 1 results"),
        (CRASHES, ["failures are typed"], "raised LibsndfileError"),
        (INVENTS, ["failures are typed"], "a missing sound file brought an answer"),
        (FILES_ONLY, ["file equals waveform"], "as a waveform than as a file"),
        (NO_SYSTEM_TURN, ["takes an instruction"], "no system turn here"),
        (TALKS_ON, ["ends its turn"], "goes on with a next turn"),
        (CUT_IN_SILENCE, ["says where it was cut off"], "'stop' is said to have ended"),
        (PENALISED, ["decodes greedily"], "though others were likelier"),
        (WANTS_AUDIO, ["text only"], "wants audio"),
        (FORGETFUL, ["multi-turn"], "another first turn"),
        (SHOWS_ENCODER, ["decoder layers"], "layers [0, 1, 2] of 3 do not run"),
        (DEAD_LAYERS, ["decoder layers"], "the logits stay the same"),
    ],
)
def test_a_broken_model_fails_the_check_of_what_is_broken_and_is_told_what_to_do(
    model, broken, detail, tones
):
    rows = check_model(model)
    assert checks(rows, "failed") == broken
    (row,) = (row for row in rows if row.check == broken[0])
    assert detail in row.detail
    assert row.what_to_do


def test_answers_that_change_by_themselves_are_not_compared(tones):
    compared = ["hears", "batch equals single", "file equals waveform", "multi-turn"]
    rows = [row for row in check_model(RANDOM) if row.check in compared]
    assert checks(rows, "skipped") == compared
    assert {row.detail for row in rows} == {"its answers change by themselves"}


def test_a_model_that_answers_nothing_is_asked_no_further(tones):
    rows = check_model(EMPTY)
    assert checks(rows, "failed") == ["answers"]
    assert len(checks(rows, "skipped")) == 14


def test_what_is_not_claimed_is_skipped(tones):
    modest = Capabilities(audio=False, text_only=True, multi_turn=False)
    rows = check_model(but(capabilities=modest))
    assert not checks(rows, "failed")
    of_sound = ["hears", "hears the background", "file equals waveform"]
    others = ["multi-turn", "decoder layers", "its adapter hears", "failures are typed"]
    assert checks(rows, "skipped") == [*of_sound, *others]


def test_a_model_that_hears_no_background_is_no_broken_one(tones):
    (row,) = (row for row in check_model(DEAF) if row.check == "hears the background")
    assert (row.outcome, row.what_to_do) == ("skipped", "")
    assert row.detail.endswith("it may hear words alone")


def test_whether_a_turn_ends_is_undecided_where_the_limit_came_first(tones):
    (row,) = (row for row in check_model(CHATTY) if row.check == "ends its turn")
    assert row.outcome == "skipped"


def test_a_model_that_cannot_run_here_ends_the_check(tones):
    def cannot_run(self, conversation):
        raise ModelError("sound needs a GPU")

    with pytest.raises(ModelError, match="needs a GPU"):
        check_model(but(answer_one=cannot_run))


@pytest.mark.nightly
def test_a_reference_model_passes():
    rows = check_model(load_model(load_model_cards()["ref-permissive"]))
    assert not checks(rows, "failed"), rows
    assert "Paris" in rows[0].detail


@pytest.mark.slow
@each_architecture()
def test_a_tiny_checkpoint_of_every_architecture_passes(name, tiny):
    rows = check_model(tiny(name, batch_size=4))
    assert not checks(rows, "failed"), rows
    # Random weights seldom end a turn; no adapter is on them.
    undecided = {row.check for row in rows if row.outcome != "passed"}
    assert undecided <= {"ends its turn", "its adapter hears"}, rows


@pytest.mark.slow
def test_a_thinker_without_end_tokens_is_found(tiny, copied):
    folder = copied("qwen2_5_omni", "tokenizer_config.json", eos_token=None)
    template = folder / "chat_template.jinja"
    template.write_text(template.read_text().replace("<|im_end|>", ""))
    checkpoints.script(folder, "\nNo<|im_end|>\r<|im_start|>user")
    rows = check_model(tiny("qwen2_5_omni", folder))
    assert "ends its turn" in checks(rows, "failed")


@pytest.mark.slow
def test_a_penalty_of_a_checkpoint_that_is_left_on_is_found(tiny, copied, monkeypatch):
    folder = copied("qwen2_audio", "generation_config.json", repetition_penalty=1.1)
    assert "decodes greedily" in checks(check_model(tiny("qwen2_audio", folder)), "passed")
    plain = hf_generate.set_plain_decoding

    def careless(network, processor):
        penalty = network.generation_config.repetition_penalty
        plain(network, processor)
        network.generation_config.repetition_penalty = penalty

    monkeypatch.setattr(hf_generate, "set_plain_decoding", careless)
    assert "decodes greedily" in checks(check_model(tiny("qwen2_audio", folder)), "failed")


@pytest.mark.slow
def test_an_adapter_for_audio_that_is_on_for_written_questions_is_found(tiny, copied):
    folder = copied("phi4_multimodal")
    network, _ = tiny("phi4_multimodal", folder).load()
    checkpoints.add_adapter(network, "qkv_proj")
    network.save_pretrained(folder / "speech-lora")
    named = tiny("phi4_multimodal", folder, adapter="speech-lora")
    assert "its adapter hears" in checks(check_model(named), "passed")
    # Beside the weights it is loaded by itself, and nothing turns it off.
    for file in (folder / "speech-lora").iterdir():
        shutil.copy(file, folder)
    rows = check_model(tiny("phi4_multimodal", folder))
    (row,) = (row for row in rows if row.check == "its adapter hears")
    assert row.outcome == "failed"
    assert "is on for a written question" in row.detail


@pytest.mark.slow
def test_a_checkpoint_that_hears_the_padding_of_its_batch_is_found(tiny, monkeypatch):
    careless = dataclasses.replace(hf.ARCHITECTURES["phi4_multimodal"], pads_audio=True)
    monkeypatch.setitem(hf.ARCHITECTURES, "phi4_multimodal", careless)
    rows = check_model(tiny("phi4_multimodal", batch_size=4))
    assert checks(rows, "failed") == ["batch equals single"]
