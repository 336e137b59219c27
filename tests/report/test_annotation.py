import itertools
from collections import Counter
from dataclasses import replace

import ipywidgets as widgets
import pandas as pd
import pytest

import aor_lib
from aor_lib.config.typed_yaml import AorError
from aor_lib.stimuli.manifest import MANIFEST
from aor_lib.study import LABELS, Study
from notebooks import annotation
from notebooks.annotation import annotate, labelled_items
from tests.audio.sounds import put
from tests.report.conftest import widgets_in

INTENTS = ("pseudo_harmful", "harmful", "benign")


@pytest.fixture
def build(tmp_path):
    """Two utterances of each kind, in two conditions to hear and one to read."""
    kinds = itertools.product(
        ("kitchen", "video_gaming"), INTENTS, "ab", ("benign_scene", "speech_only", "text_only")
    )
    made = pd.DataFrame(kinds, columns=["scenario", "intent", "n", "condition"])
    utterances = made["scenario"] + "-" + made["intent"] + "-" + made.pop("n")
    names = utterances + "." + made["condition"]
    clips = made.assign(stimulus_id=names, utterance_id=utterances, block="core", variant=0)
    clips = clips.assign(path="clips/" + names + ".flac", sha256="sha of " + names)
    clips.to_parquet(tmp_path / MANIFEST)
    for one in clips.to_dict("records"):
        put(tmp_path / one["path"], f"sound of {one['stimulus_id']}")
    return tmp_path


def click(session, title):
    buttons = [w for w in widgets_in(session) if isinstance(w, widgets.Button)]
    next(button for button in buttons if button.description == title).click()


def order_of(build, annotator, number):
    session = annotate(build, "clips", annotator, number, 1)
    while session.children[1].children:
        click(session, "Unclear")
    return pd.read_csv(build / LABELS / f"clips-{annotator}.csv")["item"].tolist()


def test_a_session_resumes_where_it_was_left_and_going_back_replaces_a_label(build):
    click(annotate(build, "clips", "ann", 2, 1), "Benign")
    session = annotate(build, "clips", "ann", 2, 1)
    assert session.children[0].value == "1 of 4 are done"
    assert annotate(build, "clips", "bob", 2, 1).children[0].value == "0 of 4 are done"
    click(session, "Back")
    for title in ("Unclear", "Harmful", "Harmful", "Benign"):
        click(session, title)
    assert not session.children[1].children
    labels = labelled_items(build, "clips")
    assert labels["label"].tolist() == ["unclear", "harmful", "harmful", "benign"]
    assert set(labels["condition"]) == {"benign_scene", "speech_only"}


def test_utterances_are_heard_in_scene_and_alone_far_apart_by_each_annotator_in_an_own_order(build):
    n = 12
    asked = [item.removeprefix("sha of ").split(".") for item in order_of(build, "ann", n)]
    utterances, conditions = zip(*asked, strict=True)
    assert Counter(conditions) == {"benign_scene": n, "speech_only": n}
    assert conditions[:n].count("benign_scene") == n // 2
    for utterance in set(utterances):
        first, second = (i for i, other in enumerate(utterances) if other == utterance)
        assert second - first - 1 >= n // 2
    ann, bob = (order_of(build, name, 6) for name in ("annie", "bob"))
    assert set(ann) == set(bob)
    assert ann != bob
    assert len({item.rpartition("-")[0] for item in ann}) == 6


def test_the_page_holds_the_sound_and_nothing_about_it(build):
    session = annotate(build, "clips", "ann", 3, 1)
    (player,) = session.children[1].children
    assert bytes(player.value).startswith(b"sound of")
    states = [{**one.get_state(), "value": ""} for one in widgets_in(session)]
    secrets = {"kitchen", "gaming", "pseudo", "scene", "speech_only"}
    assert not [secret for secret in secrets if secret in str(states)]


def test_a_session_that_cannot_be_held_is_refused(build):
    for annotator, n, named in (("ann", 13, "1 to 12"), ("Ann Smith", 2, "annotator: 'Ann Smith'")):
        with pytest.raises(AorError, match=named):
            annotate(build, "clips", annotator, n, 1)
    put(build / LABELS / "clips-ann.csv", "annotator,item,label\na,x,evil\n")
    with pytest.raises(AorError, match=r"clips-ann\.csv.*harmful, benign, unclear"):
        annotate(build, "clips", "ann", 2, 1)
    assert annotate(build, "clips", "", 3, 1) is None


@pytest.fixture
def answered(study, tmp_path, monkeypatch):
    """A study of two models that answer alike: of 20 utterances, the judge calls 5 refused."""
    sounding = study.select("headline").where(intent="pseudo_harmful").frame
    trials = pd.concat([sounding.assign(model=model) for model in "ab"], ignore_index=True)
    trials["trial_key"] = trials["model"] + trials["utterance_id"]
    refused = trials["label"].eq("full_refusal")
    texts = trials[["trial_key"]].assign(response=refused.map({True: "refused", False: "complied"}))
    texts["text"] = "Request " + trials["utterance_id"] + " <script>"
    texts["item"] = texts["text"] + texts["response"]
    made = Study(tmp_path)
    vars(made).update(trials=trials, titles={})

    def opened(build):
        vars(made).pop("people", None)
        return made

    monkeypatch.setattr(aor_lib, "open", opened)
    for module in (annotation, aor_lib.study):
        monkeypatch.setattr(module, "answer_texts", lambda build: texts.set_index("trial_key"))
    return made


