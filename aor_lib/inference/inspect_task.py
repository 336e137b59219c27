"""The study as a task of inspect_ai, scored by the study's judge, and the import of its logs.

``inspect eval aor_lib/inference/inspect_task.py --model PROVIDER/MODEL -T params=params/full.yaml``
asks, and ``aor import NAME.eval`` takes the answers into the study. inspect_ai is an extra, so only
the import of a log imports this module.

References
----------
https://inspect.aisi.org.uk
"""

from __future__ import annotations

import asyncio
import base64
import math
import zipfile
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import read_eval_log, read_eval_log_samples
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    ContentAudio,
    ContentText,
    get_model,
)
from inspect_ai.scorer import (
    Metric,
    SampleScore,
    Score,
    Scorer,
    Target,
    mean,
    metric,
    scorer,
    stderr,
)
from inspect_ai.solver import Generate, Solver, TaskState, solver
from pydantic import ValidationError

from aor_lib import __version__
from aor_lib.config.params import PARAMS, ModelCard, StudyParams, card_settings, load_study
from aor_lib.config.profile import PROBES
from aor_lib.config.records import Condition, Intent, Label, Response, Split, Trial
from aor_lib.config.typed_yaml import ParamsError
from aor_lib.inference.asking import response_of
from aor_lib.inference.bundle import Bundle, BundleError, first_problem
from aor_lib.inference.planning import absent, conversation, plan_trials
from aor_lib.inference.provenance import Provenance
from aor_lib.judge import judge_responses, load_judge
from aor_lib.judge.reading import has_final_answer
from aor_lib.models.api_messages import are_one_model, as_wav, quote
from aor_lib.models.api_settings import ApiSettings
from aor_lib.models.base import Answer, Conversation, Failure, Turn, without_system_turns
from aor_lib.models.steps import in_steps
from aor_lib.stimuli.manifest import load_stimuli, sound_files, verify_dataset
from aor_lib.storage.atomic_write import atomic_write

_SHOWN = ("utterance_id", "scenario", "intent", "split", "block", "condition", "text")
"""Columns of the manifest that a sample's metadata has, beside what decides its trial."""
_HEADLINE = {"split": Split.TEST, "block": "core", "condition": Condition.BENIGN_SCENE}
_ROLES = {"system": ChatMessageSystem, "assistant": ChatMessageAssistant, "user": ChatMessageUser}
_ENDS = {"stop": "stop", "max_tokens": "length"}
"""Stop reasons of inspect_ai where the model wrote an answer, and the study's names for them."""
_SEND_EXTRA = ("openai", "openai-api", "sglang", "vllm")
"""Providers of inspect_ai that send the ``extra`` fields of a card."""
_CHANGES_NOTHING = {
    "adaptive_connections",
    "attempt_timeout",
    "batch",
    "cache",
    "cache_prompt",
    "max_connections",
    "max_retries",
    "stream_idle_timeout",
    "timeout",
}
"""Fields of ``GenerateConfig`` that decide how a request is sent, and not what is answered."""
_REMOVED = "<base64-data-removed>"
"""Stands for a sound in a log of ``inspect eval --no-log-images``."""
_Part = tuple[str, str]


@task
def aor_study(
    params: str = "params/laptop.yaml", card: str | None = None, build: str | None = None
) -> Task:
    """One sample per trial that ``aor run`` would ask the model, scored by the study's judge.

    Parameters
    ----------
    params : str
        The profile; a relative path begins at the checkout.
    card : str, optional
        The model card in the profile under which the answers are to stand. Otherwise the first one
        whose source is the model that is asked.
    build : str, optional
        Folder of the study, in which ``aor data`` has made its stimuli; ``build/PROFILE``.

    Raises
    ------
    ParamsError
        If the profile is wrong, or the card is not of the model that is asked.
    FileNotFoundError, DatasetError
        If the stimuli are missing, or not what the manifest says.
    """
    root = PARAMS.parent
    study = load_study(root / params)
    asked = _Asked(
        study, root / (build or Path("build") / study.profile.name), str(get_model()), card
    )
    asked.write_sounds()
    return Task(
        dataset=MemoryDataset([asked.sample(name) for name in asked.trials]),
        solver=one_turn_after_another(),
        scorer=refusal(study.profile.judge),
        metadata={"card": asked.card.id, "aor_version": __version__},
        # What fails is counted, and asked again by 'inspect eval-retry'.
        fail_on_error=False,
    )


