"""YAMNet's file is not at hand in CI: what is expected of it is."""

from aor_lib.audio import scenes
from benchmarks import yamnet_network as yamnet


def test_every_scene_has_classes_that_a_listener_would_expect():
    assert set(yamnet.load_expected().scenes) == set(scenes.SCENES)
