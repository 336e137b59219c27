import hashlib
import json
import socket
from unittest.mock import Mock

import mlcroissant
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import soundfile
import yaml

from aor_lib.config.params import PARAMS, load_study
from aor_lib.config.records import Stimulus
from aor_lib.stimuli import rendering
from aor_lib.stimuli.data_card import card_sections, citation
from aor_lib.stimuli.dataset import build_dataset
from aor_lib.stimuli.export import export_dataset
from aor_lib.stimuli.manifest import (
    MANIFEST,
    VALIDATION,
    DatasetError,
    load_stimuli,
    verify_dataset,
)
from aor_lib.stimuli.validation import validate_dataset
from tests.audio.sounds import content_of, quiet
from tests.conftest import make_text_stimuli

SPOKEN = {"presented_text": None, "voice": "af_heart", "gender": "female", "emotion": "neutral"}
IN_SCENE = {"background_source": "procedural", "background_licence": "Apache-2.0", "snr_db": 6.0}


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
                row |= {"duration_s": 0.2}
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
    return export_dataset(build, tmp_path / "export", study)


def front_matter(folder):
    return yaml.safe_load((folder / "README.md").read_text().split("---\n")[1])


@pytest.mark.slow
def test_the_folder_loads_with_decoded_audio_and_every_field_of_the_manifest(exported, build):
    import datasets

    loaded = datasets.load_dataset(str(exported), cache_dir=str(exported.parent / "cache"))
    stimuli = {s.stimulus_id: s for s in load_stimuli(build)}
    assert set(loaded) == {"dev", "test"}
    assert sum(map(len, loaded.values())) == len(stimuli)
    for name, split in loaded.items():
        for row in split:
            audio, earlier = row.pop("audio"), row.pop("history_audio")
            stimulus = stimuli[row["stimulus_id"]]
            assert row == stimulus.model_dump(mode="json")
            assert row["split"] == name
            assert len(earlier) == (stimulus.history != "[]")
            assert (audio is None) == (stimulus.path is None)
            if audio:
                samples, rate = soundfile.read(build / stimulus.path)
                assert audio["sampling_rate"] == rate
                np.testing.assert_array_equal(audio["array"], samples)


def test_two_exports_are_the_same_bytes(exported, build, study, tmp_path):
    assert content_of(exported) == content_of(export_dataset(build, tmp_path / "again", study))


