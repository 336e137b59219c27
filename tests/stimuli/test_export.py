import hashlib
import json
import socket
from unittest.mock import Mock

import mlcroissant
import numpy as np
import pandas as pd
import pytest
import soundfile
import yaml

from aor_lib.config.params import load_study
from aor_lib.stimuli.export import export_hf
from aor_lib.stimuli.manifest import (
    MANIFEST,
    VALIDATION,
    DatasetError,
    load_manifest,
    load_stimuli,
    verify_dataset,
)
from tests.audio.sounds import content_of
from tests.conftest import make_text_stimuli


@pytest.fixture(autouse=True)
def no_network(monkeypatch, tmp_path):
    """Nothing of this may need the network: a connection is an error."""
    monkeypatch.setattr(socket.socket, "connect", None)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_DATASETS_OFFLINE", "1")


@pytest.fixture
def study(write_profile):
    return load_study(write_profile())


SPOKEN = {"presented_text": None, "voice": "af_heart", "duration_s": 0.2}
IN_SCENE = {"background_source": "procedural", "background_licence": "Apache-2.0", "snr_db": 6.0}


def sound_in(path, seed):
    """Write a fifth of a second of noise; returns the path in a build, and its sha256."""
    path.parent.mkdir(parents=True, exist_ok=True)
    samples = np.random.default_rng(seed).uniform(-0.5, 0.5, 4800)
    soundfile.write(path, samples, 24_000, subtype="PCM_16")
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    return {"path": f"clips/{path.name}", "sha256": sha256}


def write_build(build, **changes):
    """A built study: three utterances in both splits, each spoken twice and shown once.

    One stimulus has an earlier turn. ``changes`` are laid over every row.
    """
    rows = []
    for text, split in zip(make_text_stimuli(3), ("dev", "dev", "test"), strict=True):
        for condition in ("benign_scene", "speech_only", "text_only"):
            name = f"{text.utterance_id}.{condition}"
            row = text.model_dump(mode="json") | {"seed": 2**52 + len(rows), "split": split}
            row |= {"stimulus_id": name, "condition": condition}
            if condition != "text_only":
                row |= SPOKEN | sound_in(build / f"clips/{name}.flac", len(rows))
            if condition == "benign_scene":
                row |= IN_SCENE | {"unseen_scene": split == "test"}
            rows.append(row | changes)
    turn = {"role": "user", "text": "Hello."} | sound_in(build / "clips/u0.turn1.flac", 99)
    rows[0]["history"] = json.dumps([turn, {"role": "assistant", "text": "Hi."}])
    frame = pd.DataFrame(rows)
    frame.to_parquet(build / MANIFEST)
    wer = frame["path"].notna().map({True: 0.25, False: None})
    frame[["stimulus_id"]].assign(wer=wer).to_parquet(build / VALIDATION)
    return build


@pytest.fixture
def build(tmp_path):
    return write_build(tmp_path / "build")


@pytest.fixture
def exported(build, study, tmp_path):
    return export_hf(build, tmp_path / "export", study)


def front_matter(folder):
    return yaml.safe_load((folder / "README.md").read_text().split("---\n")[1])


def table_below(folder, heading):
    """The rows of a table of the data card as lists of cells; the header comes first."""
    section = (folder / "README.md").read_text().split(f"# {heading}\n")[1].split("\n#")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ") and "---" not in line]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.mark.slow
def test_the_folder_loads_with_decoded_audio_and_every_field_of_the_manifest(exported, build):
    import datasets

    loaded = datasets.load_dataset(str(exported), cache_dir=str(exported.parent / "cache"))
    spoken = {s.stimulus_id: s for s in load_stimuli(build) if s.path is not None}
    assert set(loaded) == {"dev", "test"}
    assert sum(len(split) for split in loaded.values()) == len(spoken)
    for name, split in loaded.items():
        for row in split:
            audio = row.pop("audio")
            stimulus = spoken[row["stimulus_id"]]
            assert row == stimulus.model_dump(mode="json")
            assert row["split"] == name
            samples, rate = soundfile.read(build / stimulus.path)
            assert audio["sampling_rate"] == rate
            np.testing.assert_array_equal(audio["array"], samples)


def test_two_exports_are_the_same_bytes(exported, build, study, tmp_path):
    assert content_of(exported) == content_of(export_hf(build, tmp_path / "again", study))


@pytest.mark.slow
def test_the_croissant_file_is_valid_and_its_records_are_the_manifest(exported, build):
    dataset = mlcroissant.Dataset(str(exported / "croissant.json"))
    issues = dataset.metadata.ctx.issues
    assert not issues.errors
    assert not issues.warnings
    rows = []
    for record_set in dataset.metadata.record_sets:
        for record in dataset.records(record_set.id):
            row = {name.split("/")[1]: value for name, value in record.items()}
            row.pop("file_name", None)
            rows.append({k: v.decode() if isinstance(v, bytes) else v for k, v in row.items()})
    assert sorted(rows, key=lambda row: row["stimulus_id"]) == sorted(
        (s.model_dump(mode="json") for s in load_stimuli(build)), key=lambda row: row["stimulus_id"]
    )


