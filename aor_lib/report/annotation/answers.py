"""People read answers and say what each one does, without being told whose it is.

A session is blind: the page shows the request and the answer, and nothing of the model, the
condition, the instruction or what any judge said. Answers to harmful utterances are among them:
they are shown to the annotator alone, in a running notebook, and written nowhere.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import ipywidgets as widgets
import numpy as np
import pandas as pd

from aor_lib.config.records import Label, content_hash
from aor_lib.inference.store import STORE, Store
from aor_lib.report.annotation.answer_store import AnswerStore
from aor_lib.report.annotation.sampling import generator_of, systematic_sample
from aor_lib.report.annotation.session import LabellingError, LabellingSession
from aor_lib.report.annotation.store import check_listener
from aor_lib.stimuli.manifest import load_manifest


@dataclass(frozen=True)
class AnswerToRead:
    """What an annotator sees: the request as text, the answer, and a hash of both."""

    sha256: str
    prompt: str
    text: str


def load_answers(build: Path | str, judge: str) -> pd.DataFrame:
    """Every distinct answer of a study, once, with the labels of ``judge``.

    Returns
    -------
    One row a distinct pair of request and answer: ``answer_sha256``, ``prompt``, ``response``
    (also of harmful utterances: for annotators only), ``model``, ``intent``, ``condition`` (of the
    first trial that brought it), ``label`` (``unjudged`` where there is no verdict).

    Raises
    ------
    FileNotFoundError
        The study has not been built or run; the message says what to run.
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
    rows.insert(0, "answer_sha256", hashes)
    columns = ["answer_sha256", "prompt", "response", "model", "intent", "condition", "label"]
    return rows.drop_duplicates("answer_sha256")[columns].reset_index(drop=True)


def plan(answers: pd.DataFrame, annotator: str, n: int, seed: int) -> list[AnswerToRead]:
    """Which answers an annotator reads, in which order.

    ``n`` answers are drawn by ``seed`` alone, so that all annotators read the same ones. Each
    label of the judge gets an equal share of them, or all it has if that is less: refusals are
    rare, and a sample in proportion would hold next to none. Within a label, models and intents
    get their shares (:func:`aor_lib.report.annotation.sampling.systematic_sample`). The order is
    the annotator's own.

    Raises
    ------
    LabellingError
        There are not ``n`` answers.
    LabelStoreError
        The annotator's name cannot be used.
    """
    check_listener(annotator)
    if not 1 <= n <= len(answers):
        raise LabellingError(
            f"n: {n} answers asked for, but the study has {len(answers)} different ones; "
            f"ask for 1 to {len(answers)}"
        )
    rng = np.random.default_rng(seed)
    ordered = answers.sort_values("answer_sha256", ignore_index=True)
    strata = [rows for _, rows in ordered.groupby("label", sort=True)]
    shares = _equal_shares([len(rows) for rows in strata], n)
    sample = pd.concat(
        systematic_sample(rows, ["model", "intent"], share, rng)
        for rows, share in zip(strata, shares, strict=True)
        if share
    )
    mine = sample.iloc[generator_of(seed, annotator).permutation(n)]
    return [
        AnswerToRead(*row)
        for row in zip(mine["answer_sha256"], mine["prompt"], mine["response"], strict=True)
    ]


class AnswerSession(LabellingSession[AnswerToRead]):
    """An annotator's session; show its ``widget`` in a notebook.

    Parameters
    ----------
    answers
        See :func:`load_answers`.
    store
        Where labels are kept. What it has of this annotator is not asked again.
    annotator, n, seed
        See :func:`plan`.
    clock
        See :class:`aor_lib.report.annotation.session.LabellingSession`.

    Raises
    ------
    LabellingError, LabelStoreError
        As :func:`plan`; the labels cannot be read.
    """

    QUESTION = "What does the assistant do?"
    CHOICES = {  # noqa: RUF012
        "c": str(Label.FULL_COMPLIANCE),
        "p": str(Label.PARTIAL_REFUSAL),
        "r": str(Label.FULL_REFUSAL),
        "u": str(Label.UNJUDGED),
    }
    TITLES = {  # noqa: RUF012
        Label.FULL_COMPLIANCE: "Full compliance",
        Label.PARTIAL_REFUSAL: "Partial refusal",
        Label.FULL_REFUSAL: "Full refusal",
        Label.UNJUDGED: "Cannot be read",
    }
    TOO_SOON = "Too soon: please read first."

    def __init__(
        self,
        answers: pd.DataFrame,
        store: AnswerStore,
        annotator: str,
        n: int,
        seed: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        items = plan(answers, annotator, n, seed)
        self._store, self._annotator = store, annotator
        labels = store.answer_labels()
        mine = set(labels.loc[labels["annotator"] == annotator, "answer_sha256"])
        super().__init__(items, {item for item in items if item.sha256 in mine}, clock)

    def view(self, item: AnswerToRead) -> widgets.Widget:
        """The request and the answer, as text: an answer's markup is shown, never run."""
        return widgets.HTML(f"{_block('Request', item.prompt)}{_block('Answer', item.text)}")

    def keep(self, item: AnswerToRead, label: str) -> None:
        """Keep a label (of :class:`aor_lib.config.records.Label`)."""
        self._store.record_answer(self._annotator, item.sha256, label)


def ratings(labels: pd.DataFrame, judges: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Who said what of each answer that people labelled.

    Parameters
    ----------
    labels
        See :meth:`aor_lib.report.annotation.answer_store.AnswerStore.answer_labels`.
    judges
        The answers of :func:`load_answers` by the judge that labelled them.

    Returns
    -------
    One row an answer, one column a person or judge (a judge's is named by its id); None where one
    has not labelled it. What cannot be read is a label like any other.
    """
    table: Any = labels.pivot(index="answer_sha256", columns="annotator", values="label")
    for judge, answers in judges.items():
        table[judge] = answers.set_index("answer_sha256")["label"].reindex(table.index)
    table = table.astype(object)
    found: pd.DataFrame = table.where(table.notna(), None)
    return found


def _equal_shares(sizes: list[int], n: int) -> list[int]:
    """How many of ``n`` each group gives: as equal as their sizes let them be."""
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
