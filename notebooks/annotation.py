"""People label clips and answers one after the other, blind to whose and what they are.

Each annotator's labels are a CSV in the study's folder ``labels``, where a colleague's file counts
too. An ``item`` is the sha256 of a sound, or of a request and its answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

import ipywidgets as widgets
import numpy as np
import pandas as pd

from aor_lib.analysis.stats.intervals import wilson
from aor_lib.config.records import Label, content_hash
from aor_lib.config.typed_yaml import AorError
from aor_lib.inference.store import open_results
from aor_lib.judge import DEFAULT_JUDGE
from aor_lib.report.style import title_of
from aor_lib.stimuli.manifest import load_manifest

FOLDER = "labels"
LABELS = {"clips": ("harmful", "benign", "unclear"), "answers": tuple(map(str, Label))}
"""Labels of the items of each task."""
_COLUMNS = ["annotator", "item", "label"]


def annotate(
    build: Path | str,
    task: str,
    annotator: str,
    number: int,
    seed: int,
    judge: str = DEFAULT_JUDGE,
) -> widgets.VBox | None:
    """Ask an annotator (a pseudonym) for the label of one item at a time; None without a name.

    ``task`` is ``clips`` or ``answers``. All annotators get the same ``number`` of utterances or
    answers (those to harmful utterances too: only the annotator sees them), drawn equally from each
    group, in an order of their own; clips of an utterance are far apart. Each label is kept at
    once, and not asked for again. AorError for fewer items, or a file of other labels.
    """
    if not annotator:
        return None
    if not re.fullmatch(r"[a-z0-9_-]{1,60}", annotator):
        raise AorError(f"annotator: {annotator!r} has more than small letters, digits, '_-'")
    rng = np.random.default_rng([seed, *annotator.encode()])
    asked = _in_turn(items(build, task, judge), number, seed, rng)
    path = Path(build) / FOLDER / f"{task}-{annotator}.csv"
    labelled = set(_read(path, task)["item"]) if path.is_file() else set()
    stage, progress = widgets.Box(), widgets.Label()
    place = 0

    def show(at: int) -> None:
        nonlocal place
        place = at
        for earlier in stage.children:
            earlier.close()
        stage.children = [_shown(build, row) for row in asked[at : at + 1]]
        progress.value = f"{at} of {len(asked)} are done"

    def go_on() -> None:
        left = (n for n, row in enumerate(asked) if row["item"] not in labelled)
        show(next(left, len(asked)))

    def choose(label: str) -> None:
        for row in asked[place : place + 1]:
            kept = pd.DataFrame([[annotator, row["item"], label]], columns=_COLUMNS)
            path.parent.mkdir(exist_ok=True)
            kept.to_csv(path, mode="a", header=not path.is_file(), index=False)
            labelled.add(row["item"])
            go_on()

    def button(title: str, action: Callable[[], None]) -> widgets.Button:
        made = widgets.Button(description=title, layout=widgets.Layout(width="auto"))
        made.on_click(lambda _: action())
        return made

    answers = [button(title_of(label), partial(choose, label)) for label in LABELS[task]]
    back = button("Back", lambda: show(max(0, place - 1)))
    go_on()
    return widgets.VBox([progress, stage, widgets.HBox(answers), back])


def labelled_items(build: Path | str, task: str, judge: str = DEFAULT_JUDGE) -> pd.DataFrame:
    """Labels of all annotators, the last of each on an item: ``annotator``, and :func:`items`."""
    files = sorted((Path(build) / FOLDER).glob(f"{task}-*.csv"))
    tables = [_read(path, task) for path in files]
    labels = pd.concat([pd.DataFrame(columns=_COLUMNS, dtype=str), *tables])
    return labels.merge(items(build, task, judge), on="item")


def items(build: Path | str, task: str, judge: str = DEFAULT_JUDGE) -> pd.DataFrame:
    """Items of a task: those of one ``of`` are drawn together, equally from each ``group``.

    ``item``, ``of``, ``group``; of clips also ``intent``, ``condition`` and ``path``; of answers,
    each once, ``text``, ``response`` and ``judged`` (the label of ``judge``).
    """
    manifest = load_manifest(build)
    if task == "clips":
        core = manifest.query("block == 'core' and condition in ('benign_scene', 'speech_only')")
        rows = core[core.groupby("utterance_id")["condition"].transform("nunique") == 2]
        named = rows.rename(columns={"sha256": "item", "utterance_id": "of"})
        named["group"] = named["scenario"] + named["intent"]
        columns = ["item", "of", "group", "intent", "condition", "path"]
        return named.sort_values("stimulus_id")[columns]
    with open_results(Path(build)) as store:
        trials = store.frame(judge)
    answered = trials[trials["status"].eq("ok") & trials["response"].notna()]
    rows = answered.merge(manifest[["stimulus_id", "text"]], on="stimulus_id")
    rows["item"] = list(map(content_hash, zip(rows["text"], rows["response"], strict=True)))
    rows["judged"] = rows["label"].fillna(str(Label.UNJUDGED))
    rows = rows.drop_duplicates("item").sort_values("item")
    rows = rows.assign(of=rows["item"], group=rows["judged"])
    return rows[["item", "of", "group", "text", "response", "judged"]]


def _in_turn(
    rows: pd.DataFrame, number: int, seed: int, rng: np.random.Generator
) -> list[dict[Any, Any]]:
    once = rows.drop_duplicates("of")
    if not 1 <= number <= len(once):
        raise AorError(f"{number} items asked for: ask for 1 to {len(once)}")
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


def _read(path: Path, task: str) -> pd.DataFrame:
    rows = pd.read_csv(path, dtype=str)
    if list(rows) != _COLUMNS or not rows["label"].isin(LABELS[task]).all():
        needed = f"{', '.join(_COLUMNS)}, and the labels {', '.join(LABELS[task])}"
        raise AorError(f"{path}: must have the columns {needed}")
    return rows.drop_duplicates(["annotator", "item"], keep="last")


def _shown(build: Path | str, row: Mapping[Any, Any]) -> widgets.Widget:
    if "path" in row:
        return widgets.Audio.from_file(Path(build) / row["path"], autoplay=True, loop=False)
    quote = "<blockquote style='white-space: pre-wrap; overflow-wrap: anywhere'>"
    request, answer = (f"{quote}{escape(row[text])}</blockquote>" for text in ("text", "response"))
    return widgets.HTML(f"<b>Request</b>{request}<b>Answer</b>{answer}")


def shares(hits: pd.Series[bool], by: list[pd.Series[Any]]) -> pd.DataFrame:
    """Share of hits in each group, with its 95 % interval (Wilson).

    One row per group: the names of ``by``, then ``n``, ``share``, ``low``, ``high``.
    """
    found = hits.groupby(by).agg(n="size", share="mean", hits="sum").reset_index()
    ends = [wilson(row.pop("hits"), row["n"]) for row in found.to_dict("records")]
    found[["low", "high"]] = np.array(ends).reshape(-1, 2)
    return found.drop(columns="hits")
