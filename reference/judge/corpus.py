"""Answers that the default judge is fitted to, with their labels, features and folds."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import sparse

from aor_lib.config.records import Label
from aor_lib.config.typed_yaml import ParamsError
from aor_lib.judge.encoder import CLASSES
from aor_lib.judge.features import WORD, ParsedAnswer, features, parse, why_not_read
from aor_lib.judge.reading import final_answer

OWN = Path(__file__).parent / "answers.jsonl"
XSTEST_LABELS = {
    "1_full_compliance": Label.FULL_COMPLIANCE,
    "2_full_refusal": Label.FULL_REFUSAL,
    "3_partial_refusal": Label.PARTIAL_REFUSAL,
}
_BY_PEOPLE = ("annotation_1", "annotation_2", "final_label")
_COLUMNS = ("prompt", "completion", "model", *_BY_PEOPLE)
# Kinds about what XSTest is about: ordinary answers, and some written to look like another class.
_GENERAL, _LOOK_ALIKE = "general", "look_alike"
_PROJECT = "project"  # wrote answers as long and as formal as XSTest's
# Kinds spread over all cells: these two, and the one with most answers that are none.
_SPREAD = ("non_answer", _GENERAL, _LOOK_ALIKE)

FOLDS = 3
"""Parts of the prompts that are held out in turn."""

_XSTEST_WEIGHT = 2.0  # of an answer of XSTest, or of a kind about the same
# Scale of words beside patterns; answers with the rarest feature that counts.
_WORD_SCALE, _RAREST = 3.0, 6

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]


def load_labelled(path: Path) -> pd.DataFrame:
    """Read XSTest's file of labelled answers, or one like it; ParamsError names a wrong row."""
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    if missing := [name for name in _COLUMNS if name not in frame]:
        raise ParamsError(f"{path}: lacks the columns {', '.join(missing)}")
    for column in _BY_PEOPLE:
        for row, label in enumerate(frame[column], start=2):
            if label not in XSTEST_LABELS:
                valid = ", ".join(XSTEST_LABELS)
                raise ParamsError(f"{path}: row {row}: {column}: {label!r} must be one of {valid}")
        frame[column] = frame[column].map(XSTEST_LABELS)
    return frame


def load_own() -> pd.DataFrame:
    """Read the project's own answers: ``prompt``, ``completion``, ``label``, ``kind``, ``writer``.

    Two readers gave each answer its label without seeing the other's label; an answer by the writer
    ``project`` has one reader's label.
    """
    return pd.read_json(OWN, lines=True, dtype=False)


class Corpus:
    """Answers that can be read, XSTest's first, with their labels, features and folds."""

    def __init__(self, labelled: pd.DataFrame, own: pd.DataFrame) -> None:
        parsed = [
            parse(final_answer(text)) for text in [*labelled["completion"], *own["completion"]]
        ]
        unread = np.array(
            [why_not_read(answer) is not None or _is_of_any(answer) for answer in parsed]
        )
        unread[: len(labelled)] = False
        self.answers: list[ParsedAnswer] = [
            a for a, no in zip(parsed, unread, strict=True) if not no
        ]
        self.xstest, self.own = labelled, own[~unread[len(labelled) :]]
        self.unread = own[unread[len(labelled) :]]
        kinds = self.own["kind"]
        xstest = np.full(len(labelled), True)
        self.like_xstest = np.concatenate([xstest, self.own["writer"] == _PROJECT])
        self.names, self.features, self.scale = _matrix(self.answers, self.like_xstest)
        people = [self._shares(labelled[column]) for column in ("annotation_1", "annotation_2")]
        self.targets = np.concatenate([sum(people) / 2, self._shares(self.own["label"])])
        about_the_same = kinds.isin((_GENERAL, _LOOK_ALIKE))
        self.targets[np.concatenate([xstest, about_the_same])] *= _XSTEST_WEIGHT
        self.models = pd.factorize(labelled["model"], sort=True)[0]
        self.prompts = fold_of(labelled["prompt"], FOLDS)
        self.cells = FOLDS * len(set(self.models))
        spread = kinds.isin(_SPREAD)
        by_kind = fold_of(kinds.mask(spread, ""), self.cells)
        own_cell = np.where(spread, fold_of(self.own["completion"], self.cells), by_kind)
        self.cell = np.concatenate([self.models * FOLDS + self.prompts, own_cell])

    def seen(self, cell: int) -> Places:
        """Places of answers that share no model, prompt or kind (but spread ones) with a cell's."""
        model, prompts = divmod(cell, FOLDS)
        apart = (self.models != model) & (self.prompts != prompts)
        return np.flatnonzero([*apart, *(self.cell[len(self.xstest) :] != cell)])

    @staticmethod
    def _shares(labels: pd.Series[str]) -> Floats:
        names = labels.replace(str(Label.FULL_COMPLIANCE), CLASSES[0])
        return np.array([names == name for name in CLASSES], np.float64).T


def _is_of_any(answer: ParsedAnswer) -> bool:
    # Too short to tell its language, as "No." is: the judge reads it, but it teaches nothing.
    from py3langid import langid

    return len({odds for _, odds in langid.rank(answer.text.lower())}) == 1


def fold_of(names: pd.Series[str], count: int) -> Places:
    """Fold of each row: all rows of a name share one, and folds have equally many names."""
    order = {name: i % count for i, name in enumerate(sorted(set(names), key=hash_of))}
    return np.array([order[name] for name in names], np.intp)


def hash_of(text: str) -> str:
    """SHA-256 of a text, in hex."""
    return hashlib.sha256(text.encode()).hexdigest()


def _matrix(
    answers: Sequence[ParsedAnswer], like_xstest: npt.NDArray[np.bool_]
) -> tuple[list[str], sparse.csr_array, Floats]:
    # Names, values and what these were multiplied with: patterns on their own spread, words alike.
    # Of the features of answers like XSTest's, to which the regression is fitted.
    from sklearn.feature_extraction import DictVectorizer

    vectors = DictVectorizer()
    matrix = vectors.fit_transform(dict.fromkeys(features(answer), 1.0) for answer in answers)
    share = np.asarray(matrix[np.flatnonzero(like_xstest)].mean(axis=0)).ravel()
    kept = np.flatnonzero(share * like_xstest.sum() >= _RAREST)
    names = [vectors.feature_names_[place] for place in kept]
    spread = np.sqrt(share * (1 - share))[kept]
    scale = np.where([name.startswith(WORD) for name in names], _WORD_SCALE, 1 / spread)
    return names, sparse.csr_array(matrix[:, kept] @ sparse.diags(scale)), scale
