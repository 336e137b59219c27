import hashlib
import json
import shutil
import socket
from html import unescape

import mlcroissant
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import soundfile
import yaml

from aor_lib.config.params import load_study
from aor_lib.config.profile import Profile
from aor_lib.config.records import Stimulus
from aor_lib.stimuli.dataset import build_dataset
from aor_lib.stimuli.design import stimuli
from aor_lib.stimuli.export import bibtex, citation, export_dataset
from aor_lib.stimuli.manifest import MANIFEST, VALIDATION, DatasetError, load_stimuli
from aor_lib.stimuli.validation import made_from, validate_dataset
from aor_lib.storage.progress import finished
from tests.audio.sounds import content_of, encoded, hiss, put, quiet
from tests.conftest import TINY, make_text_stimuli

PROFILE = Profile.model_validate(TINY | {"sound_bank": True})
SPOKEN = {"presented_text": None, "voice": "af_heart", "gender": "female", "emotion": "neutral"}


@pytest.fixture(autouse=True)
def no_network(monkeypatch, tmp_path):
    monkeypatch.setattr(socket.socket, "connect", None)  # to connect is an error
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


def write_build(build, **changes):
    """A built study: an utterance of each split, spoken and shown; one has an earlier turn."""

    def sound(name, seed):
        path = put(build / f"clips/{name}.flac", encoded(hiss(seed), kind="FLAC"))
        sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
        return {"path": f"clips/{name}.flac", "sha256": sha256}

    rows = []
    for text, split in zip(make_text_stimuli(2), ("dev", "test"), strict=True):
        shown = text.model_dump(mode="json") | {"seed": 2**52 + len(rows), "split": split}
        name = f"{text.utterance_id}.clip"
        spoken = SPOKEN | {"stimulus_id": name, "condition": "speech_only", "duration_s": 1.0}
        rows += [shown, shown | spoken | sound(name, len(rows)) | changes]
    turn = {"role": "user", "text": "Hello."} | sound("u0.turn1", 99)
    rows[1]["history"] = json.dumps([turn, {"role": "assistant", "text": "Hi."}])
    frame = pd.DataFrame(rows)
    frame.attrs = {"profile": PROFILE.model_dump_json()}
    frame.to_parquet(build / MANIFEST)
    for name in frame["stimulus_id"]:
        put(build / f"stimuli/{name}.json", json.dumps({"made_from": "0" * 64}))
    frame[["stimulus_id"]].assign(wer=[None, 0.25] * 2).to_parquet(build / VALIDATION)
    finished(build, "validate", made_from(build, stimuli(tiny(build))))
    return build


def tiny(build):
    return load_study(put(build / "tiny.yaml", PROFILE.model_dump_json(exclude_none=True)))


@pytest.fixture
def build(tmp_path):
    return write_build(tmp_path / "build")


@pytest.fixture
def exported(build, tmp_path):
    return export_dataset(tiny(build), build, tmp_path / "export")


@pytest.mark.slow
def test_the_folder_loads_with_decoded_audio_and_every_field_of_the_manifest(exported, build):
    import datasets

    loaded = datasets.load_dataset(str(exported), cache_dir=str(exported.parent / "cache"))
    expected = {s.stimulus_id: s for s in load_stimuli(build)}
    assert {name: len(rows) for name, rows in loaded.items()} == {"dev": 2, "test": 2}
    for row in (*loaded["dev"], *loaded["test"]):
        audio, earlier = row.pop("audio"), row.pop("history_audio")
        stimulus = expected[row["stimulus_id"]]
        assert row == stimulus.model_dump(mode="json") | {"made_from": "0" * 64}
        assert len(earlier) == (stimulus.history != "[]")
        assert (audio is None) == (stimulus.path is None)
        if audio:
            samples, rate = soundfile.read(build / stimulus.path)
            assert audio["sampling_rate"] == rate
            np.testing.assert_array_equal(audio["array"], samples)


