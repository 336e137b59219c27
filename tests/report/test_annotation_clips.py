import hashlib
from collections import Counter

import ipywidgets as widgets
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aor_lib.report.annotation.clips import ListeningSession, plan
from aor_lib.report.annotation.session import LabellingError
from aor_lib.report.annotation.store import LabelStore, LabelStoreError

SCENARIOS, INTENTS = ("kitchen", "video_gaming"), ("pseudo_harmful", "harmful", "benign")
SCENES = {"matched": "arcade_hall", "mismatched": "gym", "speech_only": None}


def sound(name: str) -> bytes:
    return f"sound of {name}".encode()


def manifest_of(per_stratum: int = 4) -> pd.DataFrame:
    """Core clips of a small study, with a variant and a stimulus that is only read."""
    rows = []
    for scenario in SCENARIOS:
        for intent in INTENTS:
            for i in range(per_stratum):
                utterance = f"{scenario}-{intent}-{i}"
                rows += [row(utterance, scenario, intent, condition) for condition in SCENES]
                rows.append(row(utterance, scenario, intent, "matched", voice="bm_george"))
                rows.append(row(utterance, scenario, intent, "text_only"))
                rows.append(row(utterance, scenario, intent, "matched", block="snr_sweep"))
    return pd.DataFrame(rows)


def row(utterance, scenario, intent, condition, voice="af_heart", block="core"):
    name = f"{utterance}.{condition}.{voice}.{block}"
    return {
        "stimulus_id": name,
        "utterance_id": utterance,
        "scenario": scenario,
        "intent": intent,
        "text": f"How do I kill {utterance}?",
        "background_scene": SCENES.get(condition),
        "condition": condition,
        "voice": voice,
        "block": block,
        "path": None if condition == "text_only" else f"clips/{name}.flac",
        "sha256": hashlib.sha256(sound(name)).hexdigest(),
    }


MANIFEST = manifest_of()
UTTERANCES = MANIFEST.set_index("sha256")["utterance_id"].to_dict()


@pytest.fixture
def build(tmp_path):
    (tmp_path / "clips").mkdir()
    for one in MANIFEST.dropna(subset=["path"]).to_dict("records"):
        (tmp_path / one["path"]).write_bytes(sound(one["stimulus_id"]))
    return tmp_path


@pytest.fixture
def store(tmp_path):
    with LabelStore(tmp_path / "labels.sqlite") as store:
        yield store


class Clock:
    """Ten seconds later each time it is looked at, or stopped."""

    def __init__(self, step_s: float = 10) -> None:
        self.now_s, self.step_s = 0.0, step_s

    def __call__(self) -> float:
        self.now_s += self.step_s
        return self.now_s


@pytest.fixture
def open_session(build, store):
    def start(listener="ann", n=3, clock=None):
        return ListeningSession(MANIFEST, build, store, listener, n, 1, clock or Clock())

    return start


def everything(widget):
    yield widget
    for child in getattr(widget, "children", ()):
        yield from everything(child)


def progress_of(session):
    return session.widget.children[0].value


def message_of(session):
    return session.widget.children[-1].value


def keys_of(session):
    return next(w for w in everything(session.widget) if isinstance(w, widgets.Text))


def buttons_of(session):
    found = [w for w in everything(session.widget) if isinstance(w, widgets.Button)]
    return {button.description: button for button in found}


def players_of(session):
    return [w for w in everything(session.widget) if isinstance(w, widgets.Audio)]


@settings(max_examples=25, deadline=None)
@given(n=st.integers(1, 24), seed=st.integers(0, 99), listener=st.sampled_from(["ann", "bob"]))
def test_each_utterance_is_heard_with_and_without_its_scene_far_apart(n, seed, listener):
    clips = plan(MANIFEST, listener, n, seed)
    assert clips == plan(MANIFEST, listener, n, seed)
    heard = [UTTERANCES[clip.sha256] for clip in clips]
    assert Counter(heard) == dict.fromkeys(heard, 2)
    assert len(set(heard)) == n
    for utterance in set(heard):
        first, second = (i for i, name in enumerate(heard) if name == utterance)
        assert second - first > n // 2
        assert clips[first].with_scene is not clips[second].with_scene


