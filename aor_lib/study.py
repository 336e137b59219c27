"""A study as an object: open it, select the trials that answer a question, estimate, plot.

A :class:`Study` reads stored results and never asks a model. :meth:`Study.select` returns a
:class:`Selection` of trials, whose methods return :class:`~aor_lib.report.estimates.Estimates`.
"""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

import pandas as pd

from aor_lib.analysis import selections
from aor_lib.analysis.known_effects import ALONE, BENIGN, SPEAKER, measure_known_effects
from aor_lib.analysis.people import answer_texts, load_labels, settled
from aor_lib.analysis.results import load_cards, load_provenance, load_readings, load_trials
from aor_lib.config.params import PARAMS, load_prompts
from aor_lib.config.profile import Histories
from aor_lib.config.typed_yaml import did_you_mean, read
from aor_lib.report.display import Prose
from aor_lib.report.estimates import Estimates, SelectionError
from aor_lib.report.selection import Selection
from aor_lib.report.style import titled, titles
from aor_lib.steering import tables
from aor_lib.stimuli.emotion_check import emotion_changes
from aor_lib.stimuli.export import data_card
from aor_lib.stimuli.manifest import load_manifest, load_validation

SELECTIONS: Mapping[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "headline": selections.headline,
    "context": selections.context,
    "snr": selections.snr,
    "speaker": selections.speaker,
    "histories": selections.histories,
    "mitigation": selections.mitigation,
    "steering": selections.steering,
    "steering_hearing": partial(selections.steering, arm="steering_hearing"),
}
"""Names that :meth:`Study.select` takes, and the function that selects the trials of each."""
LABELS, SAMPLE = "labels", "sample.csv"
"""Folder of people's labels (``answers-NAME.csv``) in a study, and its file of sampled answers."""
SAMPLED = ["trial_key", "model", "condition", "intent", "item", "probability", "drawn"]
"""Columns of the file of sampled answers."""