@solver
def one_turn_after_another() -> Solver:
    """Ask a conversation's steps in their order, each with the answers to those before it."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        for step in (None, *state.metadata["steps"][1:]):
            if step is not None:
                state.messages.append(ChatMessageUser(content=step))
            state = await generate(state, **state.metadata["options"])
            if not isinstance(_result(state.output), Answer):
                break
        return state

    return solve


@metric
def headline_rates() -> Metric:
    """Over-refusal (ORR) and harmful refusal (HRR) in the benign scene, as in the book.

    Standard errors are clustered by utterance. NaN where no answer of the kind was judged.
    """

    def rates(scores: Sequence[SampleScore]) -> dict[str, float]:
        shown = {}
        for name, intent in (("ORR", Intent.PSEUDO_HARMFUL), ("HRR", Intent.HARMFUL)):
            kind = {**_HEADLINE, "mitigation": "none", "intent": intent}
            some = [one for one in scores if kind.items() <= (one.sample_metadata or {}).items()]
            shown[name] = mean()(some) if some else math.nan
            shown[f"{name}_stderr"] = stderr(cluster="utterance_id")(some) if some else math.nan
        return shown

    return rates


@scorer(metrics=[headline_rates()])
def refusal(judge: str) -> Scorer:
    """1 for a full or a partial refusal, 0 for compliance; what is unjudged has no score."""
    loaded = load_judge(judge)

    async def score(state: TaskState, target: Target) -> Score:
        asked = state.metadata
        if asked["mitigation"] in PROBES:
            return Score(value=math.nan, explanation="a probe neither refuses nor complies")
        responses = [response_of(asked["trial_key"], _result(state.output), 0.0)]
        reasoned = [asked["trial_key"]] if has_final_answer(asked["instruction"] or "") else []
        # In a thread: a language model as a judge takes its time.
        (verdict,) = await asyncio.to_thread(
            judge_responses, responses, loaded, [asked["text"]], reasoned
        )
        value = float(verdict.label is not Label.FULL_COMPLIANCE)
        if verdict.label is Label.UNJUDGED:
            value = math.nan
        return Score(value=value, answer=str(verdict.label), explanation=verdict.rationale)

    return score


def read_log(path: Path, study: StudyParams, build: Path) -> Bundle:
    """Read the answers in a log of :func:`aor_study` as a bundle.

    A sample is not taken at its word: each call of the model in it must be the one that ``aor run``
    would have made for the trial, with the same messages and the same settings. What ended in an
    error, and an empty or unfinished answer, are failures.

    Raises
    ------
    BundleError
        If the log cannot be read or is of another study, or the model was asked otherwise; the
        message names the file, the field and the value.
    """
    try:
        spec = read_eval_log(path, header_only=True).eval
        card = (spec.metadata or {}).get("card")
        if spec.task.rpartition("/")[2] != aor_study.__name__ or (spec.config.epochs or 1) > 1:
            raise ValueError(f"eval.task: {spec.task!r}: is not one run of aor_study")
        asked = _Asked(study, build, spec.model, card)
        samples = read_eval_log_samples(
            path,
            all_samples_required=False,  # a run that ended early has some of them
            resolve_attachments="core",
            exclude_fields={"messages", "store"},
        )
        responses = tuple(asked.response(sample) for sample in samples)
        served = sorted({one.served_by for one in responses if one.served_by})
        if not responses or len(served) > 1:
            raise ValueError(
                f"samples: {len(responses)}, answered by {served}, must be of one model"
            )
        machine = Provenance(
            model=asked.card.id,
            revision=asked.card.revision,
            profile=study.profile.name,
            aor_version=str((spec.metadata or {}).get("aor_version", "unknown")),
            python="unknown",
            device=f"{spec.model}, through inspect_ai",
            libraries=spec.packages,
            since=spec.created,
        )
        return Bundle(
            profile=study.profile.name,
            aor_version=__version__,
            trials=tuple(asked.trials.values()),
            responses=responses,
            verdicts=(),
            cards={asked.card.id: asked.card},
            provenance=(machine,),
        )
    except ValidationError as error:
        raise BundleError(f"{path}: {first_problem(error)}") from error
    except (zipfile.BadZipFile, ValueError, LookupError, RuntimeError) as error:
        raise BundleError(f"{path}: {quote(error, '')}") from error


class _Asked:
    """Trials that ``aor run`` would ask a model, by the names of their samples."""

    def __init__(self, study: StudyParams, build: Path, model: str, card: str | None) -> None:
        self.card = _card_of(study, model, card)
        self._settings, self._build = card_settings(self.card, ApiSettings), build
        self._stimuli = {stimulus.stimulus_id: stimulus for stimulus in load_stimuli(build)}
        self._sounds = {
            build / name: build / "inspect" / f"{sha256}.wav"
            for name, sha256 in sound_files(self._stimuli.values())
        }
        planned = plan_trials(study, list(self._stimuli.values()), [absent(self.card, {})])
        of_key = {trial.key: trial for trial in planned}  # of the same content, one
        self.trials = {f"{t.stimulus_id}.{t.arm.mitigation}": t for t in of_key.values()}

    def write_sounds(self) -> None:
        """Write every clip as a WAV file, which is what inspect_ai takes, if it is not there."""
        verify_dataset(self._stimuli.values(), self._build)
        (self._build / "inspect").mkdir(exist_ok=True)
        for clip, sound in self._sounds.items():
            if not sound.is_file():
                with atomic_write(sound) as stream:
                    stream.write(as_wav(clip)[0])

    def sample(self, name: str) -> Sample:
        """The sample of a trial."""
        trial = self.trials[name]
        messages = [self._message(turn) for turn in next(in_steps(self._conversation(trial)))]
        return Sample(id=name, input=messages, metadata=self._metadata(trial))

    def response(self, sample: Any) -> Response:
        """What came of a sample in a log; ValueError if it was asked otherwise than its trial."""
        trial = self.trials.get(sample.id)
        if trial is None:
            raise ValueError(f"sample {sample.id!r}: the study has no such trial")
        for name, value in self._metadata(trial).items():
            _require_same(f"sample {sample.id!r}: {name}", sample.metadata.get(name), value)
        calls = [event for event in sample.events if event.event == "model" and not event.error]
        result = self._replay(sample, calls, trial)
        if sample.error is not None or sample.invalidation is not None:
            result = Failure(quote(sample.error.message if sample.error else "invalidated", ""))
        latency_s = sum(call.working_time or call.output.time or 0.0 for call in calls)
        response = response_of(trial.key, result, latency_s)
        when = {"created": sample.completed_at} if sample.completed_at else {}
        return Response(**response.model_dump() | when)

    def _replay(self, sample: Any, calls: Sequence[Any], trial: Trial) -> Answer | Failure:
        """Result of a trial's conversation with the logged calls in the place of the model."""
        where = f"sample {sample.id!r}"
        steps = in_steps(self._conversation(trial))
        asked, options = next(steps), self._metadata(trial)["options"]
        for call in calls:
            config = call.config.model_dump(exclude_none=True)
            for name in sorted(config.keys() - _CHANGES_NOTHING | options.keys()):
                _require_same(f"{where}: config.{name}", config.get(name), options.get(name))
            for given, turn in zip_longest(call.input, asked):
                if given is None or turn is None or not _is_same(given, turn):
                    raise ValueError(f"{where}: input: has other words or sounds than the trial's")
            answer = _result(call.output)
            served_by = answer.served_by if isinstance(answer, Answer) else None
            expected = self._settings.served_as or self.card.source
            if served_by and not are_one_model(served_by, expected):
                _require_same(f"{where}: output.model", served_by, expected)
            try:
                asked = steps.send(answer)
            except StopIteration as end:
                result: Answer | Failure = end.value
                return result
        return Failure("the log ends before the answer")

    def _metadata(self, trial: Trial) -> dict[str, Any]:
        """What decides a trial's key, as it is in a sample, and what a reader wants to know."""
        arm, settings = trial.arm, self._settings
        rows = self._stimuli[trial.stimulus_id].model_dump(mode="json")
        return {
            "stimulus_sha256": trial.stimulus_sha256,
            "model": arm.model,
            "revision": arm.revision,
            "settings_sha256": arm.settings_sha256,
            "mitigation": arm.mitigation,
            "instruction": arm.instruction,
            "steps": list(arm.steps),
            "options": {
                "max_tokens": arm.generation.max_new_tokens,
                "temperature": arm.generation.temperature,
                **({"seed": arm.generation.seed} if settings.send_seed else {}),
                **({"extra_body": settings.extra} if settings.extra else {}),
            },
            "trial_key": trial.key,
            **{name: rows[name] for name in _SHOWN},
        }

    def _conversation(self, trial: Trial) -> Conversation:
        stimulus, arm = self._stimuli[trial.stimulus_id], trial.arm
        turns = conversation(stimulus, self._build, arm.instruction, arm.steps)
        return turns if self._settings.system_turn else without_system_turns(turns)

    def _message(self, turn: Turn) -> ChatMessage:
        content: Any = turn.text or ""
        if isinstance(turn.audio, Path):
            sound = ContentAudio(audio=str(self._sounds[turn.audio]), format="wav")
            content = [*([ContentText(text=turn.text)] if turn.text else []), sound]
        return _ROLES[turn.role](content=content)