@settings(max_examples=25, deadline=None)
@given(n=st.integers(1, 24), seed=st.integers(0, 99))
def test_the_scene_comes_first_for_half_of_the_utterances(n, seed):
    first_half = plan(MANIFEST, "ann", n, seed)[:n]
    assert abs(2 * sum(clip.with_scene for clip in first_half) - n) <= 1


@settings(max_examples=25, deadline=None)
@given(n=st.integers(1, 24), seed=st.integers(0, 99))
def test_each_scenario_and_intent_gets_its_share(n, seed):
    strata = MANIFEST.set_index("sha256")[["scenario", "intent"]].apply(tuple, axis=1).to_dict()
    counts = Counter(strata[clip.sha256] for clip in plan(MANIFEST, "ann", n, seed)[:n])
    share = n / (len(SCENARIOS) * len(INTENTS))
    for scenario in SCENARIOS:
        for intent in INTENTS:
            assert abs(counts[scenario, intent] - share) < 1


def test_listeners_hear_the_same_clips_in_different_orders():
    ann, bob = plan(MANIFEST, "ann", 10, 1), plan(MANIFEST, "bob", 10, 1)
    assert set(ann) == set(bob)
    assert ann != bob


def test_another_seed_gives_other_clips():
    assert set(plan(MANIFEST, "ann", 10, 1)) != set(plan(MANIFEST, "ann", 10, 2))


def test_the_order_of_the_manifest_does_not_matter():
    assert plan(MANIFEST[::-1], "ann", 10, 1) != []
    core = MANIFEST[MANIFEST["voice"] == "af_heart"]
    assert plan(core[::-1], "ann", 10, 1) == plan(core, "ann", 10, 1)


def test_only_core_clips_in_the_matched_scene_and_alone_in_the_same_voice_are_heard():
    rows = MANIFEST.set_index("sha256")
    heard = rows.loc[[clip.sha256 for clip in plan(MANIFEST, "ann", 24, 1)]]
    assert set(heard["condition"]) == {"matched", "speech_only"}
    assert set(heard["block"]) == {"core"}
    assert set(heard["voice"]) == {"af_heart"}


@pytest.mark.parametrize("n", [0, 25])
def test_more_utterances_than_there_are_is_refused_with_their_number(n):
    with pytest.raises(LabellingError, match=rf"n: {n} utterances .* has 24 .* ask for 1 to 24"):
        plan(MANIFEST, "ann", n, 1)


def test_a_listener_needs_a_name_that_can_be_kept():
    with pytest.raises(LabelStoreError, match="listener: 'Ann Smith' cannot be used"):
        plan(MANIFEST, "Ann Smith", 2, 1)


def test_a_choice_is_kept_and_the_next_clip_is_shown(open_session, store):
    session = open_session()
    first = session.current
    assert progress_of(session) == "1 of 6"
    session.choose("harmful")
    label = store.labels().iloc[0]
    assert (label["listener"], label["label"]) == ("ann", "harmful")
    assert (label["stimulus_sha256"], label["with_scene"]) == (first.sha256, first.with_scene)
    assert progress_of(session) == "2 of 6"
    assert session.current is session.items[1]


def test_a_session_goes_on_where_it_was_left(open_session):
    session = open_session()
    session.choose("benign")
    session.choose("benign")
    assert progress_of(open_session()) == "3 of 6"
    assert progress_of(open_session("bob")) == "1 of 6"


def test_going_back_replaces_the_label(open_session, store):
    session = open_session()
    session.choose("benign")
    session.back()
    assert progress_of(session) == "1 of 6"
    session.choose("unclear")
    assert store.labels()["label"].tolist() == ["unclear"]
    assert progress_of(session) == "2 of 6"


def test_there_is_nothing_before_the_first_clip(open_session):
    session = open_session()
    session.back()
    assert progress_of(session) == "1 of 6"


def test_at_the_end_nothing_is_played_and_choices_do_nothing(open_session, store):
    session = open_session()
    for _ in range(7):
        session.choose("benign")
    assert session.current is None
    assert progress_of(session) == "All 6 are done. Thank you!"
    assert players_of(session) == []
    assert len(store.labels()) == 6


