"""People read answers and say what each one does, without being told whose it is.

The page shows the request and the answer, and nothing of the model, the condition, the instruction
or any judge. Answers to harmful utterances are among them: they are shown to the annotator alone,
in a running notebook, and written nowhere.
"""

from collections.abc import Mapping
from functools import partial
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import ipywidgets as widgets
import numpy as np
import pandas as pd

from aor_lib.config.records import Label, content_hash
from aor_lib.inference.store import STORE, Store
from aor_lib.report.annotation.session import AnnotationSession, annotator_rng, systematic_sample
from aor_lib.report.annotation.store import ANSWERS, AnnotationError
from aor_lib.stimuli.manifest import load_manifest


class AnswerToRead(NamedTuple):
    """A request as text, the answer to it, and a hash of both."""

    sha256: str
    prompt: str
    text: str


def load_answers(build: Path | str, judge: str) -> pd.DataFrame:
    """Every distinct answer of a study, once, with the labels of ``judge``.

    One row per distinct pair of request and answer: ``item_sha256``, ``prompt``, ``response`` (also
    to harmful utterances: for annotators only), ``model``, ``intent``, ``condition`` (of the first
    trial that brought it), ``label`` (``unjudged`` where there is no verdict).
    """
    build = Path(build)
    manifest = load_manifest(build)[["stimulus_id", "text", "intent", "condition"]]
    if not (build / STORE).is_file():
        raise FileNotFoundError(f"{build / STORE} does not exist; run 'aor run' first")
    with Store(build / STORE) as store:
        trials = store.frame(judge)
    answered = trials[trials["status"].eq("ok") & trials["response"].notna()]
    rows = answered.merge(manifest, on="stimulus_id").rename(columns={"text": "prompt"})
    rows["label"] = rows["label"].fillna(Label.UNJUDGED)
    hashes = [content_hash(pair) for pair in zip(rows["prompt"], rows["response"], strict=True)]
    rows.insert(0, "item_sha256", hashes)
    columns = ["item_sha256", "prompt", "response", "model", "intent", "condition", "label"]
    return rows.drop_duplicates("item_sha256")[columns].reset_index(drop=True)


def plan_answers(answers: pd.DataFrame, annotator: str, n: int, seed: int) -> list[AnswerToRead]:
    """The answers that an annotator reads, in their order.

    ``n`` answers are drawn by ``seed`` alone, so that all annotators read the same ones. Each
    label of the judge gets an equal share of them, or all it has if that is less: refusals are
    rare, and a sample in proportion would hold next to none. Within a label, models and intents
    get their shares by systematic sampling. The order is the annotator's own.
    """
    order = annotator_rng(seed, annotator)
    if not 1 <= n <= len(answers):
        raise AnnotationError(
            f"n: {n} answers asked for, but the study has {len(answers)} different ones; "
            f"ask for 1 to {len(answers)}"
        )
    rng = np.random.default_rng(seed)
    ordered = answers.sort_values("item_sha256", ignore_index=True)
    strata = [rows for _, rows in ordered.groupby("label", sort=True)]
    shares = _equal_shares([len(rows) for rows in strata], n)
    sample = pd.concat(
        systematic_sample(rows, ["model", "intent"], share, rng)
        for rows, share in zip(strata, shares, strict=True)
        if share
    )
    mine = sample.iloc[order.permutation(n)]
    columns = ["item_sha256", "prompt", "response"]
    return [AnswerToRead(*row) for row in mine[columns].itertuples(index=False)]


def start_session(
    build: Path | str, judge: str, annotator: str, n: int, seed: int
) -> AnnotationSession | None:
    """Open an annotator's session on the answers of a study; None where no annotator is named."""
    if not annotator:
        return None
    answers = plan_answers(load_answers(build, judge), annotator, n, seed)
    views = {answer.sha256: partial(answer_view, answer) for answer in answers}
    return AnnotationSession(build, ANSWERS, annotator, views)


def answer_view(answer: AnswerToRead) -> widgets.Widget:
    """The request and the answer, as text: an answer's markup is shown, never run."""
    return widgets.HTML(_block("Request", answer.prompt) + _block("Answer", answer.text))


def ratings(annotations: pd.DataFrame, judges: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Labels of people and judges side by side, one row per answer that people annotated.

    ``judges`` holds the answers of :func:`load_answers` by the judge that labelled them. There is a
    column per annotator and judge, None where one has not labelled the answer; ``unjudged`` is a
    label like any other.
    """
    table: Any = annotations.pivot(index="item_sha256", columns="annotator", values="label")
    for judge, answers in judges.items():
        labels = answers.set_index("item_sha256")["label"]
        table = table.loc[table.index.isin(labels.index)]
        table[judge] = labels.reindex(table.index)
    found: pd.DataFrame = table.astype(object).where(table.notna(), None)
    return found


def _equal_shares(sizes: list[int], n: int) -> list[int]:
    """Split ``n`` among groups as equally as their sizes allow."""
    shares = [0] * len(sizes)
    for _ in range(n):
        open_groups = [i for i, size in enumerate(sizes) if shares[i] < size]
        shares[min(open_groups, key=lambda i: shares[i])] += 1
    return shares


def _block(title: str, text: str) -> str:
    return (
        f"<p><b>{title}</b></p><blockquote style='white-space: pre-wrap; overflow-wrap: anywhere'>"
        f"{escape(text)}</blockquote>"
    )