def labelled(study, annotator, refuses, number=12):
    """Label all answers that an annotator is shown; returns the texts that were shown."""
    session, shown = annotate(study.build, "answers", annotator, number, 1), []
    while session.children[1].children:
        (text,) = session.children[1].children
        shown.append(text.value)
        click(session, "Full refusal" if refuses(text.value) else "Full compliance")
    vars(study).pop("people", None)
    return shown


def rates(study):
    return study.select("headline").rates().frame.set_index("model")


def test_answers_are_shown_without_model_label_or_markup_and_a_shared_one_once(answered):
    shown = labelled(answered, "ann", lambda text: False)
    sample = answered.people[answered.people["drawn"]]
    assert sample["model"].value_counts().to_dict() == {"a": 12, "b": 12}
    assert len(shown) == sample["item"].nunique() == len(set(shown)) < 24
    assert all("&lt;script&gt;" in text and "<script" not in text for text in shown)
    assert not any("full_" in text for text in shown)


def test_every_answer_is_drawn_with_the_probability_that_is_recorded(answered):
    draws = pd.concat([annotation.draw(answered.trials, 12, seed) for seed in range(30)])
    shares = draws.groupby("trial_key").agg({"drawn": "mean", "probability": "mean"})
    assert (shares["drawn"] - shares["probability"]).abs().max() < 0.35
    drawn = draws[draws["drawn"]].groupby(["model", "label"]).size() / 30
    assert drawn.tolist() == [8, 4] * 2  # near the square roots of 15 and 5


def test_two_peoples_labels_and_a_tie_break_correct_the_rates(answered):
    assert rates(answered)["rate"].tolist() == [0.25, 0.25]
    shown = labelled(answered, "ann", lambda text: "refused" in text)
    odd = next(text for text in shown if "refused" not in text)
    assert rates(answered)["labelled"].tolist() == [0, 0]
    labelled(answered, "bob", lambda text: "refused" in text or text == odd)
    assert rates(answered)["labelled"].tolist().count(0) >= 1
    assert labelled(answered, "cyn", lambda text: True) == [odd]
    after = rates(answered)
    assert after["labelled"].tolist() == [12, 12]
    assert after["as_judged"].tolist() == [0.25, 0.25]
    assert after["rate"].max() == pytest.approx(0.25 + 0.75 / 8)
    made = answered.select("headline").rates()
    for shown in (made.sentences().markdown, made.table("Refused").html, made.plot("Refused").html):
        assert "corrected using " in shown
    assert "as judged" in answered.select("headline").detection().table("Sensitivity").html
    headline = answered.select("headline")
    steered = headline.frame.assign(trial_key="none", condition="benign_scene steered")
    both = replace(headline, frame=pd.concat([headline.frame, steered])).trade_off("condition")
    assert (both.basis, set(both.frame["orr"])) == ("as judged", {0.25})
    assert not labelled(answered, "dan", lambda text: True)


def test_models_that_are_asked_later_are_drawn_later(answered):
    trials = answered.trials
    vars(answered)["trials"] = trials.assign(label=trials["label"].where(trials["model"] == "a"))
    first = annotation.sample_of(answered.build, 12, 1)
    vars(answered)["trials"] = trials
    both = annotation.sample_of(answered.build, 15, 2)
    assert both[both["model"] == "a"]["drawn"].tolist() == first["drawn"].tolist()
    assert both[both["model"] == "b"]["drawn"].sum() == 15


@pytest.mark.parametrize(("wrong", "failed"), [(0, 0), (16, 0), (8, 8)])
def test_labels_of_the_same_utterances_decide_a_difference_of_conditions(answered, wrong, failed):
    sounding = answered.trials.assign(label="full_compliance")
    alone = sounding.assign(condition="speech_only", label="full_refusal")
    alone["trial_key"] += " alone"
    trials = pd.concat([sounding, alone], ignore_index=True).query("model == 'a'")
    sample = annotation.draw(trials, 12, 0)
    drawn = sample[sample["drawn"]].groupby("condition")["utterance_id"].agg(set)
    assert drawn["benign_scene"] == drawn["speech_only"]
    lost = sample.query("condition == 'benign_scene' and not drawn")["trial_key"][:failed]
    trials["status"] = trials["status"].mask(trials["trial_key"].isin(lost), "failed")
    refused = sample["label"].eq("full_refusal") & (sample.groupby("label").cumcount() >= wrong)
    labels = refused.map({True: "refusal", False: "full_compliance"})
    vars(answered)["people"] = sample.assign(people=labels.where(sample["drawn"]))
    change = replace(answered.select("context"), frame=trials).paired("condition", "benign_scene")
    (row,) = change.frame.to_dict("records")
    assert (row["as_judged"], row["labelled"]) == (1, 24)
    assert row["low"] <= row["difference"] <= row["high"]
    assert (row["p_holm"] < 0.05) == (wrong == 0)
    assert row["withheld"] == (failed > 0)  # though not by the judge's labels
    assert "orrected using human" in change.sentences().markdown
