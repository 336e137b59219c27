"""Trials of a model card, as inspect_ai asks them: what goes into its samples and out of its log.

:mod:`aor_lib.analysis.inspect_task` makes samples of them, and
:mod:`aor_lib.inference.bundles.inspect_log` holds a log against them. inspect_ai itself is not
imported here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from aor_lib.config.params import ModelCard, StudyParams, card_settings
from aor_lib.config.records import Trial
from aor_lib.config.typed_yaml import ParamsError
from aor_lib.inference.forecast import absent
from aor_lib.inference.planning import conversation, plan_trials
from aor_lib.models.api_messages import quote
from aor_lib.models.api_settings import ApiSettings
from aor_lib.models.base import Answer, Conversation, Failure, without_system_turns
from aor_lib.stimuli.manifest import load_stimuli

TASK = "aor_study"
"""The task's name."""

_ENDS = {"stop": "stop", "max_tokens": "length"}
"""Stop reasons of inspect_ai where the model wrote an answer, and the study's names for them."""
_COMPATIBLE = ("openai", "openai-api", "sglang", "vllm")
"""Providers of inspect_ai that send the ``extra`` fields of a card."""


class InspectTrials:
    """Trials that ``aor run`` would plan for a card, each once, by key.

    Parameters
    ----------
    build : Path
        The study's folder, with its manifest.

    Raises
    ------
    ParamsError
        If the card's model is not asked over an API, or in a way that inspect_ai does not have.
    FileNotFoundError
        If there is no manifest.
    """

    def __init__(self, study: StudyParams, card: ModelCard, build: Path) -> None:
        if card.kind != "openai_api":
            raise ParamsError(
                f"model {card.id}: kind: {card.kind!r} is asked by 'aor run' only; through "
                "inspect_ai, models of the kind 'openai_api' are"
            )
        self._settings = card_settings(card, ApiSettings)
        if self._settings.adapter:
            raise ParamsError(
                f"model {card.id}: settings: adapter: {self._settings.adapter!r} is asked for by "
                "'aor run' only: inspect_ai asks one model"
            )
        self.card, self._build = card, build
        self.stimuli = {stimulus.stimulus_id: stimulus for stimulus in load_stimuli(build)}
        self.plan = plan_trials(study, list(self.stimuli.values()), [absent(card, {})])
        self.by_key = {trial.key: trial for trial in self.plan}

    def conversation(self, trial: Trial) -> Conversation:
        """Turns that present a trial's stimulus, in the form that the card's model takes."""
        stimulus, arm = self.stimuli[trial.stimulus_id], trial.arm
        turns = conversation(stimulus, self._build, arm.instruction, arm.steps)
        return turns if self._settings.system_turn else without_system_turns(turns)

    def options(self, trial: Trial) -> dict[str, Any]:
        """Fields of inspect_ai's ``GenerateConfig`` that decide a trial's answer."""
        generation, settings = trial.arm.generation, self._settings
        return {
            "max_tokens": generation.max_new_tokens,
            "temperature": generation.temperature,
            **({"seed": generation.seed} if settings.send_seed else {}),
            **({"extra_body": settings.extra} if settings.extra else {}),
        }

    def why_not(self, model: str) -> str | None:
        """Why answers of a model, by its name in inspect_ai, are not the card's; None if they are.

        Two names of a model may differ in the provider before them.
        """
        if not is_source(self.card, model):
            return f"the card {self.card.id!r} has the source {self.card.source!r}"
        provider = model.partition("/")[0]
        if self._settings.extra and provider not in _COMPATIBLE:
            return (
                f"the card {self.card.id!r} has extra fields, which the provider {provider!r} of "
                f"inspect_ai does not send ({', '.join(_COMPATIBLE)} do)"
            )
        return None

    @property
    def served_as(self) -> str:
        """The provider's name of the model that is to answer."""
        return self._settings.served_as or self.card.source


def is_source(card: ModelCard, model: str) -> bool:
    """True if a card is of a model, by its name in inspect_ai (``provider/name``)."""
    return f"/{model}".endswith(f"/{card.source}")


def facts(trial: Trial) -> dict[str, Any]:
    """All that decides a trial's key, and the key, as a sample's metadata has them."""
    arm = trial.arm
    return {
        "stimulus_id": trial.stimulus_id,
        "stimulus_sha256": trial.stimulus_sha256,
        "model": arm.model,
        "revision": arm.revision,
        "settings_sha256": arm.settings_sha256,
        "mitigation": arm.mitigation,
        "instruction": arm.instruction,
        "steps": list(arm.steps),
        "generation": arm.generation.model_dump(mode="json"),
        "trial_key": trial.key,
    }


def read_output(output: Any) -> Answer | Failure:
    """Read a model's answer from a ``ModelOutput``, or say why there is none.

    Where inspect_ai puts an error in the place of the text (a context that is too long), or does
    not say that the text is whole, there is no answer.
    """
    if not output.choices:
        return Failure(f"no answer: {quote(output.error or 'the output is empty', '')}")
    reason = output.stop_reason
    if reason == "content_filter":
        return Failure("content filter: the provider withheld the answer", blocked=True)
    if reason not in _ENDS:
        return Failure(f"the answer was broken off (stop_reason {reason})")
    text = output.message.text.strip()
    if not text:
        return Failure(f"empty answer: no text (stop_reason {reason})", lasting=True)
    text = text.encode(errors="replace").decode()
    tokens = output.usage.output_tokens if output.usage else 0
    served_by = quote(output.model, "")[:100] or None
    return Answer(text, tokens, finish_reason=_ENDS[reason], served_by=served_by)