def test_two_exports_are_the_same_bytes_and_the_croissant_file_is_valid_and_has_their_sha256(
    exported, build, tmp_path
):
    assert content_of(exported) == content_of(export_dataset(tiny(build), build, tmp_path / "b"))
    issues = mlcroissant.Dataset(str(exported / "croissant.json")).metadata.ctx.issues
    assert not [*issues.errors, *issues.warnings]
    parts = json.loads((exported / "croissant.json").read_text())["distribution"]
    assert {part["contentUrl"]: part["sha256"] for part in parts} == {
        str(path.relative_to(exported)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in exported.rglob("*.parquet")
    }


def test_the_card_names_every_column_the_manifests_numbers_and_no_place_here(exported, tmp_path):
    card = (exported / "README.md").read_text()
    assert str(tmp_path) not in card
    assert {name for name in Stimulus.model_fields if f"`{name}`" not in card} == set()
    rows = {line.replace(" ", "") for line in card.splitlines()}
    assert rows >= {"|dev|2|1|1|", "|test|2|1|1|", "|af_heart|female|neutral|2|"}
    assert "0.25" in card
    profile = yaml.safe_load(card.split("```yaml")[1].split("```")[0])
    assert Profile.model_validate(profile) == PROFILE
    for text in (citation()["title"], citation()["version"], citation()["authors"][0]["name"]):
        assert text in bibtex()


def test_another_licence_of_a_part_is_the_wholes_and_no_credit_is_markup(exported, tmp_path):
    def licence(folder):
        return yaml.safe_load((folder / "README.md").read_text().split("---\n")[1])["license"]

    dog = {"sound": "bark", "file": "1-A.wav", "source": "ESC-50", "author": "[Ann](b)|<b>"}
    sounds = json.dumps({"recorded": [dog | {"licence": "CC <i>"}], "synthesised": ["bed.0"]})
    build = write_build(tmp_path / "b", background_sounds=sounds)
    other = export_dataset(tiny(build), build, tmp_path / "other")
    assert (licence(exported), licence(other)) == ("apache-2.0", "other")
    card = (other / "README.md").read_text()
    assert "|1-A.wav|ESC-50|[Ann](b)|<b>|CC<i>|2|" in unescape(card).replace(" ", "")
    assert not any(markup in card for markup in ("<i>", "[Ann]", "|<", "b|"))
    licences = json.loads((other / "croissant.json").read_text())["license"]
    assert licences == ["https://spdx.org/licenses/Apache-2.0", "CC <i>"]


def test_imported_altered_and_unvalidated_clips_leave_no_export(build, tmp_path):
    study, into = tiny(build), tmp_path / "export"
    pd.read_parquet(build / MANIFEST).assign(snr_db=3.0).to_parquet(build / MANIFEST)
    with pytest.raises(DatasetError, match="aor validate"):
        export_dataset(study, build, into)
    (build / "clips/u0.turn1.flac").write_bytes(b"something else")
    with pytest.raises(DatasetError, match=r"u0.turn1"):
        export_dataset(study, build, into)
    write_build(build, block="imported")
    with pytest.raises(DatasetError, match="imported clips"):
        export_dataset(study, build, into)
    assert not into.exists()


@pytest.fixture(scope="module")
def whole(tiny_study, tmp_path_factory):
    study, build = tiny_study
    validate_dataset(study, build, 1, quiet)
    return export_dataset(study, build, tmp_path_factory.mktemp("export") / "tiny")


def altered(export, into, of_clips=(), of_texts=()):
    """A copy of an export in which columns of its clips, or of its texts, are others."""
    for path in shutil.copytree(export, into).glob("data/*.parquet"):
        table = pq.read_table(path)
        rows = [row | dict(of_clips if row["audio"] else of_texts) for row in table.to_pylist()]
        pq.write_table(table.from_pylist(rows, schema=table.schema), path)
    return str(into)


@pytest.mark.slow
def test_a_build_from_an_export_has_its_clips_and_the_studys_texts_and_synthesises_nothing(
    whole, tiny_study, tmp_path, monkeypatch
):
    monkeypatch.setattr("aor_lib.audio.speech.synthesise", None)
    study, build = tiny_study
    source = altered(whole, tmp_path / "me@work", of_texts={"presented_text": "Something else."})
    build_dataset(study, tmp_path / "b", 1, quiet, source)
    assert (tmp_path / "b" / MANIFEST).read_bytes() == (build / MANIFEST).read_bytes()
    build_dataset(study, tmp_path / "b", 1, quiet)  # what was taken is intact, and not made again


@pytest.mark.slow
def test_what_an_export_lacks_is_made_only_by_a_build_without_it(whole, write_profile, tmp_path):
    more = load_study(write_profile(snr_sweep={"snr_db": [0], "utterances_per_scenario": 1}))
    with pytest.raises(DatasetError, match=r"does not hold \d+ of .*snr0.*without --from"):
        build_dataset(more, tmp_path, 1, quiet, source=str(whole))
    mixed = load_study(write_profile(mixing={"tail_s": 1}))
    with pytest.raises(DatasetError, match="mixing"):
        build_dataset(mixed, tmp_path, 1, quiet, source=str(whole))
    build_dataset(more, tmp_path, 1, quiet)
    assert any(stimulus.block == "snr_sweep" for stimulus in load_stimuli(tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"path": "../../elsewhere.flac"}, "is not within"),
        ({"sha256": "0" * 64}, "sha256"),
        ({"seed": 7, "made_from": "0" * 64}, "seed"),
    ],
)
def test_what_is_not_the_profiles_is_refused_by_name(tiny_study, whole, tmp_path, change, message):
    other = altered(whole, tmp_path / "other", of_clips=change)
    with pytest.raises(DatasetError, match=message):
        build_dataset(tiny_study[0], tmp_path / "build", 1, quiet, source=other)


@pytest.mark.slow
def test_a_source_that_is_no_data_set_is_named(write_profile, tmp_path, monkeypatch):
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    with pytest.raises(DatasetError, match="somebody/aor@v2: is no data set"):
        build_dataset(load_study(write_profile()), tmp_path, 1, quiet, source="somebody/aor@v2")
