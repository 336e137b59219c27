from itertools import chain

import numpy as np
import pytest

from aor_lib.audio.hearing import WEIGHTS
from aor_lib.audio.hearing.sound_tagger import SEGMENTS, SoundTagger, sound_tagger
from aor_lib.audio.hearing.transcription import BANDS, ENCODED
from aor_lib.config.params import PARAMS, load_scenarios, load_scenes
from aor_lib.config.profile import Profile
from aor_lib.config.typed_yaml import read
from reference.hearing import compositions as comp
from reference.hearing import tagger_training

SCENES = load_scenes()
NAMES = comp.load_names()


def test_every_bed_and_every_setting_has_names_and_none_is_that_of_a_scene():
    assert set(NAMES.beds) == set(SCENES)
    assert set(NAMES.read) == {scene.scenario or scene.kind for scene in SCENES.values()}
    told = {*NAMES.beds.values(), *chain(*NAMES.read.values())}
    told |= set(chain(*(renamed.values() for renamed in NAMES.events.values())))
    assert told.isdisjoint(scene.replace("_", " ") for scene in SCENES)


def test_a_setting_has_the_sounds_of_its_scenes_and_of_no_unseen_one():
    assert {scene.id for scene in comp.pool(None)} == set(SCENES)
    for setting in NAMES.read:
        own = {s.id for s in SCENES.values() if setting in (s.scenario, s.kind) and not s.unseen}
        assert {scene.id for scene in comp.pool(setting)} == own


def test_no_profile_uses_its_voices_and_no_utterance_is_one_of_its_sentences():
    for name in ("smoke", "laptop", "reference", "full"):
        assert set(comp.VOICES).isdisjoint(read(PARAMS / f"{name}.yaml", Profile).voices)
    texts = {u.text for scenario in load_scenarios().values() for u in scenario.utterances}
    assert texts.isdisjoint(comp.SENTENCES)


def test_every_sound_that_the_tagger_knows_is_one_that_it_could_have_met():
    with np.load(WEIGHTS) as weights:
        known = set(weights["sounds"])
    events = {event.name for scene in comp.pool(None) for event in scene.events}
    assert known == {comp.NOISE, *NAMES.beds.values(), *events}


def clip(sounds, bands):
    frames = np.full((40, BANDS), -1, np.float16)
    frames[:, bands] = 1
    return comp.Composition(
        np.zeros(ENCODED, np.float32), frames, (frozenset(sounds),) * SEGMENTS, "calm", None
    )


def test_a_tagger_hears_what_it_was_trained_on_and_learns_the_same_weights_again():
    rain, siren, nothing = slice(10, 30), slice(50, 70), slice(0, 0)
    clips = [clip({"rain"}, rain), clip({"siren"}, siren), clip((), nothing)] * 32
    weights = tagger_training.fit(clips)
    again = tagger_training.fit(clips)
    assert all(np.array_equal(weights[name], again[name]) for name in weights)
    heard = [SoundTagger.of(weights).tag(one.encoded, one.spectrogram) for one in clips[:3]]
    assert [one.top(1) for one in heard] == [["rain"], ["siren"], []]
    assert dict(heard[0].emotion) == {"calm": 1.0}


@pytest.mark.nightly
def test_most_sounds_are_heard_in_mixtures_that_it_was_not_trained_on():
    made = comp.compositions(27, sorted(NAMES.read), 5_000_000, 1, lambda done, of: None)
    named = [
        not set(sound_tagger().tag(one.encoded, one.spectrogram).top(1)).isdisjoint(
            frozenset().union(*one.sounds)
        )
        for one in made
    ]
    assert np.mean(named) >= 0.5