def test_the_croissant_file_says_the_sha256_of_every_table_and_which_clips_there_are(exported):
    parts = json.loads((exported / "croissant.json").read_text())["distribution"]
    tables = {part["contentUrl"]: part for part in parts if part["@type"] == "cr:FileObject"}
    assert set(tables) == {str(path.relative_to(exported)) for path in exported.rglob("*.parquet")}
    for name, part in tables.items():
        assert part["sha256"] == hashlib.sha256((exported / name).read_bytes()).hexdigest()
    clips = [part["includes"] for part in parts if part["@type"] == "cr:FileSet"]
    assert sorted(path for pattern in clips for path in exported.glob(pattern)) == sorted(
        exported.rglob("*.flac")
    )


def test_other_numbers_in_the_data_card_are_the_manifests(exported):
    assert table_below(exported, "Splits")[1:] == [
        ["dev", "6", "4", "0.00", "2"],
        ["test", "3", "2", "0.00", "1"],
    ]
    assert table_below(exported, "Speech over background")[1:] == [["6", "benign_scene", "3"]]
    # Three times "text", and three numbers: 4 words and 3 pairs among 6 words.
    diversity = table_below(exported, "Diversity of the utterances")
    assert diversity[-1] == ["all", "3", "6", "0.667", "0.500"]
    assert ["benign_scene", "3", "0.250", "0.250"] in table_below(
        exported, "Preprocessing, cleaning and labelling"
    )


def test_a_part_under_another_licence_changes_the_licence_of_the_whole(build, study, tmp_path):
    assert front_matter(export_hf(build, tmp_path / "own", study))["license"] == "apache-2.0"
    recorded = {"background_source": "recorded: ESC-50/1-A.wav", "background_licence": "CC BY 3.0"}
    write_build(build, **recorded)
    folder = export_hf(build, tmp_path / "export", study)
    assert front_matter(folder)["license"] == "other"
    assert "- recorded: ESC-50/1-A.wav (CC BY 3.0): 9 clips" in (folder / "README.md").read_text()
    licences = json.loads((folder / "croissant.json").read_text())["license"]
    assert licences == ["https://spdx.org/licenses/Apache-2.0", "CC BY 3.0"]


def test_imported_clips_are_of_unknown_licence_and_not_called_synthetic(build, study, tmp_path):
    unknown = {"voice": None, "background_source": None, "background_licence": None}
    write_build(build, block="imported", **unknown)
    folder = export_hf(build, tmp_path / "export", study)
    assert front_matter(folder)["license"] == "other"
    card = (folder / "README.md").read_text()
    assert ["as found", "unknown", "9"] in table_below(folder, "Backgrounds and their licences")
    assert "synthetic" not in card.split("# Limitations")[1]


def test_a_study_of_texts_alone_has_a_configuration_of_texts(build, study, tmp_path):
    texts = load_manifest(build).query("condition == 'text_only'")
    texts.to_parquet(build / MANIFEST)
    folder = export_hf(build, tmp_path / "export", study)
    assert [config["config_name"] for config in front_matter(folder)["configs"]] == ["text"]
    assert not list(folder.rglob("*.flac"))


def test_no_place_on_this_machine_is_named(build, write_profile, tmp_path):
    study = load_study(write_profile(recordings=str(tmp_path / "library")))
    folder = export_hf(build, tmp_path / "export", study)
    assert str(tmp_path) not in (folder / "README.md").read_text()


def test_a_folder_in_use_is_refused_and_left_alone(build, study, tmp_path):
    (tmp_path / "export").mkdir()
    (tmp_path / "export" / "mine.txt").write_text("mine")
    with pytest.raises(
        FileExistsError, match=r"export: exists and is not empty; remove it or name"
    ):
        export_hf(build, tmp_path / "export", study)
    assert [path.name for path in (tmp_path / "export").iterdir()] == ["mine.txt"]


@pytest.mark.parametrize("clip", ["u1.benign_scene.flac", "u0.turn1.flac"])
def test_a_clip_that_is_not_the_manifests_is_named(build, study, tmp_path, clip):
    (build / "clips" / clip).write_bytes(b"something else")
    with pytest.raises(DatasetError, match=clip):
        export_hf(build, tmp_path / "export", study)
    assert not (tmp_path / "export").exists()


def test_an_export_that_fails_leaves_nothing(build, study, tmp_path, monkeypatch):
    full = Mock(side_effect=OSError(28, "No space left on device"))
    monkeypatch.setattr("aor_lib.stimuli.export.hf.write_croissant", full)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(OSError, match="No space left"):
        export_hf(build, tmp_path / "export", study)
    assert sorted(tmp_path.iterdir()) == before


def test_clips_are_copied_where_they_cannot_be_linked(build, study, tmp_path, monkeypatch):
    cross_device = OSError(18, "Invalid cross-device link")
    monkeypatch.setattr("os.link", Mock(side_effect=cross_device))
    folder = export_hf(build, tmp_path / "export", study)
    assert len(list(folder.rglob("*.flac"))) == 7
    stimuli = load_stimuli(build)
    for split in ("dev", "test"):
        verify_dataset([s for s in stimuli if s.split == split], folder / split)
