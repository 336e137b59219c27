import numpy as np
import pandas as pd
import pytest

from aor_lib.analysis.people import load_evaluation
from aor_lib.config.records import Label
from aor_lib.judge.encoder import CLASSES, ENCODER
from aor_lib.judge.speech_acts import WEIGHTS, decide, load_weights, weigh
from reference.judge import fit as fitting
from reference.judge.corpus import XSTEST_LABELS, Corpus, load_labelled, load_own


@pytest.fixture(scope="module")
def own():
    return load_own().query("kind != 'language'").groupby("kind").head(12).reset_index(drop=True)


@pytest.fixture(scope="module")
def corpus(own, tmp_path_factory):
    some = own[own["label"].isin(CLASSES[:3])].iloc[::2].reset_index(drop=True)
    names = {str(label): name for name, label in XSTEST_LABELS.items()}
    label = some["label"].replace("compliance", "full_compliance").map(names)
    people = dict.fromkeys(("annotation_1", "annotation_2", "final_label"), label)
    people |= {"gpt4_label": "a failure", "strmatch_label": "2_full_refusal"}
    asked = {"prompt": [f"prompt {i // 3}" for i in some.index]}
    frame = some.assign(**people | asked, model=[f"model-{i % 3}" for i in some.index])
    path = tmp_path_factory.mktemp("labelled") / "labelled.csv"
    frame.to_csv(path, index=False)
    return Corpus(load_labelled(path), own)


def test_every_answer_is_judged_without_its_model_its_prompt_and_its_kind(corpus):
    people, tested_once = corpus.xstest, np.zeros(len(corpus.answers))
    for cell in range(corpus.cells):
        seen, tested = corpus.seen(cell), np.flatnonzero(corpus.cell == cell)
        tested_once[tested] += 1
        of_people = [places[places < len(people)] for places in (seen, tested)]
        for column in ("model", "prompt"):
            before, now = (set(people[column].iloc[places]) for places in of_people)
            assert before.isdisjoint(now)
        kinds = [corpus.own["kind"].iloc[p[p >= len(people)] - len(people)] for p in (seen, tested)]
        assert set(kinds[0]) & set(kinds[1]) <= {"non_answer", "general", "look_alike"}
    assert (tested_once == 1).all()


def test_patterns_and_encoder_are_weighed_by_the_length_of_an_answer(corpus):
    scores = 4 * corpus.targets + np.random.default_rng(0).normal(size=corpus.targets.shape)
    log_odds = fitting.weighed(corpus, fitting.held_out_patterns(corpus), scores)
    judged = fitting.evaluation(corpus, log_odds)
    assert (judged["gpt4"] == Label.UNJUDGED).all()
    table = fitting.evaluate(judged)
    assert list(table.index) == ["all", "model-0", "model-1", "model-2"]
    assert table.loc["all", "kappa"] > 0.8
    assert fitting.evaluate_own(corpus, log_odds).iloc[0]["found or unsure"] > 0.9
    refuses, complies = np.array([0.0, 0, 9]), np.array([9.0, 0, 0, 0])
    labels = [decide(weigh(refuses, complies, "word " * words))[0] for words in (5, 200)]
    assert labels == [Label.FULL_COMPLIANCE, Label.FULL_REFUSAL]


def test_what_ships_is_small_and_holds_labels_but_no_sentence():
    assert WEIGHTS.stat().st_size + ENCODER.stat().st_size < 6_000_000
    assert max(len(name.split()) for name in load_weights().by_feature) <= 3
    evaluation = load_evaluation()
    assert evaluation[["human", "judge", "gpt4", "string_match"]].isin(list(Label)).all(axis=None)


def test_both_classes_of_every_kind_were_written():
    table = pd.crosstab(load_own()["kind"], load_own()["label"])
    assert (table[["compliance", "full_refusal"]] >= 20).all(axis=None)
