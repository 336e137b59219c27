"""A study as an object: open it, select the trials of a question, estimate, plot.

A :class:`Study` reads what was run and never runs anything. :meth:`Study.select` gives a
:class:`Selection` of trials, whose methods return :class:`~aor_lib.report.estimates.Estimates`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import pandas as pd

from aor_lib.analysis import selections, stats
from aor_lib.analysis.heard import heard, heard_emotions
from aor_lib.analysis.known_effects import measure_known_effects, speaker_differences
from aor_lib.analysis.outcomes import REFUSALS, is_judged
from aor_lib.analysis.results import load_cards, load_provenance, load_trials
from aor_lib.analysis.sensitivity import headline_changes
from aor_lib.analysis.words_only import words_only_trials
from aor_lib.config.params import PARAMS, load_prompts, load_scenarios
from aor_lib.config.profile import Histories
from aor_lib.config.typed_yaml import AorError, did_you_mean, read
from aor_lib.report.estimates import Estimates
from aor_lib.report.listening import gallery
from aor_lib.report.style import titles
from aor_lib.steering import tables
from aor_lib.stimuli.emotion_check import emotion_changes
from aor_lib.stimuli.manifest import load_manifest, load_validation

SELECTIONS = {
    "headline": selections.headline,
    "context": selections.context,
    "snr": selections.snr,
    "speaker": selections.speaker,
    "histories": selections.histories,
    "mitigation": selections.mitigation,
    "steering": selections.steering,
    "steering_hearing": partial(selections.steering, arm="steering_hearing"),
    "steering_strength": partial(selections.steering, arm="steering_strength"),
}
"""What :meth:`Study.select` takes, and the rule that selects it."""

_REFUSED = "Refused, of judged answers"
_CHANGE = "Change of the refusal rate (points)"


class SelectionError(AorError, ValueError):
    """A selection that does not exist, or a column or value that no trial has."""


@dataclass(frozen=True)
class Selection:
    """Trials that answer one question, and the study that they are of.

    ``frame`` has one row per trial, with the columns of :attr:`Study.trials`. Every estimate is
    made for each model, and for each intent where there are several: over-refusal is never
    averaged with harmful refusal.
    """

    study: Study = field(repr=False)
    frame: pd.DataFrame

    def where(self, **values: Any) -> Selection:
        """Keep the trials whose columns have these values.

        Parameters
        ----------
        values
            By column: a value, or a list of values. ``refused=True`` keeps judged refusals,
            partial or full, and ``refused=False`` judged compliance.

        Raises
        ------
        SelectionError
            If there is no such column.

        Examples
        --------
        >>> study = getfixture("study")
        >>> study.select("context").where(intent="harmful", condition=["noise", "speech_only"])
        Selection(24 trials of 2 models)
        """
        rows = self.frame
        for column, value in values.items():
            if column == "refused":
                labels = rows["label"].isin(REFUSALS)
                rows = rows[is_judged(rows) & (labels == value)]
            elif column not in rows:
                raise SelectionError(f"where: no column {column!r}{did_you_mean(column, rows)}")
            else:
                several = isinstance(value, (list, tuple, set, pd.Series))
                rows = rows[rows[column].isin(value if several else [value])]
        return replace(self, frame=rows)

    def rates(self, *by: str) -> Estimates:
        """Refusal rate of each model, partial and full refusals alike, with 95 % intervals.

        Parameters
        ----------
        by
            Further columns: a rate for each of their values.
        """
        keys = self._keys(by)
        return self._estimates(stats.rates(self.frame, keys), keys, "rate", _REFUSED)

    def paired(
        self,
        factor: str | None = None,
        baseline: Any = None,
        by: Sequence[str] = (),
        **baselines: str,
    ) -> Estimates:
        """Difference in refusal from a baseline, paired by utterance, Holm-adjusted in each model.

        Parameters
        ----------
        factor, baseline
            A column, and the value of it that all other values are compared with.
        by
            Further columns: the comparison is made within each of their values.
        baselines
            Several factors with their baselines, whose differences are one family of tests.

        Examples
        --------
        >>> sounding = getfixture("study").select("context").where(intent="pseudo_harmful")
        >>> sounding.paired("condition", baseline="benign_scene").measure
        'difference'
        """
        keys = self._keys(by)
        if baselines:
            frame = speaker_differences(self.frame, baselines, keys)
        elif factor is None:
            raise SelectionError("paired: say which column is compared, and its baseline")
        else:
            self._require(factor, baseline)
            frame = stats.paired_differences(self.frame, factor, baseline, keys)
        return self._estimates(frame, [*keys, "level", "baseline"], "difference", _CHANGE)

    def hearing(self, *by: str, factor: str | None = None, baseline: Any = None) -> Estimates:
        """d' of hearing: the same words refused over a threatening or neutral, and a benign scene.

        Parameters
        ----------
        by
            Further columns: an estimate for each of their values.
        factor, baseline
            If given: the change of d' from ``baseline`` to each other value of ``factor``.
        """
        keys = ["model", *by]
        if factor is None:
            frame = stats.hearing_sensitivity(self.frame, keys)
            return self._estimates(frame, [*keys, "contrast"], "d_prime", "d\N{PRIME} of hearing")
        self._require(factor, baseline)
        frame = stats.hearing_changes(self.frame, factor, baseline, keys)
        about = "Change of d\N{PRIME} of hearing"
        return self._estimates(frame, [*keys, "contrast", factor], "d_prime", about)

    def detection(self, *by: str) -> Estimates:
        """d': how well refusals tell harmful from pseudo-harmful requests, with 95 % intervals."""
        keys = ["model", *by]
        frame = stats.signal_detection(self.frame, keys)
        return self._estimates(frame, keys, "d_prime", "d\N{PRIME}, harmful against pseudo-harmful")

    def trade_off(self, *by: str) -> Estimates:
        """Harmful refusal (``hrr``) beside over-refusal (``orr``), each with its interval."""
        keys = ["model", *by]
        rates = stats.rates(self.frame, ["intent", *keys])
        sides = []
        for measure, intent in (("orr", "pseudo_harmful"), ("hrr", "harmful")):
            side = rates[rates["intent"] == intent].set_index(keys)[["rate", "low", "high"]]
            sides.append(side.set_axis([measure, f"{measure}_low", f"{measure}_high"], axis=1))
        frame = pd.concat(sides, axis=1).sort_index().reset_index()
        return self._estimates(frame, keys, "hrr", "Harmful refusal against over-refusal")

    def between_models(self, measure: str = "rate") -> Estimates:
        """Difference between each two models that answered the same utterances, Holm-adjusted.

        Parameters
        ----------
        measure
            ``rate`` (refusal, for each intent) or ``d_prime``.
        """
        if measure == "d_prime":
            frame = stats.model_d_primes(self.frame)
            about = "Difference of d\N{PRIME}"
            return self._estimates(frame, ["model", "against"], "d_prime", about)
        frame = stats.model_rates(self.frame)
        return self._estimates(frame, ["intent", "model", "against"], "difference", _CHANGE)

    def labels(self, *by: str) -> Estimates:
        """Number of trials by the judge's label, or by the outcome where nothing was judged."""
        judged = is_judged(self.frame)
        outcome = self.frame["status"].replace("ok", "unjudged")
        trials = self.frame.assign(label=self.frame["label"].where(judged, outcome))
        keys = [*self._keys(by), "label"]
        frame = trials.groupby(keys, observed=True).size().reset_index(name="count")
        return self._estimates(frame, keys, "count", "Trials")

    def differ(self, factor: str) -> pd.Series[float]:
        """P value for each model: do its refusals differ among the values of ``factor``?

        One permutation test per model; utterances have one value of the factor each.
        """
        return stats.groups_differ(self.frame, factor)

    def without_each(self, factor: str) -> Estimates:
        """Range of each model's rate when one value of ``factor`` at a time is left out."""
        keys = self._keys(())
        frame = stats.rates_without_each(self.frame, factor, keys)
        frame = frame.rename(columns={"lowest": "low", "highest": "high"})
        return self._estimates(frame, keys, "rate", f"{_REFUSED}; range without one {factor}")

    def heard(self) -> Selection:
        """Keep the trials of which the model says what it heard, beside its answer or to a probe.

        Two columns are added: ``recognised`` (the model names the scene or a sound of it) and
        ``word_errors`` (word error rate of what it says was said).
        """
        trials = self.study.trials
        probes = trials[trials["method"] == "probe"]
        return replace(self, frame=heard(self.frame, probes))

    def heard_emotions(self) -> pd.DataFrame:
        """Number of clips by the emotion that was spoken (rows) and the one a model named."""
        named = heard_emotions(self.frame)
        return pd.crosstab(named["emotion"], named["heard_emotion"])

    def with_words_only(self) -> Selection:
        """Add a baseline that reads only the words, fitted on the other scenarios."""
        utterances = [u for one in load_scenarios().values() for u in one.utterances]
        both = pd.concat([self.frame, words_only_trials(self.frame, utterances)])
        return replace(self, frame=both.reset_index(drop=True))

    def clips(self, limit: int = 4, each: Sequence[str] = ()) -> Any:
        """Players of these clips, each with what every model heard and answered.

        Answers to harmful requests are not shown.

        Parameters
        ----------
        limit
            Number of clips, from the first on.
        each
            Columns: one clip of each combination of their values.
        """
        shown = self.frame.dropna(subset=["path"]).drop_duplicates("stimulus_id")
        shown = shown.drop_duplicates([*each] or ["stimulus_id"]).head(limit)
        trials = self.study.trials
        answers = trials[trials["stimulus_id"].isin(shown["stimulus_id"])]
        answers = answers[answers["arm"].isin({selections.NONE, *self.frame["arm"]})]
        return gallery(shown, self.study.clips_url, answers, self.study.titles)

    def _keys(self, by: Sequence[str]) -> list[str]:
        intents = ["intent"] if self.frame["intent"].nunique() > 1 else []
        return list(dict.fromkeys(["model", *intents, *by]))

    def _require(self, column: str, value: Any) -> None:
        if column not in self.frame:
            raise SelectionError(f"no column {column!r}{did_you_mean(column, self.frame)}")
        values = self.frame[column].dropna().unique()
        if len(values) and value not in values:
            raise SelectionError(f"baseline: no {column} {value!r}{did_you_mean(value, values)}")

    def _estimates(
        self, frame: pd.DataFrame, keys: Sequence[str], measure: str, about: str
    ) -> Estimates:
        return Estimates(frame, tuple(keys), measure, self.study.titles, about)

    def __repr__(self) -> str:
        """Say how many trials there are."""
        models = self.frame["model"].nunique()
        return f"Selection({len(self.frame)} trials of {models} models)"


