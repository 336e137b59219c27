import ipywidgets as widgets
import pytest

from aor_lib.report.annotation import session as session_module
from aor_lib.report.annotation.session import AnnotationSession, finished_annotations
from aor_lib.report.annotation.store import ANNOTATIONS, CLIPS, load_annotations
from tests.report.conftest import widgets_in

ITEMS = {name: lambda name=name: widgets.HTML(f"item {name}") for name in ("x", "y", "z")}


@pytest.fixture
def open_session(tmp_path, monkeypatch):
    def start(annotator="ann", shortest_look_s=0.0):
        monkeypatch.setattr(session_module, "SHORTEST_LOOK_S", shortest_look_s)
        return AnnotationSession(tmp_path, CLIPS, annotator, ITEMS)

    return start


@pytest.fixture
def labels(tmp_path):
    return lambda: load_annotations(tmp_path, CLIPS)["label"].tolist()


def press(session, key):
    keys = next(w for w in widgets_in(session.widget) if isinstance(w, widgets.Text))
    keys.value = key
    assert keys.value == ""


def shown_by(session):
    return [w.value for w in widgets_in(session.widget) if isinstance(w, widgets.HTML)]


def progress_of(session):
    return session.widget.children[0].value


def message_of(session):
    return session.widget.children[-1].value


def test_a_key_keeps_a_label_and_shows_the_next_item(open_session, labels):
    session = open_session()
    assert (shown_by(session), progress_of(session)) == (["item x"], "1 of 3")
    press(session, "U")
    assert labels() == ["unclear"]
    assert (shown_by(session), progress_of(session)) == (["item y"], "2 of 3")


def test_buttons_do_what_keys_do(open_session, labels):
    session = open_session()
    buttons = {
        w.description: w for w in widgets_in(session.widget) if isinstance(w, widgets.Button)
    }
    for name in ("Harmful (h)", "Benign (b)", "Unclear (u)", "Hear again (space)"):
        buttons[name].click()
    assert sorted(labels()) == ["benign", "harmful", "unclear"]
    buttons["Back (z)"].click()
    assert progress_of(session) == "3 of 3"


def test_a_session_resumes_where_it_was_left_and_each_annotator_has_one(open_session, labels):
    session = open_session()
    session.choose("benign")
    session.choose("benign")
    session = open_session()
    assert progress_of(session) == "3 of 3"
    assert progress_of(open_session("bob")) == "1 of 3"
    session.choose("benign")
    assert (session.current, shown_by(session)) == (None, [])
    session.choose("benign")
    assert labels() == ["benign"] * 3


def test_going_back_replaces_the_label_and_stops_at_the_first_item(open_session, labels):
    session = open_session()
    session.choose("benign")
    press(session, "z")
    press(session, "z")
    assert progress_of(session) == "1 of 3"
    session.choose("unclear")
    assert labels() == ["unclear"]


def test_a_key_that_is_held_down_labels_nothing_unseen(open_session, labels):
    session = open_session(shortest_look_s=3600)
    press(session, "h")
    assert message_of(session) == CLIPS.too_soon
    assert labels() == []


def test_a_label_that_cannot_be_kept_is_said_and_the_item_stays(open_session, tmp_path):
    session = open_session()
    (tmp_path / ANNOTATIONS).mkdir()
    press(session, "h")
    assert ANNOTATIONS in message_of(session)
    assert progress_of(session) == "1 of 3"


def test_what_others_said_is_shown_when_ones_own_session_is_done(open_session, tmp_path):
    open_session("bob").choose("harmful")
    session = open_session()
    assert finished_annotations(tmp_path, CLIPS, session).empty
    assert len(finished_annotations(tmp_path, CLIPS, None)) == 1
    for _ in ITEMS:
        session.choose("benign")
    assert len(finished_annotations(tmp_path, CLIPS, session)) == 4
