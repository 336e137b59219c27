"""YAMNet's file is not at hand in CI: a network with known answers stands for it."""

import hashlib
import importlib.util
import sys
from unittest.mock import Mock

import numpy as np
import pytest

from aor_lib.audio.hearing import yamnet
from aor_lib.config.params import scene_ids
from aor_lib.storage.assets import AssetError
from tests.audio.sounds import hiss, put

RATE = 24_000
FILES = {
    "yamnet.tflite": "weights",
    "yamnet_class_map.csv": "index,mid,display_name\n0,a,Silence\n1,b,Rain\n2,c,Music",
}


@pytest.fixture
def patches(tmp_path, monkeypatch):
    """Input of a network that hears silence always, rain by the level, and no music."""
    for name, content in FILES.items():
        put(tmp_path / "yamnet" / name, content)
    expected = yamnet.Expected(
        files={name: hashlib.sha256(text.encode()).hexdigest() for name, text in FILES.items()},
        scenes={"rainy_park": ("Rain", "Music")},
        families={},
    )
    network, patches, details = Mock(), [], [{"index": 0}]
    network.get_input_details.return_value = network.get_output_details.return_value = details
    network.set_tensor.side_effect = lambda _, patch: patches.append(patch)
    network.get_tensor.side_effect = lambda _: np.array([[0.5, patches[-1].std(), 0]], np.float32)
    monkeypatch.setenv("AOR_CACHE", str(tmp_path))
    monkeypatch.setattr(yamnet, "load_expected", lambda: expected)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: True)
    module = Mock(Interpreter=lambda **_options: network)
    monkeypatch.setitem(sys.modules, "ai_edge_litert.interpreter", module)
    forget()
    yield patches
    forget()


def forget():
    for function in (yamnet.revision, yamnet.class_names, yamnet._network):
        function.cache_clear()


def test_a_sound_is_heard_in_overlapping_patches_at_the_same_level_whatever_its_own(patches):
    sound = hiss(0, seconds=3.0, rate=RATE)
    scores = yamnet.listen(sound, RATE)
    assert scores.dtype == np.float32
    assert [(len(patch), patch.dtype) for patch in patches] == [(yamnet.PATCH, np.float32)] * 5
    np.testing.assert_allclose(yamnet.listen(sound * 0.01, RATE), scores, rtol=1e-3)
    assert scores[1] == pytest.approx(0.1, rel=0.05)
    assert yamnet.listen(sound[: RATE // 10], RATE).shape == (3,)
    assert len(patches) == 11


def test_the_best_expected_class_of_a_scene_has_its_rank_and_score_beside_the_first_class(patches):
    found = yamnet.recognise_scene(hiss(0, seconds=1.0, rate=RATE), RATE, "rainy_park")
    assert (found.first_class, found.expected_rank) == ("Silence", 2)
    assert found.expected_score == pytest.approx(0.1, rel=0.05)


def test_nothing_is_recognised_of_a_clip_without_a_scene_or_without_the_files(patches, tmp_path):
    sound = hiss(0, rate=RATE)
    assert yamnet.recognise_scene(sound, RATE, None) is None
    (tmp_path / "yamnet/yamnet.tflite").unlink()
    assert yamnet.recognise_scene(sound, RATE, "rainy_park") is None
    assert not patches


def test_another_file_than_the_pinned_one_is_refused_by_its_sha256(patches, tmp_path):
    put(tmp_path / "yamnet/yamnet.tflite", "other weights")
    with pytest.raises(AssetError, match=r"yamnet\.tflite: sha256 is .* must be"):
        yamnet.listen(hiss(0), RATE)


def test_every_scene_has_classes_that_a_listener_would_expect():
    assert set(yamnet.load_expected().scenes) == set(scene_ids())
