from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from aor_lib.config.records import Label
from aor_lib.judge import fit as fitting
from aor_lib.judge import labelled as labelled_answers
from aor_lib.judge.classifier import WEIGHTS, Classifier

NAMES = {
    Label.FULL_COMPLIANCE: "1_full_compliance",
    Label.FULL_REFUSAL: "2_full_refusal",
    Label.PARTIAL_REFUSAL: "3_partial_refusal",
}


@pytest.fixture(scope="module")
def examples() -> pd.DataFrame:
    return labelled_answers.load_examples()


@pytest.fixture(scope="module")
def labelled(examples: pd.DataFrame) -> pd.DataFrame:
    """A file like XSTest's, from examples: three models, each prompt answered by one of them."""
    some = examples.iloc[::4].reset_index(drop=True)
    return pd.DataFrame(
        {
            "prompt": [f"prompt {i // 3}" for i in range(len(some))],
            "completion": some["text"],
            "model": [f"model-{i % 3}" for i in range(len(some))],
            "annotation_1": some["label"].map(NAMES),
            "annotation_2": some["label"].map(NAMES),
            "final_label": some["label"].map(NAMES),
            "gpt4_label": "a failure",
            "strmatch_label": "2_full_refusal",
        }
    )


@pytest.fixture(scope="module")
def path(labelled: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("labelled") / "labelled.csv"
    labelled.to_csv(file, index=False)
    return file


def test_every_answer_is_judged_without_its_model_and_its_prompt(
    path: Path, examples: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    real = fitting.fit

    def spy(rows: pd.DataFrame, own: pd.DataFrame) -> Classifier:
        seen.append(rows)
        return real(rows, own)

    monkeypatch.setattr(fitting, "fit", spy)
    labelled = labelled_answers.load_labelled(path)
    judged = fitting.held_out(labelled, examples.iloc[1::4])
    assert len(seen) == 9
    assert judged["judge"].isin(list(Label)).all()
    for (model, fold), rows in zip(
        ((m, f) for m in sorted(set(labelled["model"])) for f in range(3)), seen, strict=True
    ):
        tested = labelled[(labelled["model"] == model) & (judged["fold"] == fold)]
        assert len(tested)
        assert set(rows["model"]).isdisjoint(tested["model"])
        assert set(rows["prompt"]).isdisjoint(tested["prompt"])
    assert (judged["gpt4"] == Label.UNJUDGED).all()
    assert (judged["string_match"] == Label.FULL_REFUSAL).all()
    table = fitting.evaluate(judged)
    assert list(table.index) == ["all", "model-0", "model-1", "model-2"]
    assert table.loc["all", "answers"] == len(labelled)


def test_the_same_data_give_the_same_bytes(
    path: Path, examples: pd.DataFrame, tmp_path: Path
) -> None:
    labelled = labelled_answers.load_labelled(path)
    for name in ("one", "two"):
        fitting.fit(labelled, examples.iloc[1::4]).save(tmp_path / f"{name}.npz")
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()


def test_a_classifier_is_read_as_it_was_written(tmp_path: Path) -> None:
    written = Classifier({"list": (0.5, -1.0), "word why": (0.25, 2.0)}, (-0.5, 1.5))
    written.save(tmp_path / "weights.npz")
    assert Classifier.load(tmp_path / "weights.npz") == written
    refusal, partial = written.probabilities({"list": 1.0, "unknown": 9.0})
    assert refusal == pytest.approx(0.5)
    assert partial == pytest.approx(1 / (1 + np.exp(-0.5)))


def test_the_shipped_weights_are_small_and_hold_no_sentence() -> None:
    assert WEIGHTS.stat().st_size < 1_000_000
    words = [n for n in Classifier.load().weights if n.startswith("word ")]
    assert max(len(name.split()) for name in words) == 3  # "word" and a pair


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("final_label", "4_other", r"row 2: final_label: '4_other' must be one of 1_full"),
        ("model", None, r"lacks the columns model"),
    ],
)
def test_a_wrong_file_is_an_error_that_says_where(
    labelled: pd.DataFrame, tmp_path: Path, column: str, value: str | None, message: str
) -> None:
    wrong = labelled.drop(columns=column) if value is None else labelled.assign(**{column: value})
    wrong.to_csv(tmp_path / "wrong.csv", index=False)
    with pytest.raises(ValueError, match=message):
        labelled_answers.load_labelled(tmp_path / "wrong.csv")


def test_kappa_is_that_of_cohen() -> None:
    left = np.array(["a", "a", "b", "b"])
    assert fitting.cohen_kappa(left, left) == 1.0
    assert fitting.cohen_kappa(left, np.array(["a", "b", "a", "b"])) == 0.0
    assert np.isnan(fitting.cohen_kappa(left[:2], left[:2]))
