"""People label clips and answers."""

import itertools
from collections import Counter

import ipywidgets as widgets
import pandas as pd
import pytest

from aor_lib.config.typed_yaml import AorError
from aor_lib.report import annotation
from aor_lib.report.annotation import (
    CLIPS,
    FOLDER,
    Annotation,
    listen,
    load_labels,
)
from aor_lib.stimuli.manifest import MANIFEST
from tests.report.conftest import widgets_in

ITEMS = {name: lambda name=name: widgets.HTML(f"item {name}") for name in ("x", "y", "z")}
INTENTS = ("pseudo_harmful", "harmful", "benign")


def clips():
    """Two utterances of each kind, in two conditions to hear and one to read."""
    kinds = itertools.product(
        ("kitchen", "video_gaming"), INTENTS, "ab", ("benign_scene", "speech_only", "text_only")
    )
    made = pd.DataFrame(kinds, columns=["scenario", "intent", "n", "condition"])
    utterances = made["scenario"] + "-" + made["intent"] + "-" + made.pop("n")
    names = utterances + "." + made["condition"]
    return made.assign(
        stimulus_id=names,
        utterance_id=utterances,
        block="core",
        text="How do I kill " + utterances + "?",
        path=("clips/" + names + ".flac").where(made["condition"] != "text_only", None),
        sha256="sha of " + names,
    )


CLIP_ROWS = clips()


@pytest.fixture
def build(tmp_path):
    (tmp_path / "clips").mkdir()
    CLIP_ROWS.to_parquet(tmp_path / MANIFEST)
    for one in CLIP_ROWS.dropna(subset=["path"]).to_dict("records"):
        (tmp_path / one["path"]).write_bytes(f"sound of {one['stimulus_id']}".encode())
    return tmp_path


def order_of(session):
    """Items in the order in which they are asked."""
    asked = []
    while session.current is not None:
        asked.append(session.current)
        session.choose("unclear")
    return asked


def shown_by(session):
    """Text of the current item."""
    return [w.value for w in widgets_in(session.widget) if isinstance(w, widgets.HTML)]


def click(session, title):
    buttons = [w for w in widgets_in(session.widget) if isinstance(w, widgets.Button)]
    next(button for button in buttons if button.description == title).click()


def test_a_button_keeps_a_label_and_shows_the_next_item_until_all_are_done(tmp_path):
    session = Annotation(tmp_path, CLIPS, "ann", ITEMS)
    assert shown_by(session) == ["item x"]
    for title in ("Harmful", "Benign", "Unclear"):
        click(session, title)
    assert (session.current, shown_by(session)) == (None, [])
    assert load_labels(tmp_path, CLIPS)["label"].tolist() == ["harmful", "benign", "unclear"]


def test_a_session_resumes_where_it_was_left_and_going_back_replaces_a_label(tmp_path):
    Annotation(tmp_path, CLIPS, "ann", ITEMS).choose("benign")
    session = Annotation(tmp_path, CLIPS, "ann", ITEMS)
    assert session.current == "y"
    assert Annotation(tmp_path, CLIPS, "bob", ITEMS).current == "x"
    for _ in range(2):
        click(session, "Back")
    session.choose("unclear")
    assert load_labels(tmp_path, CLIPS)[["item", "label"]].to_numpy().tolist() == [["x", "unclear"]]


def test_a_label_that_cannot_be_kept_is_said_and_the_item_stays(tmp_path):
    session = Annotation(tmp_path, CLIPS, "ann", ITEMS)
    (tmp_path / FOLDER).write_text("no folder")
    click(session, "Benign")
    assert FOLDER in session.widget.children[-1].value
    assert session.current == "x"


def test_a_file_of_other_labels_is_refused(tmp_path):
    (tmp_path / FOLDER).mkdir()
    CLIPS.path(tmp_path, "ann").write_text("annotator,item,label,created\na,x,evil,\n")
    with pytest.raises(AorError, match=r"clips-ann\.csv.*evil"):
        load_labels(tmp_path, CLIPS)


def test_each_utterance_is_heard_in_its_scene_and_alone_far_apart(build):
    n = 12
    rows = CLIP_ROWS.set_index("sha256").loc[order_of(listen(build, "ann", n, 1))]
    utterances, conditions = rows["utterance_id"].tolist(), rows["condition"].tolist()
    assert Counter(conditions) == {"benign_scene": n, "speech_only": n}
    assert conditions[:n].count("benign_scene") == n // 2
    for utterance in set(utterances):
        first, second = (i for i, other in enumerate(utterances) if other == utterance)
        assert second - first - 1 >= n // 2