def test_the_croissant_file_is_valid_and_has_the_sha256_of_every_table(exported):
    issues = mlcroissant.Dataset(str(exported / "croissant.json")).metadata.ctx.issues
    assert not issues.errors
    assert not issues.warnings
    parts = json.loads((exported / "croissant.json").read_text())["distribution"]
    tables = {part["contentUrl"]: part["sha256"] for part in parts}
    assert tables == {
        str(path.relative_to(exported)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in exported.rglob("*.parquet")
    }


def test_the_card_names_every_column_and_its_numbers_are_the_manifests(exported):
    sections = card_sections((exported / "README.md").read_text())
    for name in Stimulus.model_fields:
        assert f"`{name}`" in sections["How to read it"]
    rows = [line.replace(" ", "") for line in sections["Composition"].splitlines()]
    assert {"|dev|6|4|2|", "|test|3|2|1|", "|af_heart|female|neutral|6|"} <= set(rows)
    assert "0.25" in sections["Preprocessing, cleaning and labelling"]


def test_a_part_under_another_licence_changes_the_licence_of_the_whole(build, study, tmp_path):
    assert front_matter(export_dataset(build, tmp_path / "own", study))["license"] == "apache-2.0"
    recorded = {"background_source": "recorded: ESC-50/1-A.wav", "background_licence": "CC BY 3.0"}
    write_build(build, **recorded)
    folder = export_dataset(build, tmp_path / "export", study)
    assert front_matter(folder)["license"] == "other"
    assert "recorded: ESC-50/1-A.wav | CC BY 3.0" in (folder / "README.md").read_text()
    licences = json.loads((folder / "croissant.json").read_text())["license"]
    assert licences == ["https://spdx.org/licenses/Apache-2.0", "CC BY 3.0"]


def test_imported_clips_whose_licence_nobody_knows_are_not_exported(build, study, tmp_path):
    write_build(build, block="imported")
    with pytest.raises(DatasetError, match="imported clips"):
        export_dataset(build, tmp_path / "export", study)


def test_no_place_on_this_machine_is_named(build, write_profile, tmp_path):
    study = load_study(write_profile(recordings=str(tmp_path / "library")))
    folder = export_dataset(build, tmp_path / "export", study)
    assert str(tmp_path) not in (folder / "README.md").read_text()


@pytest.mark.parametrize("clip", ["u1.benign_scene.flac", "u0.turn1.flac"])
def test_a_clip_that_is_not_the_manifests_is_named_and_nothing_is_left(
    build, study, tmp_path, clip
):
    (build / "clips" / clip).write_bytes(b"something else")
    with pytest.raises(DatasetError, match=clip):
        export_dataset(build, tmp_path / "export", study)
    assert not (tmp_path / "export").exists()


def test_both_files_to_cite_the_study_by_agree():
    bibtex = (PARAMS.parent / "CITATION.bib").read_text()
    for text in (citation()["title"], citation()["version"], citation()["authors"][0]["name"]):
        assert text in bibtex


@pytest.fixture(scope="module")
def whole(tiny_study, tmp_path_factory):
    """An export of the tiny study."""
    study, build = tiny_study
    validate_dataset(study, build, 1, quiet)
    return export_dataset(build, tmp_path_factory.mktemp("export") / "tiny", study)


@pytest.fixture
def take(whole, tiny_study, tmp_path):
    """Build a study, the tiny one unless another is given, of the clips of the export."""

    def take(study=tiny_study[0], **options):
        build_dataset(study, tmp_path / "build", 1, quiet, source=str(whole), **options)
        return tmp_path / "build"

    return take


@pytest.mark.slow
def test_a_build_from_an_export_has_its_bytes_and_synthesises_nothing(
    take, tiny_study, monkeypatch
):
    monkeypatch.setattr(rendering, "render", None)
    study, build = tiny_study
    taken = take()
    assert (taken / MANIFEST).read_bytes() == (build / MANIFEST).read_bytes()
    verify_dataset(load_stimuli(build), taken)
    build_dataset(study, taken, 1, quiet)  # what was taken is not made again


@pytest.mark.slow
def test_what_an_export_lacks_is_made_only_where_that_is_asked_for(take, write_profile):
    more = load_study(write_profile(snr_sweep={"snr_db": [0], "utterances_per_scenario": 1}))
    with pytest.raises(DatasetError, match=r"does not hold \d+ of .*snr0.*--make-missing"):
        take(more)
    assert any(s.block == "snr_sweep" for s in load_stimuli(take(more, make_missing=True)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"path": "../../elsewhere.flac"}, "is not within"),
        ({"path": "/tmp/elsewhere.flac"}, "is not within"),
        ({"sha256": "0" * 64}, "sha256"),
        ({"seed": 7}, "seed: 7, but the profile asks for"),
    ],
)
def test_what_is_not_the_profiles_is_refused_by_name(tiny_study, whole, tmp_path, change, message):
    for path in whole.glob("data/*.parquet"):
        table = pq.read_table(path)
        rows = [row | (change if row["audio"] else {}) for row in table.to_pylist()]
        (tmp_path / "other/data").mkdir(parents=True, exist_ok=True)
        changed = table.from_pylist(rows, schema=table.schema)
        pq.write_table(changed, tmp_path / "other/data" / path.name)
    with pytest.raises(DatasetError, match=message):
        build_dataset(tiny_study[0], tmp_path / "build", 1, quiet, source=str(tmp_path / "other"))


def test_a_source_that_is_no_export_says_what_it_can_be(study, tmp_path):
    for source in (str(tmp_path), "no/such/folder"):
        with pytest.raises(DatasetError, match=r"aor export|data/"):
            build_dataset(study, tmp_path / "build", 1, quiet, source=source)


def test_a_data_set_on_the_hub_is_fetched_at_its_revision(monkeypatch, study, tmp_path):
    fetch = Mock(return_value=str(tmp_path))
    monkeypatch.setattr("huggingface_hub.snapshot_download", fetch)
    with pytest.raises(DatasetError, match=r"somebody/aor@v2: holds no data"):
        build_dataset(study, tmp_path / "build", 1, quiet, source="somebody/aor@v2")
    fetch.assert_called_once_with("somebody/aor", repo_type="dataset", revision="v2")
