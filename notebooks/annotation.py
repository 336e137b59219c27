"""Blind human labelling of clips and answers, one item at a time.

Each annotator's labels are a CSV in the study's folder ``labels``; files copied there from a
colleague count too. An ``item`` is the sha256 of a sound, or of a request and its answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

import ipywidgets as widgets
import numpy as np
import numpy.typing as npt
import pandas as pd

import aor_lib as aor
from aor_lib.analysis.outcomes import REFUSALS, is_judged
from aor_lib.analysis.people import CHOICES, LABEL_COLUMNS, answer_texts, load_labels, settled
from aor_lib.analysis.stats.intervals import wilson
from aor_lib.config.typed_yaml import AorError
from aor_lib.report.style import title_of
from aor_lib.stimuli.manifest import load_manifest
from aor_lib.storage.atomic_write import atomic_write
from aor_lib.study import LABELS, SAMPLE, SAMPLED

_GROUP = ["model", "intent", "condition"]
_SIDES = ["benign_scene", "speech_only"]  # conditions of the clips to label


def annotate(
    build: Path | str,
    task: str,
    annotator: str,
    number: int,
    seed: int,
    **sampled: Sequence[str],
) -> widgets.VBox | None:
    """Show an annotator (a pseudonym) one item at a time to label; None if no name is given.

    ``task`` is ``clips`` or ``answers``. All annotators get the same items, each in another order.
    For clips, these are ``number`` utterances, equally from each scenario and intent, whose clips
    are far apart. For answers, they are the answers to ``number`` clips per model and intent
    (``sampled`` has the ``intents`` and ``conditions`` of :func:`sample_of`); two annotators label
    each answer, and further annotators label those on which the two differ. Labels are saved at
    once, and no item is shown again. AorError for an invalid name, too few clips, or other labels.
    """
    if not annotator:
        return None
    if not re.fullmatch(r"[a-z0-9_-]{1,60}", annotator):
        raise AorError(f"annotator: {annotator!r} must be 1 to 60 characters a-z, 0-9, '_', '-'")
    rng = np.random.default_rng([seed, *annotator.encode()])
    path = Path(build) / LABELS / f"{task}-{annotator}.csv"
    labels = load_labels(path.parent, task)
    own = labels["annotator"] == annotator
    labelled = set(labels["item"][own])
    if task == "clips":
        asked = _in_turn(clips(build), number, seed, rng)
    else:
        drawn = answers(build, sample_of(build, number, seed, **sampled))
        others = settled(labels[~own])
        needed = ~drawn["item"].isin(others.index) | drawn["item"].isin(labelled)
        asked = drawn[needed].sample(frac=1, random_state=rng).to_dict("records")
    stage, progress = widgets.Box(), widgets.Label()
    place = 0

    def show(at: int) -> None:
        nonlocal place
        place = at
        for earlier in stage.children:
            earlier.close()
        stage.children = [_shown(build, row) for row in asked[at : at + 1]]
        then = ": thank you, run the cells below" if at == len(asked) else ""
        progress.value = f"{at} of {len(asked)} are done{then}"

    def go_on() -> None:
        left = (n for n, row in enumerate(asked) if row["item"] not in labelled)
        show(next(left, len(asked)))

    def choose(label: str) -> None:
        for row in asked[place : place + 1]:
            kept = pd.DataFrame([[annotator, row["item"], label]], columns=LABEL_COLUMNS)
            path.parent.mkdir(exist_ok=True)
            kept.to_csv(path, mode="a", header=not path.is_file(), index=False)
            labelled.add(row["item"])
            go_on()

    def button(title: str, action: Callable[[], None]) -> widgets.Button:
        made = widgets.Button(description=title, layout=widgets.Layout(width="auto"))
        made.on_click(lambda _: action())
        return made

    choices = [button(title_of(label), partial(choose, label)) for label in CHOICES[task]]
    back = button("Back", lambda: show(max(0, place - 1)))
    go_on()
    return widgets.VBox([progress, stage, widgets.HBox(choices), widgets.HBox([back])])


def labelled_items(build: Path | str, task: str) -> pd.DataFrame:
    """Each annotator's last label of each item: ``annotator`` and ``label``.

    The other columns are those of :func:`clips` or :func:`answers`.
    """
    of_task = clips(build) if task == "clips" else answers(build, aor.open(build).people)
    return load_labels(Path(build) / LABELS, task).merge(of_task, on="item")


def clips(build: Path | str) -> pd.DataFrame:
    """Clips to label: ``item``, ``of`` (utterance), ``group``, ``intent``, ``condition``, ``path``.

    Clips of one utterance are drawn together, and utterances equally from each group.
    """
    manifest = load_manifest(build)
    core = manifest.query("block == 'core' and variant == 0 and condition in @_SIDES")
    rows = core[core.groupby("utterance_id")["condition"].transform("nunique") == 2]
    named = rows.rename(columns={"sha256": "item", "utterance_id": "of"})
    named["group"] = named["scenario"] + named["intent"]
    columns = ["item", "of", "group", "intent", "condition", "path"]
    return named.sort_values("stimulus_id")[columns]


def sample_of(
    build: Path | str,
    number: int,
    seed: int,
    intents: Sequence[str] = ("pseudo_harmful",),
    conditions: Sequence[str] = ("benign_scene",),
) -> pd.DataFrame:
    """The study's sample of answers of unmitigated models, extended by :func:`draw` if needed.

    Earlier draws stay. Models and intents missing from the sample are drawn now, ``number`` clips
    each. New answers in groups that the sample already has are drawn in the same way, separately.
    """
    study = aor.open(build)
    sample: pd.DataFrame = study.people
    frames = [study.select(name).frame for name in ("headline", "context")]
    trials = pd.concat(frames).drop_duplicates("trial_key").loc[is_judged]
    groups, pairs = (pd.MultiIndex.from_frame(sample[names]) for names in (_GROUP, _GROUP[:2]))
    asked = trials["intent"].isin(intents) & trials["condition"].isin(conditions)
    new = trials[asked & ~pd.MultiIndex.from_frame(trials[_GROUP[:2]]).isin(pairs)]
    late = pd.MultiIndex.from_frame(trials[_GROUP]).isin(groups)
    late &= ~trials["trial_key"].isin(sample["trial_key"])
    added = [some for some in (new, trials[late]) if len(some)]
    if not added:
        return sample
    drawn = pd.concat([draw(some, number, seed) for some in added])
    drawn["item"] = drawn["trial_key"].map(answer_texts(build)["item"])
    path = Path(build) / LABELS / SAMPLE
    path.parent.mkdir(exist_ok=True)
    tables = [table[SAMPLED] for table in (sample, drawn) if len(table)]
    with atomic_write(path) as stream:
        pd.concat(tables).to_csv(stream, index=False)
    sample = aor.open(build).people
    return sample


def draw(trials: pd.DataFrame, number: int, seed: int) -> pd.DataFrame:
    """Draw answers to label: to ``number`` utterances (in one voice) per model and intent.

    The answers to an utterance in several conditions are drawn together, so that conditions are
    compared on the same words. Utterances with the same judged outcomes (refusal or compliance in
    each condition) form a stratum; the numbers drawn are proportional to the square roots of the
    strata's sizes, with at least one per stratum. All models share one random order of utterances.

    Returns
    -------
    The judged trials with ``probability`` (of being drawn) and ``drawn``.
    """
    judged = trials[is_judged(trials)].drop_duplicates("trial_key")
    names = ["model", "intent", "utterance_id", "variant"]
    refused = judged["label"].isin(REFUSALS).astype(int).astype(str)
    of_each = (judged["condition"] + refused).sort_values().groupby([judged[n] for n in names])
    clips = of_each.agg(" ".join).rename("stratum").reset_index()
    lots = clips.groupby(names[2:]).ngroup()
    lots[:] = np.random.default_rng(seed).permutation(lots.nunique())[lots]
    for _, of_model in clips.groupby(names[:2]):
        drawn = draw_strata(
            of_model["stratum"], lots[of_model.index].to_numpy().astype(np.intp), number
        )
        clips.loc[of_model.index, ["probability", "drawn"]] = np.column_stack(drawn)
    clips["drawn"] = clips["drawn"].astype(bool)
    return judged.merge(clips.drop(columns="stratum"), on=names)


def draw_strata(
    strata: pd.Series[Any], lots: npt.NDArray[np.intp], number: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Each clip's probability of being drawn, and the clips drawn: the lowest lots per stratum."""
    counted = strata.value_counts()
    of, sizes = counted.index.get_indexer(pd.Index(strata)), counted.to_numpy()
    wanted = np.ones_like(sizes)
    while wanted.sum() < min(number, sizes.sum()):  # add to the stratum furthest below its share
        lacking = np.where(wanted < sizes, (wanted + 0.5) / np.sqrt(sizes), np.inf)
        wanted[lacking.argmin()] += 1
    places = np.empty(len(lots), int)
    places[np.lexsort((lots, of))] = np.concatenate([np.arange(size) for size in sizes])
    return (wanted / sizes)[of], places < wanted[of]


