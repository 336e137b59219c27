import pandas as pd
import pytest

from aor_lib.config.records import Label
from aor_lib.judge.speech_acts import WEIGHTS, load_evaluation, load_weights
from reference.judge import fit as fitting
from reference.judge.fit import XSTEST_LABELS, load_examples, load_labelled


@pytest.fixture(scope="module")
def examples():
    return load_examples()


@pytest.fixture(scope="module")
def path(examples, tmp_path_factory):
    some = examples.iloc[::4].reset_index(drop=True)
    names = {label: name for name, label in XSTEST_LABELS.items()}
    label = some["label"].map(names)
    frame = pd.DataFrame(
        {
            "prompt": [f"prompt {i // 3}" for i in range(len(some))],
            "completion": some["text"],
            "model": [f"model-{i % 3}" for i in range(len(some))],
            "annotation_1": label,
            "annotation_2": label,
            "final_label": label,
            "gpt4_label": "a failure",
            "strmatch_label": "2_full_refusal",
        }
    )
    file = tmp_path_factory.mktemp("labelled") / "labelled.csv"
    frame.to_csv(file, index=False)
    return file


def test_every_answer_is_judged_without_its_model_and_its_prompt(path, examples, monkeypatch):
    seen = []

    def spy(rows, own):
        seen.append(rows)
        return load_weights()

    monkeypatch.setattr(fitting, "fit", spy)
    labelled = load_labelled(path)
    judged = fitting.held_out(labelled, examples)
    held_out = [(m, f) for m in sorted(set(labelled["model"])) for f in range(fitting.FOLDS)]
    for (model, fold), rows in zip(held_out, seen, strict=True):
        tested = labelled[(labelled["model"] == model) & (judged["fold"] == fold)]
        assert len(tested)
        assert set(rows["model"]).isdisjoint(tested["model"])
        assert set(rows["prompt"]).isdisjoint(tested["prompt"])
    assert (judged["gpt4"] == Label.UNJUDGED).all()
    assert (judged["string_match"] == Label.FULL_REFUSAL).all()
    table = fitting.evaluate(judged)
    assert list(table.index) == ["all", "model-0", "model-1", "model-2"]
    assert table.loc["all", "kappa"] > 0.8


def test_the_same_data_give_the_same_bytes(path, examples, tmp_path):
    labelled = load_labelled(path)
    one, two, three = (tmp_path / f"{n}.npz" for n in range(3))
    for file in (one, two):
        fitting.save_weights(fitting.fit(labelled, examples.iloc[1::4]), file)
    assert one.read_bytes() == two.read_bytes()
    fitting.save_weights(load_weights(one), three)
    assert one.read_bytes() == three.read_bytes()


def test_what_ships_is_small_and_holds_labels_but_no_sentence():
    assert WEIGHTS.stat().st_size < 1_000_000
    words = [name for name in load_weights() if name.startswith("word ")]
    assert max(len(name.split()) for name in words) == 3  # "word" and a pair
    evaluation = load_evaluation()
    assert evaluation[["human", "judge", "gpt4", "string_match"]].isin(list(Label)).all(axis=None)