def test_the_last_clip_can_be_labelled_again(open_session, store):
    session = open_session()
    for _ in range(6):
        session.choose("benign")
    session.back()
    session.choose("harmful")
    assert Counter(store.labels()["label"]) == {"benign": 5, "harmful": 1}


def test_the_page_holds_the_sound_and_nothing_about_it(open_session):
    session = open_session()
    secrets = [str(value) for name in MANIFEST for value in MANIFEST[name].dropna().unique()]
    # What buttons and question say to everybody is no hint.
    secrets = [s for s in secrets if s not in ("harmful", "benign")]
    while (clip := session.current) is not None:
        rows = MANIFEST[MANIFEST["sha256"] == clip.sha256]
        (player,) = players_of(session)
        assert bytes(player.value) == sound(rows.iloc[0]["stimulus_id"])
        assert player.format == "flac"
        for widget in everything(session.widget):
            state = {k: v for k, v in widget.get_state().items() if not isinstance(v, memoryview)}
            shown = str({k: v for k, v in state.items() if k != "value" or widget is not player})
            assert not [secret for secret in secrets if secret in shown]
        session.choose("benign")


@pytest.mark.parametrize(
    ("key", "label"), [("h", "harmful"), ("b", "benign"), ("u", "unclear"), ("B", "benign")]
)
def test_a_key_chooses(open_session, store, key, label):
    session = open_session()
    keys_of(session).value = key
    assert store.labels()["label"].tolist() == [label]
    assert keys_of(session).value == ""


def test_space_plays_the_clip_again_and_labels_nothing(open_session, store):
    session = open_session()
    (before,) = players_of(session)
    keys_of(session).value = " "
    (after,) = players_of(session)
    assert after is not before
    assert bytes(after.value) == bytes(before.value)
    assert len(store.labels()) == 0


def test_the_back_key_goes_back(open_session):
    session = open_session()
    session.choose("benign")
    keys_of(session).value = "z"
    assert progress_of(session) == "1 of 6"


def test_another_key_is_answered_with_the_keys_there_are(open_session, store):
    session = open_session()
    keys_of(session).value = "x"
    assert message_of(session) == "The keys are h, b, u, space (hear again) and z (back)."
    assert len(store.labels()) == 0


def test_a_key_that_is_held_down_labels_nothing_unheard(open_session, store):
    session = open_session(clock=Clock(step_s=0.03))
    keys_of(session).value = "h"
    assert len(store.labels()) == 0
    assert message_of(session) == "Too soon: please listen first."


def test_buttons_do_what_keys_do(open_session, store):
    session = open_session()
    buttons = buttons_of(session)
    assert list(buttons) == [
        "Harmful (h)",
        "Benign (b)",
        "Unclear (u)",
        "Hear again (space)",
        "Back (z)",
    ]
    for name in ("Harmful (h)", "Benign (b)", "Unclear (u)", "Hear again (space)"):
        buttons[name].click()
    assert sorted(store.labels()["label"]) == ["benign", "harmful", "unclear"]
    buttons["Back (z)"].click()
    assert progress_of(session) == "3 of 6"


def test_a_label_that_cannot_be_kept_is_said_and_the_clip_stays(open_session, store):
    session = open_session()
    store.close()
    buttons_of(session)["Harmful (h)"].click()
    assert "labels.sqlite: Cannot operate on a closed database" in message_of(session)
    assert progress_of(session) == "1 of 6"


def test_an_altered_clip_is_named_before_anyone_listens(open_session, build):
    clip = plan(MANIFEST, "ann", 3, 1)[4]
    (build / clip.path).write_bytes(b"another sound")
    with pytest.raises(LabellingError, match=r"\.flac: sha256 is not the manifest's; run 'aor d"):
        open_session()


def test_a_missing_clip_is_named_before_anyone_listens(open_session, build):
    (build / plan(MANIFEST, "ann", 3, 1)[4].path).unlink()
    with pytest.raises(LabellingError, match=r"\.flac: No such file.*; run 'aor data' to make"):
        open_session()