def answers(build: Path | str, sample: pd.DataFrame) -> pd.DataFrame:
    """Drawn answers without repeats: ``item``, ``text``, ``response``, ``judged`` (the label)."""
    drawn = sample[sample["drawn"].astype(bool)].drop_duplicates("item")[["trial_key", "item"]]
    texts = answer_texts(build).drop(columns="item").reset_index()
    judged = aor.open(build).trials.drop_duplicates("trial_key").set_index("trial_key")["label"]
    rows = drawn.merge(texts, on="trial_key")
    rows["judged"] = rows["trial_key"].map(judged)
    return rows.drop(columns="trial_key").sort_values("item", ignore_index=True)


def shares(hits: pd.Series[bool], by: list[pd.Series[Any]]) -> pd.DataFrame:
    """Share of hits in each group, with its 95 % interval (Wilson).

    One row per group: the names of ``by``, then ``n``, ``share``, ``low``, ``high``.
    """
    shares = hits.groupby(by).agg(n="size", share="mean", hits="sum").reset_index()
    ends = [wilson(row.pop("hits"), row["n"]) for row in shares.to_dict("records")]
    shares[["low", "high"]] = np.array(ends).reshape(-1, 2)
    return shares.drop(columns="hits")


def _in_turn(
    rows: pd.DataFrame, number: int, seed: int, rng: np.random.Generator
) -> list[dict[Any, Any]]:
    once = rows.drop_duplicates("of")
    if not 1 <= number <= len(once):
        raise AorError(f"{number} utterances requested: choose 1 to {len(once)}")
    shuffled = once.sample(frac=1, random_state=seed)
    turn = shuffled.groupby("group").cumcount().to_numpy()
    drawn = shuffled["of"].to_numpy()[np.argsort(turn, kind="stable")[:number]]
    order, first = rng.permutation(drawn), rng.permutation(number) % 2
    of_each = {name: of.to_dict("records") for name, of in rows.groupby("of")}
    sides = max(map(len, of_each.values()))
    return [
        of_each[name][(side + turn) % sides]
        for turn in range(sides)
        for name, side in zip(order, first, strict=True)
    ]


def _shown(build: Path | str, row: Mapping[Any, Any]) -> widgets.Widget:
    if "path" in row:
        return widgets.Audio.from_file(Path(build) / row["path"], autoplay=True, loop=False)
    quote = "<blockquote style='white-space: pre-wrap; overflow-wrap: anywhere'>"
    request, answer = (f"{quote}{escape(row[text])}</blockquote>" for text in ("text", "response"))
    return widgets.HTML(f"<b>Request</b>{request}<b>Answer</b>{answer}")
