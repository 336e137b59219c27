import soundfile
from typer.testing import CliRunner

from aor_lib.cli import app
from aor_lib.config.params import scene_ids


def aor(*arguments):
    return CliRunner().invoke(app, [str(one) for one in arguments], catch_exceptions=False)


def test_scenes_are_listed_and_sounds_with_their_parameters():
    listed = aor("scenes", "list").stdout
    assert all(name in listed for name in scene_ids())
    sounds = aor("scenes", "list", "--procedural").stdout
    assert "creak" in sounds
    assert "ground" in sounds


def test_a_scene_is_played_into_a_file_that_the_seed_decides(tmp_path):
    files = [tmp_path / f"{name}.flac" for name in ("one", "again", "other")]
    for file, seed in zip(files, (1, 1, 2), strict=True):
        done = aor("scenes", "play", "dojo", "--out", file, "--seconds", 0.5, "--seed", seed)
        assert done.exit_code == 0
    assert soundfile.info(files[0]).duration == 0.5
    assert files[0].read_bytes() == files[1].read_bytes() != files[2].read_bytes()
