"""The conformance check: sound models pass it, and every way of being broken is found."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
import soundfile
import torch

from aor_lib.config.params import ModelCard, load_model_cards
from aor_lib.config.records import Generation
from aor_lib.config.typed_yaml import read
from aor_lib.models import asked, hf
from aor_lib.models.base import (
    Answer,
    AudioModel,
    Capabilities,
    Conversation,
    Failure,
    ModelError,
    Turn,
    Waveform,
)
from aor_lib.models.check import Checked, check_model
from aor_lib.models.registry import load_model
from tests.models import checkpoints

CARD = ModelCard(id="sound", title="", family="", kind="cascade", licence="", source="")


class Sound:
    """Does everything right; what it answers, and its logits, are a hash of what it was told."""

    card = CARD
    revision = "1"
    capabilities = Capabilities(activations=True)

    def __init__(self) -> None:
        self.decoder = torch.nn.ModuleList(torch.nn.Linear(8, 8) for _ in range(3))
        self.encoder = torch.nn.ModuleList(torch.nn.Linear(8, 8) for _ in range(3))
        for number, layer in enumerate([*self.decoder, *self.encoder]):
            torch.nn.init.constant_(layer.bias, 0.1 * (number + 1))

    def answer(
        self, conversations: Sequence[Conversation], generation: Generation
    ) -> list[Answer | Failure]:
        return [self.answer_one(conversation) for conversation in conversations]

    def answer_one(self, conversation: Conversation) -> Answer | Failure:
        try:
            return Answer(self.understood(conversation), 1)
        except (OSError, soundfile.LibsndfileError) as error:
            return Failure(f"{type(error).__name__}: {error}")

    def understood(self, conversation: Conversation) -> str:
        told = [f"{turn.role} {turn.text} {self.hear(turn)}" for turn in conversation]
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()

    def hear(self, turn: Turn) -> str:
        if turn.audio is None:
            return ""
        if isinstance(turn.audio, Waveform):
            return hashlib.sha256(turn.audio.samples.tobytes()).hexdigest()
        samples, _ = soundfile.read(turn.audio, dtype="float32")
        return hashlib.sha256(samples.tobytes()).hexdigest()

    def logits(self, conversation: Conversation) -> torch.Tensor:
        digest = hashlib.sha256(self.understood(conversation).encode()).digest()
        state = torch.tensor(list(digest[:8]), dtype=torch.float32) / 255
        if any(turn.audio for turn in conversation):
            for layer in self.encoder:
                state = state + 0.1 * layer(state)
        for layer in self.decoder:
            state = layer(state)
        return state

    def decoder_layers(self) -> torch.nn.ModuleList:
        return self.decoder


class Deaf(Sound):
    def hear(self, turn: Turn) -> str:
        return "something" if super().hear(turn) else ""


class HearsOnlyLength(Sound):
    def hear(self, turn: Turn) -> str:
        return str(soundfile.info(turn.audio).frames) if isinstance(turn.audio, Path) else ""


class HearsInLogitsAlone(Sound):
    """As a checkpoint with random weights may do: whatever it hears, it says the same."""

    def answer_one(self, conversation: Conversation) -> Answer | Failure:
        result = super().answer_one(conversation)
        return result if isinstance(result, Failure) else Answer("la la la", 3)


class Random(Sound):
    capabilities = Capabilities()

    def __init__(self) -> None:
        super().__init__()
        self.counter = itertools.count()

    def understood(self, conversation: Conversation) -> str:
        return f"{super().understood(conversation)} {next(self.counter)}"


class PaddingSensitive(Sound):
    def answer(
        self, conversations: Sequence[Conversation], generation: Generation
    ) -> list[Answer | Failure]:
        paths = [turn.audio for told in conversations for turn in told]
        files = [path for path in paths if isinstance(path, Path) and path.is_file()]
        try:
            longest = max((soundfile.info(path).frames for path in files), default=0)
        except soundfile.LibsndfileError:
            longest = 0
        padded = longest if len(conversations) > 1 else 0
        results = super().answer(conversations, generation)
        return [
            Answer(f"{result.text} {padded}", 1) if isinstance(result, Answer) else result
            for result in results
        ]


class Reversed(Sound):
    def answer(
        self, conversations: Sequence[Conversation], generation: Generation
    ) -> list[Answer | Failure]:
        return super().answer(conversations, generation)[::-1]


class LosesFailures(Sound):
    def answer(
        self, conversations: Sequence[Conversation], generation: Generation
    ) -> list[Answer | Failure]:
        results = super().answer(conversations, generation)
        return [result for result in results if isinstance(result, Answer)]


class Crashing(Sound):
    def answer_one(self, conversation: Conversation) -> Answer | Failure:
        return Answer(self.understood(conversation), 1)


class Inventing(Sound):
    def hear(self, turn: Turn) -> str:
        try:
            return super().hear(turn)
        except (OSError, soundfile.LibsndfileError):
            return "silence"


class TakesFilesOnly(Sound):
    def hear(self, turn: Turn) -> str:
        return "[unreadable]" if isinstance(turn.audio, Waveform) else super().hear(turn)


class RefusesInstructions(Sound):
    def answer_one(self, conversation: Conversation) -> Answer | Failure:
        if conversation[0].role == "system":
            return Failure("TemplateError: no system turn beside audio")
        return super().answer_one(conversation)


class WantsAudio(Sound):
    def answer_one(self, conversation: Conversation) -> Answer | Failure:
        if not any(turn.audio for turn in conversation):
            return Failure("BadRequestError: this model requires audio")
        return super().answer_one(conversation)


class Forgetful(Sound):
    def understood(self, conversation: Conversation) -> str:
        return super().understood(conversation[-1:])


class ShowsItsEncoder(Sound):
    def decoder_layers(self) -> torch.nn.ModuleList:
        return self.encoder


class ShowsNoLayers(Sound):
    decoder_layers = None  # type: ignore[assignment]


class ShowsDeadLayers(Sound):
    """Its layers run, but what comes out of them goes nowhere."""

    def logits(self, conversation: Conversation) -> torch.Tensor:
        return 0 * super().logits(conversation)


class Empty(Sound):
    def answer_one(self, conversation: Conversation) -> Answer | Failure:
        return Answer(" ", 0)


class CannotRun(Sound):
    def answer_one(self, conversation: Conversation) -> Answer | Failure:
        raise ModelError("sound needs a GPU")


@pytest.fixture
def tones(monkeypatch: pytest.MonkeyPatch) -> None:
    """A voice that needs no weights: a tone for each text, as long as the text."""

    class Tones:
        def __init__(self, voice_id: str) -> None:
            pass

        def synthesise(self, text: str, rate: str) -> np.ndarray:
            seconds = np.arange(len(text) * 1_000) / 24_000
            return (0.1 * np.sin(2 * np.pi * 10 * len(text) * seconds)).astype(np.float32)

    monkeypatch.setattr(asked.speech, "KokoroVoice", Tones)


def outcomes(rows: list[Checked]) -> dict[str, str]:
    return {row.check: row.outcome for row in rows}


def failed(rows: list[Checked]) -> list[str]:
    return [row.check for row in rows if row.outcome == "failed"]


@pytest.mark.parametrize("model", [Sound(), HearsInLogitsAlone()])
def test_a_sound_model_passes_every_check(model: Sound, tones: None) -> None:
    rows = check_model(model)
    assert set(outcomes(rows).values()) == {"passed"}
    assert not any(row.what_to_do for row in rows)
    assert len(rows) == 10


@pytest.mark.parametrize(
    ("model", "check", "detail"),
    [
        (Deaf(), "hears", "change neither the answer nor the logits"),
        (HearsOnlyLength(), "hears", "change neither the answer nor the logits"),
        (Random(), "is deterministic", "another answer"),
        (PaddingSensitive(), "batch equals single", "asked together, bring other answers"),
        (Reversed(), "batch equals single", "asked together, bring other answers"),
        (LosesFailures(), "failures are typed", "3 conversations brought 1 results"),
        (Crashing(), "failures are typed", "raised LibsndfileError"),
        (Inventing(), "failures are typed", "a missing sound file brought an answer"),
        (TakesFilesOnly(), "file equals waveform", "as a waveform than as a file"),
        (RefusesInstructions(), "takes an instruction", "no system turn beside audio"),
        (WantsAudio(), "text only", "requires audio"),
        (Forgetful(), "multi-turn", "another first turn changes neither"),
        (ShowsItsEncoder(), "decoder layers", "layers [0, 1, 2] of 3 do not run"),
        (ShowsNoLayers(), "decoder layers", "raised TypeError"),
        (ShowsDeadLayers(), "decoder layers", "the logits stay the same"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Sound) else "",
)
def test_a_broken_model_fails_the_check_of_what_is_broken_and_is_told_what_to_do(
    model: Sound, check: str, detail: str, tones: None
) -> None:
    rows = {row.check: row for row in check_model(model)}
    assert rows[check].outcome == "failed"
    assert detail in rows[check].detail
    assert rows[check].what_to_do


@pytest.mark.parametrize(
    "model",
    [
        *(PaddingSensitive(), LosesFailures(), Crashing(), Inventing(), TakesFilesOnly()),
        *(RefusesInstructions(), WantsAudio(), ShowsItsEncoder(), ShowsDeadLayers()),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_not_broken_passes(model: Sound, tones: None) -> None:
    assert len(failed(check_model(model))) == 1


def test_answers_that_change_by_themselves_are_not_compared(tones: None) -> None:
    rows = check_model(Random())
    skipped = [row for row in rows if row.detail == "its answers change by themselves"]
    assert {row.check for row in skipped} == {
        *("hears", "batch equals single", "file equals waveform", "multi-turn"),
    }
    assert all(row.outcome == "skipped" for row in skipped)


def test_a_model_that_answers_nothing_is_asked_no_further(tones: None) -> None:
    rows = check_model(Empty())
    assert failed(rows) == ["answers"]
    assert "an empty text was given as an answer" in rows[0].detail
    assert {row.outcome for row in rows[1:]} == {"skipped"}


def test_what_is_not_claimed_is_skipped(tones: None) -> None:
    class Modest(Sound):
        capabilities = Capabilities(audio=False, text_only=True, multi_turn=False)

    rows = outcomes(check_model(Modest()))
    assert {check for check, outcome in rows.items() if outcome == "skipped"} == {
        *("hears", "file equals waveform", "multi-turn", "decoder layers", "failures are typed"),
    }
    assert "failed" not in rows.values()


def test_a_model_that_cannot_run_here_ends_the_check(tones: None) -> None:
    with pytest.raises(ModelError, match="needs a GPU"):
        check_model(CannotRun())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ref-permissive", "ref-contextual"])
def test_the_cascades_pass(name: str) -> None:
    rows = check_model(load_model(load_model_cards()[name]))
    assert set(outcomes(rows).values()) == {"passed"}, rows
    assert "Paris" in rows[0].detail


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], AudioModel]]:
    """A tiny checkpoint of an architecture, by way of a card of its own."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)

    def load(architecture: str) -> AudioModel:
        card = tmp_path / "tiny.yaml"
        card.write_text(
            "id: tiny\ntitle: Tiny\nfamily: Test\nkind: hf\nlicence: none\n"
            f"source: {checkpoints.build(architecture, tmp_path / architecture)}\n"
            f"settings: {{architecture: {architecture}, batch_size: 4}}\n"
        )
        return load_model(read(card, ModelCard))

    yield load
    hf._loaded.clear()


@pytest.mark.slow
@pytest.mark.parametrize("architecture", checkpoints.ARCHITECTURES)
def test_a_tiny_checkpoint_of_every_architecture_passes(
    architecture: str, tiny: Callable[[str], AudioModel]
) -> None:
    rows = check_model(tiny(architecture))
    assert set(outcomes(rows).values()) == {"passed"}, rows


@pytest.mark.slow
def test_a_checkpoint_that_hears_the_padding_of_its_batch_is_found(
    tiny: Callable[[str], AudioModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    careless = dataclasses.replace(hf.ARCHITECTURES["phi4_multimodal"], pads_audio=True)
    monkeypatch.setitem(hf.ARCHITECTURES, "phi4_multimodal", careless)
    assert failed(check_model(tiny("phi4_multimodal"))) == ["batch equals single"]