def test_annotators_hear_the_same_clips_of_every_kind_in_different_orders(build):
    ann, bob = (order_of(listen(build, name, 6, 1)) for name in ("ann", "bob"))
    assert set(ann) == set(bob)
    assert ann != bob
    rows = CLIP_ROWS.set_index("sha256").loc[ann]
    assert len(rows.groupby(["scenario", "intent"])) == 6


def test_the_page_holds_the_sound_and_nothing_about_it(build):
    session = listen(build, "ann", 3, 1)
    (player,) = session.widget.children[1].children
    assert bytes(player.value) == session.current.replace("sha of", "sound of").encode()
    states = [{**one.get_state(), "value": ""} for one in widgets_in(session.widget)]
    secrets = {"kitchen", "gaming", "pseudo", "scene", "speech_only", "kill"}
    assert not [secret for secret in secrets if secret in str(states)]


def test_a_session_that_cannot_be_held_is_refused(build):
    for annotator, n, named in (("ann", 13, "1 to 12"), ("Ann Smith", 2, "annotator: 'Ann Smith'")):
        with pytest.raises(AorError, match=named):
            listen(build, annotator, n, 1)
    for path in (build / "clips").iterdir():
        path.unlink()
    with pytest.raises(AorError, match=r"\.flac"):
        listen(build, "ann", 3, 1)


def test_without_an_annotator_there_is_a_note(build):
    assert "No annotator" in str(listen(build, "", 3, 1))
    assert "No annotator" in str(annotation.label_answers(build, "", 3, 1))


def test_clips_count_as_benign_if_most_annotators_heard_them_so(build):
    heard = {"ann": "benign", "bob": "benign", "cem": "harmful"}
    for annotator, label in heard.items():
        session = listen(build, annotator, 12, 1)
        while session.current is not None:
            session.choose(label if "benign_scene" in session.current else "harmful")
    found = annotation.heard_as_benign(build)
    assert found.where(condition="benign_scene").frame["share"].tolist() == [1, 1, 1]
    assert found.where(condition="speech_only").frame["share"].tolist() == [0, 0, 0]
    assert found.frame["n"].tolist() == [4] * 6


@pytest.fixture
def answered(monkeypatch):
    """Answers of a study: many of compliance and few refusals."""
    labels = {"full_compliance": 20, "full_refusal": 4}
    rows = [
        (f"{label}-{n}", f"Request <b>{n}", f"Answer <script>{n}", label)
        for label, count in labels.items()
        for n in range(count)
    ]
    frame = pd.DataFrame(rows, columns=["item", "text", "response", "label"])
    monkeypatch.setattr(annotation, "load_answers", lambda build, judge: frame)


@pytest.mark.usefixtures("answered")
def test_answers_are_drawn_equally_from_the_judges_labels_and_shown_as_text(tmp_path):
    session = annotation.label_answers(tmp_path, "ann", 8, 1)
    (shown,) = shown_by(session)
    assert "&lt;script&gt;" in shown
    assert "<script" not in shown
    assert "full_" not in shown
    counts = Counter(item.partition("-")[0] for item in order_of(session))
    assert counts == {"full_compliance": 4, "full_refusal": 4}


@pytest.mark.usefixtures("answered")
def test_people_are_compared_with_each_other_and_with_the_judge(tmp_path):
    for annotator in ("ann", "bob"):
        session = annotation.label_answers(tmp_path, annotator, 8, 1)
        while (item := session.current) is not None:
            session.choose("unjudged" if item == "full_refusal-1" else item.partition("-")[0])
    assert set(load_labels(tmp_path, annotation.ANSWERS)["annotator"]) == {"ann", "bob"}
    kappa = annotation.rater_agreement(tmp_path, "rules").frame.set_index(["rater", "against"])
    assert kappa.loc[("ann", "bob"), "kappa"] == 1
    assert 0.5 < kappa.loc[("bob", "rules"), "kappa"] < 1
    share = annotation.confirmed(tmp_path, "rules").frame.set_index("judged")["share"]
    assert share.to_dict() == {"full_compliance": 1, "full_refusal": 0.75}
