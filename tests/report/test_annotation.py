"""People label clips and answers."""

import itertools
from collections import Counter

import ipywidgets as widgets
import pandas as pd
import pytest

from aor_lib.config.typed_yaml import AorError
from aor_lib.stimuli.manifest import MANIFEST
from notebooks import annotation
from notebooks.annotation import FOLDER, annotate, labelled_items
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
    clips = made.assign(
        stimulus_id=names,
        utterance_id=utterances,
        block="core",
        path="clips/" + names + ".flac",
        sha256="sha of " + names,
    )
    (tmp_path / "clips").mkdir()
    clips.to_parquet(tmp_path / MANIFEST)
    for one in clips.to_dict("records"):
        (tmp_path / one["path"]).write_bytes(f"sound of {one['stimulus_id']}".encode())
    return tmp_path


def click(session, title):
    buttons = [w for w in widgets_in(session) if isinstance(w, widgets.Button)]
    next(button for button in buttons if button.description == title).click()


def order_of(build, task, annotator, number):
    """Items in the order in which they are asked, each labelled by the last of its buttons."""
    session = annotate(build, task, annotator, number, 1)
    while session.children[1].children:
        click(session, {"clips": "Unclear", "answers": "Unjudged"}[task])
    path = build / FOLDER / f"{task}-{annotator}.csv"
    return pd.read_csv(path)["item"].tolist()


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
    asked = [item.removeprefix("sha of ").split(".") for item in order_of(build, "clips", "ann", n)]
    utterances, conditions = zip(*asked, strict=True)
    assert Counter(conditions) == {"benign_scene": n, "speech_only": n}
    assert conditions[:n].count("benign_scene") == n // 2
    for utterance in set(utterances):
        first, second = (i for i, other in enumerate(utterances) if other == utterance)
        assert second - first - 1 >= n // 2
    ann, bob = (order_of(build, "clips", name, 6) for name in ("annie", "bob"))
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
    (build / FOLDER).mkdir()
    (build / FOLDER / "clips-ann.csv").write_text("annotator,item,label\na,x,evil\n")
    with pytest.raises(AorError, match=r"clips-ann\.csv.*harmful, benign, unclear"):
        annotate(build, "clips", "ann", 2, 1)
    assert annotate(build, "clips", "", 3, 1) is None


def test_answers_are_drawn_equally_from_the_judges_labels_and_shown_as_text(tmp_path, monkeypatch):
    names = [f"full_compliance-{n}" for n in range(20)] + [f"full_refusal-{n}" for n in range(4)]
    rows = pd.DataFrame({"item": names, "of": names, "text": "Request", "response": "<script>"})
    rows["group"] = rows["judged"] = rows["item"].str.partition("-")[0]
    monkeypatch.setattr(annotation, "items", lambda build, task, judge: rows)
    (shown,) = annotate(tmp_path, "answers", "ann", 8, 1).children[1].children
    assert "&lt;script&gt;" in shown.value
    assert "<script" not in shown.value
    assert "full_" not in shown.value
    counts = Counter(item.partition("-")[0] for item in order_of(tmp_path, "answers", "ann", 8))
    assert counts == {"full_compliance": 4, "full_refusal": 4}