@dataclass(frozen=True)
class Study:
    """A study, read from its folder: stimuli, trials and models; see :func:`open`.

    Parameters
    ----------
    build
        Folder of the study, such as ``build/laptop``.
    judge
        Id of the judge whose labels are used; by default the study's own.

    Examples
    --------
    >>> study.select("headline").rates().keys
    ('model', 'intent')
    """

    build: Path
    judge: str | None = None

    @cached_property
    def trials(self) -> pd.DataFrame:
        """One row per trial of both splits, with the stimulus, the answer and its label.

        **Stimulus.** stimulus_id, utterance_id, scenario, intent (pseudo_harmful, harmful,
        benign), text, contrast_of, split, block (part of the design), condition, variant (1 or more
        for repeated benign scenes in other voices and scenes), path (sound file), background_scene,
        scene_kind, snr_db, duration_s, events (JSON).
        **Speaker.** voice, gender, emotion, speaking_rate; history_id of earlier turns.
        **Model.** model, revision, mitigation (unique id, or ``none``), arm (shared by a mitigation
        and its controls, or ``none``), method (none, prompt, decoding, probe, or a method of
        steering), is_control.
        **Answer.** status (ok, failed, blocked, missing), response and rationale (None for
        harmful requests, whose answers are never shown), heard (JSON), error, tokens,
        label (full_compliance, partial_refusal, full_refusal, unjudged), p_refusal
        (probability of any refusal), flags.
        """
        return load_trials(self.build, self.judge)

    @cached_property
    def stimuli(self) -> pd.DataFrame:
        """The manifest: one row per stimulus."""
        return load_manifest(self.build)

    @cached_property
    def people(self) -> pd.DataFrame:
        """Answers eligible for human labelling, one row each, with their human labels.

        Answers whose request or response has changed since the sample was drawn are left out.

        Columns: trial_key, model, condition, intent, item, probability (of being drawn), drawn,
        people (the label on which annotators agreed; missing if there is none yet).
        """
        folder = self.build / LABELS
        if not (folder / SAMPLE).is_file():
            return pd.DataFrame(columns=[*SAMPLED, "people"])
        sample = pd.read_csv(folder / SAMPLE)
        sample = sample[sample["item"] == sample["trial_key"].map(answer_texts(self.build)["item"])]
        return sample.assign(people=sample["item"].map(settled(load_labels(folder, "answers"))))

    @cached_property
    def validation(self) -> pd.DataFrame:
        """Measurements of ``aor validate``, one row per sound file."""
        return load_validation(self.build)

    @cached_property
    def models(self) -> pd.DataFrame:
        """Model cards, one per row; ``answered`` is true if the model has answers in this study."""
        cards = pd.DataFrame([card.model_dump() for card in load_cards(self.build).values()])
        columns = ["id", "title", "family", "kind", "licence", "source", "revision", "note"]
        answered = self.trials.loc[self.trials["status"] == "ok", "model"]
        return cards[columns].assign(answered=cards["id"].isin(answered))

    @cached_property
    def prompts(self) -> pd.DataFrame:
        """Prompts and decodings used as mitigations, one per row, with instruction and steps."""
        asked = set(self.trials["mitigation"])
        prompts = [arm for prompt in load_prompts() for arm in prompt.arms if arm.id in asked]
        rows = [(p.id, p.title, p.instruction, " / ".join(p.steps)) for p in prompts]
        return pd.DataFrame(rows, columns=["mitigation", "title", "instruction", "steps"])

    @cached_property
    def histories(self) -> pd.DataFrame:
        """Histories, one per row, with their earlier turns."""
        rows = [
            (h.id, h.title, " / ".join(f"{turn.said} — {turn.answered}" for turn in h.turns))
            for h in read(PARAMS / "histories.yaml", Histories).histories
        ]
        return pd.DataFrame(rows, columns=["history_id", "title", "turns"])

    @cached_property
    def emotions(self) -> pd.DataFrame:
        """Target and measured change of prosody from neutral speech, by emotion."""
        return emotion_changes(self.stimuli, self.validation)

    @property
    def readings(self) -> pd.DataFrame:
        """Two blind readings of every utterance, one row per utterance and reader."""
        return load_readings()

    @cached_property
    def provenance(self) -> pd.DataFrame:
        """Provenance of the answers, one row each: model, revision, machine, library versions."""
        return load_provenance(self.build)

    @cached_property
    def titles(self) -> Mapping[str, str]:
        """Titles of models, scenarios and prompts, by id."""
        return titles(self.build, self.trials["model"])

    def titled(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Replace the ids in a frame's columns, index and cells by their titles."""
        return titled(frame, self.titles)

    @property
    def clips_url(self) -> str:
        """Address of the clips for a page: ``$AOR_CLIPS_URL``, or the study's folder of clips."""
        return os.environ.get("AOR_CLIPS_URL", f"{self.build}/clips")

    def select(self, about: str, split: str = "test") -> Selection:
        """Select the trials that answer a question.

        Parameters
        ----------
        about
            ``headline`` (the benign scene), ``context`` (every condition), ``snr``, ``speaker``
            (voice, emotion and speaking rate), ``histories`` (earlier turns), ``mitigation``
            (prompts, their controls, other decodings, none), ``steering`` (by ``role``: steering,
            random controls, none), ``steering_hearing`` (the chosen steering and none, in benign
            and threatening scenes).
        split
            ``test``, or ``dev``, on which reference models are trained and steering is chosen.

        Raises
        ------
        SelectionError
            If there is no such selection or split.
        """
        if about not in SELECTIONS:
            raise SelectionError(f"select: no {about!r}{did_you_mean(about, SELECTIONS)}")
        if split not in ("test", "dev"):
            raise SelectionError(f"split: {split!r} is neither 'test' nor 'dev'")
        trials = self.trials[self.trials["method"] != "probe"]
        selected = SELECTIONS[about](selections.of_split(trials, split))
        if about.startswith("steering"):
            selected = self._with_roles(selected)
        return Selection(self, selected)

    def steering(self, table: str) -> pd.DataFrame:
        """A table of ``aor steer``: ``points``, ``layer_sweep``, ``fitted`` or ``left_out``."""
        if table not in (known := tables.COLUMNS):
            raise SelectionError(f"steering: no table {table!r}{did_you_mean(table, known)}")
        return tables.load(self.build, table)

    def _with_roles(self, trials: pd.DataFrame) -> pd.DataFrame:
        """Add ``fitted_on`` and ``role``: none, chosen, tried, random or random_gate."""
        points = self.steering("points")
        trials = trials[trials["model"].isin(points["model"])]  # others were steered elsewhere
        chosen = points[points["chosen"].eq(True)].set_index("model")["method"]
        role = trials["method"].where(trials["is_control"] | trials["method"].eq("none"), "tried")
        role = role.mask(trials["method"] == trials["model"].map(chosen), "chosen")
        fitted = trials["model"].map(self.steering("fitted").set_index("model")["fitted_on"])
        fitted = fitted.where(trials["arm"] != selections.NONE, None)
        return trials.assign(role=role, fitted_on=fitted)

    def known_effects(self) -> Estimates:
        """Estimates of the effects planted in the reference models, with verdicts."""
        frame = measure_known_effects(self.trials)
        keys = ("model", "level", "baseline", "intent", "known_effect", "verdict")
        factors = {level: factor for factor, level in SPEAKER.items()}
        scenes = dict.fromkeys((BENIGN, ALONE), "condition")
        speaker = self.select("speaker")._estimates(frame, keys, "difference", factors=factors)
        context = self.select("context")._estimates(frame, keys, "difference", factors=scenes)
        clips = {True: speaker.clips, False: context.clips}
        return replace(context, clips=lambda row: clips[row["baseline"] in factors](row))

    def data_card(self) -> Prose:
        """The data card, as Markdown."""
        _, _, card = data_card(self.build).split("---\n", 2)  # without its front matter
        return Prose(re.sub(r"^#+ (.*)$", r"**\1**", card, flags=re.MULTILINE))


def open(build: str | Path, judge: str | None = None) -> Study:
    """Open a study's folder to read its stimuli, answers and labels.

    Parameters
    ----------
    build
        Folder of the study, such as ``build/laptop``.
    judge
        Id of the judge whose labels are used; by default the study's own. With ``speech-acts`` or
        ``string-match``, missing labels are computed, but not stored.

    Raises
    ------
    FileNotFoundError
        If the folder holds no study.

    Examples
    --------
    >>> open("build/smoke", judge="string-match").judge
    'string-match'
    """
    if not (Path(build) / "manifest.parquet").is_file():
        raise FileNotFoundError(f"{build} holds no study: run 'aor data' and 'aor run' first")
    return Study(Path(build), judge)
