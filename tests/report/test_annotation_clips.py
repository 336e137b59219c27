import hashlib
import itertools
from collections import Counter

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aor_lib.report.annotation.clips import heard_clips, plan_clips, readings, start_session
from aor_lib.report.annotation.store import AnnotationError
from aor_lib.stimuli.manifest import MANIFEST
from tests.report.conftest import widgets_in

SCENARIOS, INTENTS = ("kitchen", "video_gaming"), ("pseudo_harmful", "harmful", "benign")
SCENES = {"benign_scene": "arcade_hall", "neutral_scene": "gym", "speech_only": None}


def sound(name):
    return f"sound of {name}".encode()


def stimuli():
    """Core clips of four utterances of each kind, with variants, and stimuli only to be read."""
    speech = pd.DataFrame(
        [(condition, "af_heart", "core") for condition in (*SCENES, "text_only")]
        + [("benign_scene", "bm_george", "core"), ("benign_scene", "af_heart", "snr_sweep")],
        columns=["condition", "voice", "block"],
    )
    kinds = itertools.product(SCENARIOS, INTENTS, range(4))
    made = pd.DataFrame(kinds, columns=["scenario", "intent", "n"]).merge(speech, how="cross")
    utterances = made["scenario"] + "-" + made["intent"] + "-" + made.pop("n").astype(str)
    names = utterances + "." + made["condition"] + "." + made["voice"] + "." + made["block"]
    return made.assign(
        stimulus_id=names,
        utterance_id=utterances,
        text="How do I kill " + utterances + "?",
        background_scene=made["condition"].map(SCENES),
        path=("clips/" + names + ".flac").where(made["condition"] != "text_only", None),
        sha256=[hashlib.sha256(sound(name)).hexdigest() for name in names],
    )


STIMULI = stimuli()
BY_SHA256 = STIMULI.set_index("sha256")


def heard_in(clips):
    return BY_SHA256.loc[[clip.sha256 for clip in clips]]


@pytest.fixture
def build(tmp_path):
    (tmp_path / "clips").mkdir()
    STIMULI.to_parquet(tmp_path / MANIFEST)
    for one in STIMULI.dropna(subset=["path"]).to_dict("records"):
        (tmp_path / one["path"]).write_bytes(sound(one["stimulus_id"]))
    return tmp_path


@settings(max_examples=10)
@given(n=st.integers(1, 24), seed=st.integers(0, 99))
def test_each_utterance_is_heard_in_its_scene_and_alone_far_apart(n, seed):
    clips = plan_clips(STIMULI, "ann", n, seed)
    heard = heard_in(clips)
    utterances, conditions = heard["utterance_id"].tolist(), heard["condition"].tolist()
    assert len(clips) == len(set(clips)) == 2 * n
    assert Counter(conditions) == {"benign_scene": n, "speech_only": n}
    assert set(heard["voice"]) == {"af_heart"}
    for utterance in utterances:
        first, second = (i for i, other in enumerate(utterances) if other == utterance)
        assert second - first - 1 >= n // 2
    assert conditions[:n].count("benign_scene") in (n // 2, (n + 1) // 2)


def plan(annotator="ann", n=10, seed=1, manifest=STIMULI):
    return plan_clips(manifest, annotator, n, seed)


def test_annotators_hear_the_same_clips_in_different_orders():
    assert set(plan("ann")) == set(plan("bob"))
    assert plan("ann") != plan("bob")
    assert set(plan("ann")) != set(plan("ann", seed=2))
    core = STIMULI[STIMULI["voice"] == "af_heart"]
    assert plan(manifest=core[::-1]) == plan(manifest=core)


@pytest.mark.parametrize(
    ("annotator", "n", "named"),
    [("ann", 25, "ask for 1 to 24"), ("Ann Smith", 2, "'Ann Smith'")],
)
def test_a_session_that_cannot_be_held_is_refused(annotator, n, named):
    with pytest.raises(AnnotationError, match=named):
        plan(annotator, n)


def test_the_page_holds_the_sound_and_nothing_about_it(build):
    session = start_session(build, "ann", 3, 1)
    secrets = [str(value) for name in STIMULI for value in STIMULI[name].dropna().unique()]
    # What buttons and question say to everybody is no hint.
    secrets = [secret for secret in secrets if secret not in ("harmful", "benign")]
    while session.current is not None:
        (player,) = session.widget.children[1].children
        assert bytes(player.value) == sound(BY_SHA256.loc[session.current, "stimulus_id"])
        assert player.format == "flac"
        states = "".join(
            str({k: v for k, v in one.get_state().items() if not isinstance(v, memoryview)})
            for one in widgets_in(session.widget)
        )
        assert not [secret for secret in secrets if secret in states.replace(str(player.value), "")]
        session.choose("benign")


def test_a_clip_that_is_altered_or_missing_is_named_before_anyone_listens(build):
    path = build / plan(n=3)[4].path
    path.write_bytes(b"another sound")
    with pytest.raises(AnnotationError, match=rf"{path.name}: sha256"):
        start_session(build, "ann", 3, 1)
    path.unlink()
    with pytest.raises(AnnotationError, match=rf"{path.name}: No such file"):
        start_session(build, "ann", 3, 1)


def test_readings_are_counted_with_the_scene_and_without():
    heard = heard_in(plan(n=24)).query("intent == 'pseudo_harmful'")
    labels = heard["condition"].map({"benign_scene": "benign", "speech_only": "harmful"})
    annotations = pd.DataFrame({"annotator": "ann", "item_sha256": heard.index, "label": labels})
    found = readings(heard_clips(STIMULI, annotations)).set_index(["intent", "with_scene"])
    assert found.loc[("pseudo_harmful", True), ["clips", "benign", "rate"]].tolist() == [8, 8, 1]
    assert found.loc[("pseudo_harmful", False), ["clips", "benign", "rate"]].tolist() == [8, 0, 0]
    assert readings(heard_clips(STIMULI, annotations.head(0))).empty