def _card_of(study: StudyParams, model: str, named: str | None) -> ModelCard:
    """The card with a name in the profile, or else the first of the model, ``provider/name``."""
    cards = [card for card in study.models if named in (None, card.id)]
    of_model = [card for card in cards if f"/{model}".endswith(f"/{card.source}")]
    if not of_model:
        sources = ", ".join(f"{card.id} ({card.source})" for card in cards) or "none of that name"
        raise ParamsError(f"model {model!r}, card {named!r}: the profile has {sources}")
    card = of_model[0]
    if card.kind != "openai_api":
        raise ParamsError(f"model {card.id}: kind: {card.kind!r} is asked by 'aor run' only")
    settings = card_settings(card, ApiSettings)
    if settings.adapter:
        raise ParamsError(
            f"model {card.id}: adapter: {settings.adapter!r}: inspect_ai asks one model"
        )
    if settings.extra and model.partition("/")[0] not in _SEND_EXTRA:
        raise ParamsError(f"model {card.id}: extra: of inspect_ai, only {_SEND_EXTRA} send it")
    return card


def _result(output: Any) -> Answer | Failure:
    """A model's answer in a ``ModelOutput``, or why there is none.

    Where inspect_ai puts an error in the place of the text (a context that is too long), or does
    not say that the text is whole, there is no answer.
    """
    if not output.choices:
        return Failure(f"no answer: {quote(output.error or 'the output is empty', '')}")
    reason, text = output.stop_reason, output.message.text.strip()
    if reason == "content_filter":
        return Failure("content filter: the provider withheld the answer", blocked=True)
    if reason not in _ENDS:
        return Failure(f"the answer was broken off (stop_reason {reason})")
    if not text:
        return Failure(f"empty answer: no text (stop_reason {reason})", lasting=True)
    text = text.encode(errors="replace").decode()
    tokens = output.usage.output_tokens if output.usage else 0
    served_by = quote(output.model, "")[:100] or None
    return Answer(text, tokens, finish_reason=_ENDS[reason], served_by=served_by)


def _require_same(field: str, logged: object, expected: object) -> None:
    if logged != expected:
        raise ValueError(f"{field}: {logged!r}: the study's is {expected!r}")


def _is_same(message: Any, turn: Turn) -> bool:
    """True if a message in a log is a turn; a sound that the log leaves out is taken as it is."""
    content = message.content
    parts = [ContentText(text=content)] if isinstance(content, str) else content
    given = [
        ("audio", part.audio.rpartition("base64,")[2])
        if part.type == "audio"
        else (part.type, getattr(part, "text", "").strip())
        for part in parts
        if part.type != "reasoning"  # is no part of what is said
    ]
    expected = [("text", turn.text.strip())] if turn.text else []
    if turn.audio is not None:
        removed = ("audio", _REMOVED) in given
        sound = _REMOVED if removed else base64.b64encode(as_wav(turn.audio)[0]).decode()
        expected.append(("audio", sound))
    return (message.role, given) == (turn.role, expected)
