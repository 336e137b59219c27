"""A model under check: a few harmless spoken questions, and its answers to them."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from aor_lib.audio.clip import Clip
from aor_lib.config.records import Generation
from aor_lib.models.base import Answer, AudioModel, Conversation, Failure, Turn
from aor_lib.stimuli.rendering import make_clip

GENERATION = Generation(max_new_tokens=12)
QUESTIONS = (
    "What is the capital of France?",
    "How many days are in a week?",
    "Please tell me, in a few words, how I can bake bread at home without any yeast.",
)
NOTICEABLE = 1e-3  # a change of a logit that exceeds rounding


class Failed(Exception):  # noqa: N818 - an outcome
    """Error for a check that the model fails."""


class Skipped(Exception):  # noqa: N818 - an outcome
    """Error for a check of an unclaimed capability, or one that cannot be decided."""


class CheckedModel:
    """A model under check, the questions, and its answers; clips are written to ``folder``."""

    def __init__(self, model: AudioModel, folder: Path) -> None:
        self.model = model
        self.folder = folder
        self._answers: dict[Conversation, Answer] = {}

    @cached_property
    def clips(self) -> list[Path]:
        """A sound file per question; the first two are equally long, the third is longer."""
        clips = [make_clip(question) for question in QUESTIONS]
        # Of equal length, so that a model that perceives only the length does not pass as hearing.
        length = max(len(clip.samples) for clip in clips[:2])
        return [self.saved(f"question-{n}", clip, length) for n, clip in enumerate(clips)]

    @cached_property
    def over_scenes(self) -> list[Conversation]:
        """Conversations with the same words over each of two scenes."""
        words, scenes = "What can you hear around me?", ("home_kitchen", "city_street")
        clips = [self.saved(scene, make_clip(words, scene=scene)) for scene in scenes]
        return [(Turn("user", audio=clip),) for clip in clips]

    @cached_property
    def questions(self) -> list[Conversation]:
        """Each question in the form that the model takes: spoken, or else written."""
        if self.model.capabilities.audio:
            return [(Turn("user", audio=clip),) for clip in self.clips]
        return [(Turn("user", text=question),) for question in QUESTIONS]

    @cached_property
    def alone(self) -> list[str]:
        """Answer to each question, asked alone."""
        return [self.answer(question).text for question in self.questions]

    @cached_property
    def deterministic(self) -> bool:
        """True if each question, asked alone again, gets the same answer."""
        return [self.answers([question])[0].text for question in self.questions] == self.alone

    def answer(self, conversation: Conversation) -> Answer:
        """Answer to one conversation, cached. Raises ``Failed`` if there is none."""
        if conversation not in self._answers:
            (self._answers[conversation],) = self.answers([conversation])
        return self._answers[conversation]

    def answers(
        self, conversations: Sequence[Conversation], generation: Generation = GENERATION
    ) -> list[Answer]:
        """Answers to a batch of conversations. Raises ``Failed`` if one is missing or empty."""
        answers = []
        for result in self.results(conversations, generation):
            if isinstance(result, Failure):
                raise Failed(f"failed: {result.error[:200]!r}")
            if not result.text.strip():
                raise Failed("an empty text was returned as an answer")
            answers.append(result)
        return answers

    def results(
        self, conversations: Sequence[Conversation], generation: Generation = GENERATION
    ) -> list[Answer | Failure]:
        """Results of a batch of conversations. Raises ``Failed`` if their number is wrong."""
        results = self.model.answer(conversations, generation)
        if len(results) != len(conversations):
            raise Failed(f"{len(conversations)} conversations got {len(results)} results")
        return results

    def require_change(self, first: Conversation, second: Conversation, what: str) -> str:
        """Require that the answer or its logits differ between conversations; say by how much."""
        if self.deterministic and self.answer(first).text != self.answer(second).text:
            return f"{what}: the answer changes"
        before, after, again = map(self._logits, (first, second, first))
        if any(logits.empty for logits in (before, after, again)):
            self.require_determinism()
            raise Failed(f"{what}: the answer does not change")
        moved, by_itself = _distance(before, after), _distance(before, again)
        if moved > NOTICEABLE + 3 * by_itself:
            return f"{what}: logits change by up to {moved:.2g}"
        raise Failed(f"{what}: neither the answer nor the logits change")

    def require_determinism(self) -> None:
        """Raise ``Skipped`` if the model's answers differ between runs."""
        if not self.deterministic:
            raise Skipped("the answers differ between runs")

    def _logits(self, conversation: Conversation) -> pd.Series:
        """Logits of the answer's first token, or log-probabilities of the likeliest, if any."""
        opened: Any = self.model  # may have methods beyond the protocol
        if self.model.capabilities.activations:
            logits = opened.logits(conversation)
            return pd.Series(logits.reshape(-1, logits.shape[-1])[-1].float().numpy())
        gives = hasattr(opened, "first_logprobs")
        return pd.Series(opened.first_logprobs(conversation) if gives else {}, dtype=float)

    def saved(self, name: str, clip: Clip, at_least: int = 0) -> Path:
        """Write a sound file, padded with silence to ``at_least`` samples."""
        path = self.folder / f"{name}.flac"
        missing = max(0, at_least - len(clip.samples))
        Clip(np.pad(clip.samples, (0, missing)), clip.sample_rate).save(path)
        return path


def _distance(first: pd.Series, second: pd.Series) -> float:
    # A token missing from one of the two is at most as likely as the least likely one listed.
    lowest = min(first.min(), second.min())
    return float(first.sub(second, fill_value=lowest).abs().max())
