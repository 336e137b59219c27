"""Trials that answer one question, and the estimates computed from them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlencode

import pandas as pd

from aor_lib.analysis import selections
from aor_lib.analysis.heard import heard, refusals_as_heard
from aor_lib.analysis.known_effects import speaker_differences
from aor_lib.analysis.outcomes import REFUSALS, is_judged
from aor_lib.analysis.people import corrected_differences, corrected_rates
from aor_lib.analysis.stats import detection, paired
from aor_lib.analysis.words_only import words_only_trials
from aor_lib.config.params import load_scenarios
from aor_lib.config.records import Condition
from aor_lib.config.typed_yaml import did_you_mean
from aor_lib.report.display import Html, Prose
from aor_lib.report.estimates import TRADE_OFF, Estimates, SelectionError, rows_where
from aor_lib.report.listening import gallery
from aor_lib.report.style import cell_title
from aor_lib.steering.tables import steering_verdicts

if TYPE_CHECKING:
    from aor_lib.study import Study


@dataclass(frozen=True)
class Selection:
    """Trials that answer one question (``frame``, as in ``Study.trials``), and their study.

    Rates and differences are estimated per model, and per intent if there are several.
    """

    study: "Study" = field(repr=False)
    frame: pd.DataFrame

    def where(self, **values: Any) -> Self:
        """Keep the trials whose columns have these values.

        Parameters
        ----------
        values
            A value or a list of values for each column. ``refused=True`` keeps answers judged
            a partial or full refusal, and ``refused=False`` those judged full compliance.

        Examples
        --------
        >>> study.select("context").where(intent="harmful", condition=["noise", "speech_only"])
        Selection(trials=20, models=1)
        """
        rows = self.frame
        if "refused" in values:
            rows = rows[is_judged(rows) & (rows["label"].isin(REFUSALS) == values.pop("refused"))]
        return replace(self, frame=rows_where(rows, values))

    def rates(self, *by: str) -> Estimates:
        """Rate of partial and full refusals, per model and value of the columns ``by``.

        Rates are computed from the judge's labels, and corrected once people have labelled a
        whole sample of a model's answers (``labelled`` is the number of their labels).
        Trials without a value in a column of ``by`` are left out.
        """
        keys = self._keys(by)
        return self._estimates(corrected_rates(self.frame, keys, self.study.people), keys, "rate")

    def paired(
        self,
        factor: str | None = None,
        baseline: Any = None,
        by: Sequence[str] = (),
        **baselines: Any,
    ) -> Estimates:
        """Differences in refusal from a baseline, paired by utterance, Holm-adjusted per model.

        If there is one factor and people labelled answers at both levels, their labels correct
        the difference.

        Parameters
        ----------
        factor, baseline
            Column and baseline value. In the frame, numbers become text such as ``6 dB``.
        by
            Further columns; levels are compared within each combination of their values.
        baselines
            Several columns with their baselines, tested as one family, in place of ``factor`` and
            ``baseline``. As angry speech is also faster and louder, only the comparisons of
            ``emotion`` include it.
        """
        keys = self._keys(by)
        trials, factors = self.frame.copy(), dict[Any, str]()
        if not (factor is None) == (baseline is None) == bool(baselines):
            raise SelectionError("paired: give one factor and its baseline, or baselines by column")
        for name, value in baselines.items() or [(str(factor), baseline)]:
            self._require(name, value)
            levels = trials[name].astype("category").cat  # numbers become words, in their order
            words = {x: cell_title(name, x) for x in levels.categories if not isinstance(x, str)}
            level = words.get(value, value)
            if name in keys or level in factors:
                raise SelectionError(f"paired: {name}={level!r}: column or value already in use")
            trials[name], factors[level] = levels.rename_categories(words), name
            if baselines and name != "emotion":  # angry speech is also faster and louder
                trials[name] = trials[name].mask(trials["emotion"] == "angry")
        if baselines:
            frame = speaker_differences(trials, {n: level for level, n in factors.items()}, keys)
        else:
            [(level, name)] = factors.items()
            frame = corrected_differences(trials, name, level, keys, self.study.people)
        if "intent" not in keys:
            frame["intent"] = self.frame["intent"].iloc[0]
        compared, keys = replace(self, frame=trials), [*keys, "level", "baseline"]
        return compared._estimates(frame, keys, "difference", factors=factors)

    def hearing(self, *by: str) -> Estimates:
        """d' of hearing: refusal of the same words in other scenes, against the benign scene."""
        keys = self._by(by)
        frame = detection.hearing_sensitivity(self.frame, keys)
        sounding = self.where(intent="pseudo_harmful")
        return sounding._estimates(frame, [*keys, "contrast"], "d_prime", "d\N{PRIME} of hearing")

    def detection(self, *by: str) -> Estimates:
        """d' of refusal between harmful and pseudo-harmful requests, with 95 % intervals."""
        keys = self._by(by)
        frame = detection.signal_detection(self.frame, keys)
        both = self.where(intent=["harmful", "pseudo_harmful"])
        return both._estimates(frame, keys, "d_prime", "d\N{PRIME}, harmful against pseudo-harmful")

    def refusals_as_heard(self, *by: str) -> Estimates:
        """Refusals by ``heard_as`` (:meth:`heard`), as shares that sum to the refusal rate."""
        keys, trials = self._keys(by), self.heard()
        frame = refusals_as_heard(trials.frame, keys)
        about = "Refused, by what the model heard"
        return trials.where(refused=True)._estimates(frame, [*keys, "heard_as"], "share", about)

    def trade_off(self, *by: str) -> Estimates:
        """Harmful-refusal rate (``hrr``) and over-refusal rate (``orr``), with their intervals.

        Pseudo-harmful requests in a threatening scene are left out: refusing them is correct.
        """
        keys, frame = self._by(by), self.frame
        threat = frame["condition"].eq("threatening_scene") & frame["intent"].eq("pseudo_harmful")
        rates = corrected_rates(frame[~threat], ["intent", *keys], self.study.people)
        if by and "where" in _basis(rates):  # only some, which would not compare with the others
            rates = corrected_rates(frame[~threat], ["intent", *keys], self.study.people[:0])
        sides = []
        for measure, of in TRADE_OFF.items():
            side = rows_where(rates, of).set_index(keys)[["rate", "low", "high"]]
            sides.append(side.set_axis([measure, f"{measure}_low", f"{measure}_high"], axis=1))
        table = pd.concat(sides, axis=1).sort_index().reset_index()
        both = replace(self, frame=frame[~threat]).where(intent=["harmful", "pseudo_harmful"])
        made = both._estimates(table, keys, "hrr", "Harmful refusal against over-refusal")
        return replace(made, basis=_basis(rates))

    def between_models(self) -> Estimates:
        """Differences in refusal between all pairs of models, paired by utterance, not tested."""
        frame = paired.model_rates(self.frame)
        return self._estimates(frame, ["intent", "model", "against"], "difference")

    def differ(self, factor: str) -> "pd.Series[float]":
        """Holm-adjusted p value, per model, of differences in refusal among a column's values."""
        return paired.groups_differ(self.frame, factor)

    def steering_verdicts(self) -> pd.DataFrame:
        """Harmful refusal lost by steering, and its rank (:mod:`aor_lib.steering.tables`)."""
        return steering_verdicts(self.frame)

    def heard(self) -> Self:
        """Add ``heard_as``, from what the model reported with its answer or in probes.

        Values: ``heard`` (words and scene), ``scene_not_heard``, ``words_misheard``, ``not_asked``.
        """
        trials = self.study.trials
        return replace(self, frame=heard(self.frame, trials[trials["method"] == "probe"]))

    def with_words_only(self) -> Self:
        """Add the trials of a words-only classifier, fitted on the other scenarios."""
        utterances = [u for s in load_scenarios().values() for u in s.utterances]
        both = pd.concat([self.frame, words_only_trials(self.frame, utterances)])
        return replace(self, frame=both.reset_index(drop=True))

    def clips(self, limit: int = 4, each: Sequence[str] = ()) -> Html | Prose:
        """Players of the first ``limit`` clips, with what every model heard and answered.

        With columns in ``each``, only one clip per combination of their values is shown. Answers
        to harmful requests are not shown.
        """
        shown = self.frame.dropna(subset=["path"]).drop_duplicates("stimulus_id")
        shown = shown.drop_duplicates([*each] or ["stimulus_id"]).head(limit)
        trials = self.study.trials
        answers = trials[trials["stimulus_id"].isin(shown["stimulus_id"])]
        answers = answers[answers["arm"].isin({selections.NONE, *self.frame["arm"]})]
        return gallery(shown, self.study.clips_url, answers, self.study.titles)

    def _keys(self, by: Sequence[str]) -> list[str]:
        intents = [] if self.frame["intent"].nunique() == 1 else ["intent"]
        model, *others = self._by(by)
        return list(dict.fromkeys([model, *intents, *others]))

    def _by(self, columns: Sequence[str]) -> list[str]:
        columns = [columns] if isinstance(columns, str) else columns
        for column in columns:
            self._require(column)
        return list(dict.fromkeys(["model", *columns]))

    def _require(self, column: str, value: Any = None) -> None:
        if column not in self.frame:
            raise SelectionError(f"no column {column!r}{did_you_mean(column, self.frame)}")
        values = self.frame[column].dropna().unique()
        known = {*values, *(Condition if column == "condition" else ())}  # it may lack a condition
        if value is not None and len(values) and value not in known:
            raise SelectionError(f"baseline: no {column} {value!r}{did_you_mean(value, values)}")

    def _estimates(
        self,
        frame: pd.DataFrame,
        keys: Sequence[str],
        measure: str,
        about: str = "",
        factors: Mapping[Any, str] | None = None,
    ) -> Estimates:
        def clips(row: Mapping[Any, Any]) -> str:
            if self.study.clips_url != "clips":
                return ""  # the explorer lies beside the pages of the book, and nowhere else
            trials = self._trials_of(row, factors or {})
            names = ("model", "mitigation", "stimulus_id")
            choice = {name: ",".join(dict.fromkeys(trials[name])) for name in names}
            return f"explorer.html#{urlencode(choice)}" if len(trials) else ""

        titles, basis = self.study.titles, _basis(frame)
        return Estimates(frame, tuple(keys), measure, titles, about, basis, clips)

    def _trials_of(self, row: Mapping[Any, Any], factors: Mapping[Any, str]) -> pd.DataFrame:
        """Trials behind an estimate; for a comparison, of utterances judged on both sides.

        ``factors`` are the compared columns, by their baselines.
        """
        trials = self.frame[is_judged(self.frame) & (self.frame["model"] != selections.WORDS_ONLY)]
        trials = trials[trials["block"] != "imported"]  # the explorer may not pass them on
        column, sides = "", set[Any]()
        if "level" in row:
            column, sides = factors[row["baseline"]], {row["level"], row["baseline"]}
        elif "contrast" in row:
            column, sides = "condition", set(detection.CONTRASTS[row["contrast"]])
        elif "against" in row:
            column, sides = "model", {row["model"], row["against"]} - {selections.WORDS_ONLY}
        for name in ({*row} & {*trials}) - {column}:
            trials = trials[trials[name] == row[name]]
        if sides:
            trials = trials[trials[column].isin(sides)]
            present = trials.groupby("utterance_id")[column].transform("nunique")
            trials = trials[present == len(sides)]
        return trials

    def __repr__(self) -> str:
        """Count the trials and the models."""
        return f"Selection(trials={len(self.frame)}, models={self.frame['model'].nunique()})"


def _basis(estimates: pd.DataFrame) -> str:
    if "labelled" not in estimates or not estimates["labelled"].any():
        return "as judged"
    judged = estimates["as_judged"].notna()  # what has no answer needs no label
    where = "" if estimates.loc[judged, "labelled"].all() else " where there are any"
    return f"corrected using human labels{where}"