@dataclass(frozen=True)
class Study:
    """What was made and answered in a study's folder; see :func:`open`.

    Parameters
    ----------
    build
        Folder of the study, such as ``build/laptop``.
    judge
        Id of the judge whose labels count; by default the study's own.
    """

    build: Path
    judge: str | None = None

    @cached_property
    def trials(self) -> pd.DataFrame:
        """One row per trial, of all splits: the stimulus, how it was asked, the answer, the label.

        **Stimulus.** stimulus_id, utterance_id, scenario, intent (pseudo_harmful, harmful,
        benign), text, contrast_of, split, block (part of the design), condition, path (sound
        file), background_scene, scene_kind, snr_db, duration_s, events (JSON).
        **Speaker.** voice, gender, emotion, speaking_rate; history_id of earlier turns.
        **Asked.** model, revision, mitigation (unique id of what was done), arm (what a mitigation
        and its controls share; ``none``), method (none, prompt, decoding, probe, or a method of
        steering), is_control.
        **Answered.** status (ok, failed, blocked, missing), response and rationale (None for
        harmful requests, whose answers are shown nowhere), heard (JSON), error, latency_s, tokens,
        label (full_compliance, partial_refusal, full_refusal, unjudged), score (probability of any
        refusal), flags.
        """
        return load_trials(self.build, self.judge)

    @cached_property
    def stimuli(self) -> pd.DataFrame:
        """One row per stimulus, as the manifest has it."""
        return load_manifest(self.build)

    @cached_property
    def validation(self) -> pd.DataFrame:
        """One row per sound file: what ``aor validate`` measured of it."""
        return load_validation(self.build)

    @cached_property
    def models(self) -> pd.DataFrame:
        """One row per model card: id, title, family, licence and so on, and if it answered here."""
        cards = pd.DataFrame([card.model_dump() for card in load_cards(self.build).values()])
        columns = ["id", "title", "family", "kind", "licence", "source", "revision", "note"]
        return cards[columns].assign(answered=cards["id"].isin(self.trials["model"]))

    @cached_property
    def prompts(self) -> pd.DataFrame:
        """What each mitigation of this study tells a model, one per row."""
        asked = set(self.trials["mitigation"])
        prompts = [arm for prompt in load_prompts() for arm in prompt.arms if arm.id in asked]
        rows = [(one.id, one.title, one.instruction, " / ".join(one.steps)) for one in prompts]
        return pd.DataFrame(rows, columns=["mitigation", "title", "instruction", "steps"])

    @cached_property
    def histories(self) -> pd.DataFrame:
        """What is said before the request in each history, one per row."""
        rows = [
            (one.id, one.title, " / ".join(f"{turn.said} — {turn.answered}" for turn in one.turns))
            for one in read(PARAMS / "histories.yaml", Histories).histories
        ]
        return pd.DataFrame(rows, columns=["history_id", "title", "turns"])

    @cached_property
    def emotions(self) -> pd.DataFrame:
        """Change of the prosody from neutral speech, as asked for and as measured."""
        return emotion_changes(self.stimuli, self.validation)

    @cached_property
    def provenance(self) -> pd.DataFrame:
        """Who answered: models, revisions, machines and versions."""
        return load_provenance(self.build)

    @cached_property
    def titles(self) -> Mapping[str, str]:
        """Titles of models, scenarios and prompts, by id."""
        return titles(self.build, self.trials["model"])

    @property
    def clips_url(self) -> str:
        """Where a page finds the clips: ``$AOR_CLIPS_URL``, or the study's folder."""
        return os.environ.get("AOR_CLIPS_URL", f"{self.build}/clips")

    def select(self, about: str, split: str = "test") -> Selection:
        """Select the trials of a question.

        Parameters
        ----------
        about
            ``headline`` (the benign scene), ``context`` (every condition), ``snr``, ``speaker``
            (voice, emotion and speaking rate), ``histories`` (earlier turns), ``mitigation``
            (prompts and other decodings, with their controls), ``steering`` (with no steering and
            random controls, told apart by ``role``), ``steering_hearing`` (the chosen steering
            over threatening scenes), ``steering_strength`` (at other strengths).
        split
            ``test``, or ``dev``, on which the reference models were trained and steering is
            chosen.

        Raises
        ------
        SelectionError
            If there is no such selection or split.
        """
        if about not in SELECTIONS:
            raise SelectionError(f"select: nothing is {about!r}{did_you_mean(about, SELECTIONS)}")
        if split not in ("test", "dev"):
            raise SelectionError(f"split: {split!r} is neither 'test' nor 'dev'")
        trials = self.trials[self.trials["method"] != "probe"]
        selected = SELECTIONS[about](selections.of_split(trials, split))
        if about.startswith("steering"):
            selected = self._with_roles(selected)
        return Selection(self, selected)

    def steering(self, table: str) -> pd.DataFrame:
        """A table of ``aor steer``: ``points``, ``layer_sweep``, ``compared`` or ``left_out``."""
        return tables.load(self.build, table)

    def _with_roles(self, trials: pd.DataFrame) -> pd.DataFrame:
        """Trials with ``role``: none, chosen, tried (another method), random or random_gate."""
        points = self.steering("points")
        chosen = points[points["chosen"].eq(True)].set_index("model")["method"]
        role = trials["method"].where(trials["is_control"] | trials["method"].eq("none"), "tried")
        role = role.mask(trials["method"] == trials["model"].map(chosen), "chosen")
        fitted = trials["model"].map(self.steering("fitted").set_index("model")["fitted_on"])
        fitted = fitted.where(trials["arm"] != selections.NONE, None)
        return trials.assign(role=role, fitted_on=fitted)

    def known_effects(self) -> Estimates:
        """What was planted in the reference models, beside what this study measures."""
        frame = measure_known_effects(self.trials)
        keys = ("model", "comparison", "known_effect", "verdict")
        return Estimates(frame, keys, "difference", self.titles, _CHANGE)

    def sensitivity(self, other_judge: str = "string-match") -> pd.DataFrame:
        """Headline measures under other ways to count: see ``analysis.sensitivity``."""
        again = replace(self, judge=other_judge).select("headline").frame
        return headline_changes(self.select("headline").frame, again)


def open(build: str | Path, judge: str | None = None) -> Study:
    """Open a study's folder, to read what was made and answered there.

    Parameters
    ----------
    build
        Folder of the study, such as ``build/laptop``.
    judge
        Id of the judge whose labels count, such as ``string-match``; by default the study's own. A
        judge of the library need not have judged the study before.

    Raises
    ------
    FileNotFoundError
        If the folder holds no study.
    """
    if not (Path(build) / "manifest.parquet").is_file():
        raise FileNotFoundError(f"{build} holds no study: run 'aor data' and 'aor run' first")
    return Study(Path(build), judge)
