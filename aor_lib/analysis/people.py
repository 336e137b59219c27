"""Human labels, and refusal rates that they correct for the judge's errors."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from aor_lib.analysis.outcomes import REFUSALS, is_judged
from aor_lib.analysis.stats.intervals import CONFIDENCE, DRAWS, Floats, effective_answers, rates
from aor_lib.analysis.stats.paired import adjusted, paired_differences
from aor_lib.config.records import Label, content_hash
from aor_lib.config.typed_yaml import AorError
from aor_lib.inference.store import open_results
from aor_lib.judge.speech_acts import EVALUATION
from aor_lib.stimuli.manifest import load_manifest

CHOICES = {"clips": ("harmful", "benign", "unclear"), "answers": tuple(map(str, Label))}
"""Labels that annotators choose from, by task."""
LABEL_COLUMNS = ["annotator", "item", "label"]


def load_evaluation() -> pd.DataFrame:
    """Read the labels of XSTest's answers (Röttger et al., NAACL 2024), one row per answer.

    Columns of labels are ``human``, ``judge`` (fitted without this model and this prompt; the more
    probable label if the judge is ``unsure``), ``gpt4``, ``string_match`` (by XSTest's authors) and
    ``own_string_match``.
    """
    return pd.read_csv(EVALUATION, dtype={"prompt_id": str, "source_model": str})


def load_labels(folder: Path, task: str) -> pd.DataFrame:
    """Read all annotators' labels for a task, keeping each annotator's last label per item.

    AorError names a file whose columns are not exactly ``LABEL_COLUMNS``, or that has a label
    outside the ``CHOICES`` of the task.
    """
    tables = [pd.DataFrame(columns=LABEL_COLUMNS, dtype=str)]
    for path in sorted(folder.glob(f"{task}-*.csv")):
        try:
            tables.append(pd.read_csv(path, dtype=str))
        except ValueError:  # for example, it is empty
            tables.append(pd.DataFrame())
        if list(tables[-1]) != LABEL_COLUMNS or not tables[-1]["label"].isin(CHOICES[task]).all():
            needed = f"{', '.join(LABEL_COLUMNS)}, and only labels {', '.join(CHOICES[task])}"
            raise AorError(f"{path}: must have the columns {needed}")
    return pd.concat(tables).drop_duplicates(["annotator", "item"], keep="last")


def answer_texts(build: Path | str) -> pd.DataFrame:
    """Requests (``text``), responses, and the hash of both (``item``), by trial key.

    They include answers to harmful requests, which only annotators see.
    """
    with open_results(Path(build)) as store:
        trials = store.frame("")
    texts = load_manifest(build)[["stimulus_id", "text"]]
    rows = trials[trials["response"].notna()].merge(texts, on="stimulus_id")
    rows["item"] = list(map(content_hash, zip(rows["text"], rows["response"], strict=True)))
    return rows.drop_duplicates("trial_key").set_index("trial_key")[["item", "text", "response"]]


def any_refusal(labels: pd.Series) -> pd.Series:
    """Replace partial and full refusals by ``refusal``, and keep all other labels."""
    return labels.replace(dict.fromkeys(REFUSALS, "refusal"))


def settled(labels: pd.DataFrame) -> pd.Series:
    """Label of each item that at least two annotators chose, and more than any other label.

    ``labels`` has the columns ``annotator``, ``item`` and ``label``; partial and full refusals
    become ``refusal``. Items without such a label are left out.
    """
    votes = pd.crosstab(labels["item"], any_refusal(labels["label"]))
    most = votes.max(axis=1)
    return votes[(most >= 2) & votes.eq(most, axis=0).sum(axis=1).eq(1)].idxmax(axis=1)


def corrected_rates(trials: pd.DataFrame, by: list[str], sample: pd.DataFrame) -> pd.DataFrame:
    """Refusal rates, corrected (:func:`corrected_rate`) in the groups with human labels.

    A group is corrected if ``sample`` (:attr:`aor_lib.study.Study.people`) was drawn from all of
    its judged answers, and annotators agreed on a label of each drawn answer. Other groups, and
    trials without ``trial_key``, keep their rates as judged. The columns are those of
    :func:`aor_lib.analysis.stats.intervals.rates`, with ``as_judged`` (the rate before the
    correction) and ``labelled``, the number of labels (0: as judged).
    """
    table = rates(trials, by)
    table = table.assign(as_judged=table["rate"], labelled=0)
    for group, answers in _labelled(trials, by, sample).items():
        of_group = table[by].eq([*group]).all(axis=1)
        estimate = *corrected_rate(answers), answers["answered"].count()
        table.loc[of_group, ["rate", "low", "high", "labelled"]] = estimate
    return table


def corrected_differences(
    trials: pd.DataFrame, factor: str, baseline: str, by: list[str], sample: pd.DataFrame
) -> pd.DataFrame:
    """Paired differences, corrected if the answers at both levels have human labels.

    The refusals at each level are corrected as in :func:`corrected_rate`; the judge's labels of the
    two answers to an utterance are drawn jointly. The p value is twice the share of draws beyond
    zero; for ``p_missing``, the draws are shifted as far as missing answers could shift the
    difference. The columns are those of :func:`aor_lib.analysis.stats.paired.paired_differences`,
    with ``as_judged`` and ``labelled`` as in :func:`corrected_rates`.
    """
    table = paired_differences(trials, factor, baseline, by)
    table = table.assign(as_judged=table["difference"], labelled=0)
    known = _labelled(trials, [*by, factor], sample)
    for at, row in table.iterrows():
        groups = [(*row[by], row["level"]), (*row[by], baseline)]
        sides = [known[group] for group in groups if group in known and row["utterances"] > 0]
        if len(sides) < 2 or not all(side.index.is_unique for side in sides):
            continue
        draws = _difference(*sides)
        bounds = [draws + (row[end] - row["difference"]) for end in ("lowest", "highest")]
        beyond = [min((of[1:] >= 0).sum(), (of[1:] <= 0).sum()) for of in (draws, *bounds)]
        p_value, *p_bounds = (min(1.0, 2 * (number + 1) / len(draws)) for number in beyond)
        flips = min(bound[0] * draws[0] for bound in bounds) <= 0
        estimate = *_interval(draws), p_value, 1.0 if flips else max(p_bounds)
        table.loc[at, ["difference", "low", "high", "p_value", "p_missing"]] = estimate
        table.loc[at, "labelled"] = sum(side["answered"].count() for side in sides)
    return adjusted(table)


def corrected_rate(answers: pd.DataFrame) -> tuple[float, float, float]:
    """Refusal rate among the responses that people consider answers, and its 95 % interval.

    The rate is the sum, over the judge's two labels, of a label's share times P(refusal | label),
    divided by the sum of its share times P(answer | label); human labels estimate both
    probabilities. The interval comes from draws of each share from Beta(k + 1/2, n - k + 1/2),
    where n is the effective number of answers. ``answers`` has one row per answer, indexed by
    utterance: ``judged`` (a refusal according to the judge), ``answered`` (an answer according to
    people: 1 or 0, NaN without a label), ``refused`` (1 if people label it a refusal, 0 if
    compliance, NaN if it has no label or is no answer), and ``probability`` (of being drawn).
    """
    rng = np.random.default_rng(0)
    return _interval(_refused(answers, _share(answers.assign(probability=1.0), "judged", rng), rng))


def _labelled(
    trials: pd.DataFrame, by: list[str], sample: pd.DataFrame
) -> dict[tuple[Any, ...], pd.DataFrame]:
    """Answers of the groups that can be corrected, in the form for :func:`corrected_rate`."""
    if sample.empty or "trial_key" not in trials:
        return {}
    known = sample[["model", "trial_key", "probability", "drawn", "people"]]
    rows = trials[is_judged(trials)].merge(known, on=["model", "trial_key"], how="left")
    drawn, labels = rows["drawn"].eq(True), {"refusal": 1.0, "full_compliance": 0.0}
    rows["judged"] = rows["label"].isin(REFUSALS)
    rows["refused"] = rows["people"].map(labels).where(drawn).astype(float)
    rows["answered"] = rows["refused"].notna().where(drawn & rows["people"].notna()).astype(float)
    rows["is_open"] = rows["probability"].isna() | (drawn & rows["people"].isna())
    return {
        group: answers
        for group, answers in rows.set_index("utterance_id").groupby(by, observed=True)
        if not answers["is_open"].any()
        and set(answers["judged"]) == set(answers.dropna(subset="answered")["judged"])
        and answers["refused"].notna().any()
    }


def _difference(level: pd.DataFrame, baseline: pd.DataFrame) -> Floats:
    """Corrected difference, followed by draws of it."""
    rng, labels = np.random.default_rng(0), [True, False]
    pairs = pd.crosstab(level["judged"], baseline["judged"])
    counted = pairs.reindex(index=labels, columns=labels, fill_value=0).to_numpy().ravel()
    drawn = rng.dirichlet(counted + 0.25, DRAWS)  # each share is then Beta(k + 1/2)
    both, at_level, at_baseline, _ = np.vstack([counted / counted.sum(), drawn]).T
    return _refused(level, both + at_level, rng) - _refused(baseline, both + at_baseline, rng)


def _refused(answers: pd.DataFrame, share: Floats, rng: np.random.Generator) -> Floats:
    """Corrected rate, then draws of it; ``share`` holds those of the share of judged refusals."""
    refused = answered = np.zeros_like(share)
    for label, of_all in ((True, share), (False, 1 - share)):
        labelled = answers[answers["judged"] == label].dropna(subset="answered")
        if not labelled["answered"].all():
            of_all = of_all * _share(labelled, "answered", rng)
        answered = answered + of_all
        refused = refused + of_all * _share(labelled.dropna(subset="refused"), "refused", rng)
    return refused / answered


def _share(answers: pd.DataFrame, hits: str, rng: np.random.Generator) -> Floats:
    """Share of hits (a column), weighted by 1 / ``probability``, followed by draws of it."""
    if answers.empty:
        return np.append(0.0, rng.beta(0.5, 0.5, DRAWS))
    weights, hit = 1 / answers["probability"].to_numpy(float), answers[hits].to_numpy(float)
    share, of = np.average(hit, weights=weights), pd.factorize(answers.index)[0]
    # Answers with one label of the judge have unequal weights (Kish, 1965) over several strata.
    size = weights.mean() ** 2 / (weights**2).mean()
    refused = np.bincount(of, weights=hit).astype(float)
    size *= effective_answers(refused, np.bincount(of).astype(float))
    return np.append(share, rng.beta(share * size + 0.5, (1 - share) * size + 0.5, DRAWS))


def _interval(draws: Floats) -> tuple[float, float, float]:
    """Estimate (the first element) and, from its draws (the others), its 95 % interval."""
    low, high = np.quantile(draws[1:], [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return draws[0], min(low, draws[0]), max(high, draws[0])
