import hashlib
import json

import numpy as np
import pandas as pd
import pytest
import soundfile
import yaml

from aor_lib.audio.recordings.backgrounds import recorded_scene
from aor_lib.audio.recordings.collections import read_mapping
from aor_lib.audio.recordings.importing import import_recordings
from aor_lib.audio.recordings.library import LibraryError, library_sha256, recordings_of
from aor_lib.audio.sound_files import CollectionError
from aor_lib.config.typed_yaml import ParamsError
from tests.audio.sounds import content_of, encoded, hiss, put, quiet

ESC50_CREDIT = "- [1-1000-A.ogg]: clip derived from a.wav (http://x.org/1/) by Ann O [CC-BY]\n"


def put_fsd50k(folder, rows, info):
    put(folder / "FSD50K.ground_truth" / "dev.csv", "\n".join(["fname,labels,mids", *rows]))
    put(folder / "FSD50K.metadata" / "dev_clips_info_FSD50K.json", json.dumps(info))
    return folder


def table(library):
    return pd.read_parquet(library / "recordings.parquet").sort_values(["original", "scene"])


@pytest.fixture
def folder(tmp_path):
    return put(tmp_path / "sounds" / "dog" / "bark.wav", encoded(hiss(1))).parents[1]


@pytest.fixture
def library(tmp_path):
    return tmp_path / "library"


def test_esc50_is_imported_with_the_licence_and_author_of_each_clip(tmp_path, library):
    listing = "filename,category\n1-1000-A-0.wav,dog\n1-2000-A-12.wav,crackling_fire\n"
    put(tmp_path / "e" / "meta" / "esc50.csv", listing)
    put(tmp_path / "e" / "LICENSE", f"# ESC-50\n101 - Dog:\n{ESC50_CREDIT}")
    for number, name in enumerate(("1-1000-A-0", "1-2000-A-12")):
        put(tmp_path / "e" / "audio" / f"{name}.wav", encoded(hiss(number)))
    import_recordings(tmp_path / "e", library, quiet)
    dog, fire = table(library).to_dict("records")
    assert (dog["source"], dog["label"], dog["scene"]) == ("ESC-50", "dog", "veterinary_clinic")
    assert (dog["licence"], dog["author"]) == ("CC-BY (ESC-50 as a whole: CC BY-NC 3.0)", "Ann O")
    assert (fire["licence"], fire["author"]) == ("ESC-50 as a whole: CC BY-NC 3.0", "unknown")


def test_fsd50k_is_imported_with_licence_and_uploader_or_the_reason_why_not(tmp_path, library):
    labels = ["Bark,Dog", "Cutlery_and_silverware", "Accordion,Music", "Bark,Speech", ""]
    about = {"0": {"title": "t", "license": "http://cc/by/3.0/", "uploader": "someone"}}
    rows = [f'{number},"{label}",/m/0' for number, label in enumerate(labels)]
    folder = put_fsd50k(tmp_path / "f", rows, about)
    for number in range(len(labels)):
        put(folder / "FSD50K.dev_audio" / f"{number}.wav", encoded(hiss(number)))
    report = import_recordings(folder, library, quiet)
    assert [reason for _, reason in report.skipped] == [
        "has no scene: the mapping lacks Accordion, Music",
        "is labelled 'Speech', which the mapping excludes",
        "has no label",
    ]
    assert table(library)[["label", "scene", "licence", "author"]].to_numpy().tolist() == [
        ["Bark", "veterinary_clinic", "http://cc/by/3.0/", "someone"],
        ["Cutlery_and_silverware", "home_kitchen", "unknown", "unknown"],
        ["Cutlery_and_silverware", "restaurant_kitchen", "unknown", "unknown"],
    ]


def test_a_folder_for_each_class_is_imported_with_what_its_metadata_states(folder, library):
    put(folder / "Frying (food)" / "pan.flac", encoded(hiss(2), kind="FLAC"))
    put(folder / "home_kitchen" / "mine.ogg", encoded(hiss(3), kind="OGG"))
    put(folder / "LICENSE", "\nCC0 1.0 Universal\n\nlong text")
    put(folder / "metadata.csv", "file,licence,author\ndog/bark.wav,CC-BY 4.0,Bo\n")
    assert import_recordings(folder, library, quiet).skipped == ()
    rows = table(library).set_index("original")
    assert set(rows["source"]) == {"sounds"}
    assert rows.loc["dog/bark.wav", ["licence", "author"]].tolist() == ["CC-BY 4.0", "Bo"]
    assert rows.loc["home_kitchen/mine.ogg", "scene"] == "home_kitchen"
    assert set(rows.loc["Frying (food)/pan.flac", "licence"]) == {"CC0 1.0 Universal"}
    for row in rows.itertuples():
        info = soundfile.info(library / row.file)
        assert (info.format, info.subtype, info.channels) == ("FLAC", "PCM_16", 1)
        assert (info.samplerate, info.duration) == (24_000, pytest.approx(row.duration_s))
        assert row.sha256 == hashlib.sha256((library / row.file).read_bytes()).hexdigest()


def test_unusable_files_and_the_same_sound_again_are_skipped_with_a_reason(folder, library):
    samples = soundfile.read(folder / "dog" / "bark.wav")[0]
    put(folder / "dog" / "bad.wav", b"")
    put(folder / "dog" / "copy.wav", encoded(hiss(1)))
    put(folder / "dog" / "packed.flac", encoded(samples, kind="FLAC"))
    report = import_recordings(folder, library, quiet)
    assert report.unreadable == ("dog/bad.wav",)
    assert report.skipped[1:] == (
        ("dog/copy.wav", "is the same file as sounds/dog/bark.wav"),
        ("dog/packed.flac", "is the same sound as sounds/dog/bark.wav"),
    )


def test_importing_again_applies_an_edited_mapping_and_else_changes_nothing(
    folder, library, tmp_path
):
    import_recordings(folder, library, quiet)
    before = content_of(library)
    again = import_recordings(folder, library, quiet)
    assert again.skipped == (("dog/bark.wav", "is in the library already"),)
    assert content_of(library) == before
    edited = put(tmp_path / "m.yaml", yaml.safe_dump({"labels": {"dog": ["dojo"]}, "excluded": []}))
    import_recordings(folder, library, quiet, edited)
    assert table(library)["scene"].tolist() == ["dojo"]
    edited.write_text(yaml.safe_dump({"labels": {}, "excluded": ["dog"]}))
    import_recordings(folder, library, quiet, edited)
    assert table(library).empty


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        (lambda f: f / "nowhere", "nowhere"),
        (lambda f: put(f / "empty" / "x.txt", "x").parent, "empty"),
        (lambda f: put(f / "e/meta/esc50.csv", "a\n").parents[1], r"esc50\.csv: .* 'filename'"),
    ],
)
def test_a_folder_that_cannot_be_read_is_an_error_of_one_line(tmp_path, library, prepare, message):
    with pytest.raises(CollectionError, match=message) as error:
        import_recordings(prepare(tmp_path), library, quiet)
    assert "\n" not in str(error.value)


def test_an_unknown_scene_in_the_mapping_is_an_error(tmp_path):
    path = put(tmp_path / "m.yaml", "excluded: []\nlabels: {dog: [veterinary_clinc]}")
    with pytest.raises(ParamsError, match=r"labels\.dog.*veterinary_clinic"):
        read_mapping(path)


def make_library(folder, sounds):
    for name, samples in sounds.items():
        put(folder / "in" / f"{name}.flac", encoded(samples, kind="FLAC"))
        import_recordings(folder / "in", folder / "lib", quiet)
    return folder / "lib"


BARKS = {f"dog/{n}": hiss(n, 0.6) for n in range(3)} | {"cat/1": hiss(7, 4.0)}


@pytest.mark.parametrize("seconds", [0.1, 12.0])
def test_a_recorded_scene_has_the_length_events_source_and_licence(tmp_path, seconds):
    library = make_library(tmp_path, BARKS)
    n = round(seconds * 24000)
    made = recorded_scene(library, "veterinary_clinic", n, np.random.default_rng(1))
    assert (made.samples.dtype, made.samples.shape) == (np.float32, (n,))
    assert np.abs(made.samples).max() == pytest.approx(0.9, abs=1e-4)
    assert {event.name for event in made.events} == {"cat", "dog"}
    assert all(e.onset_s >= 0 and e.duration_s > 0 for e in made.events)
    assert max(e.onset_s + e.duration_s for e in made.events) <= seconds + 1e-9
    assert made.source.startswith("recorded: in/")
    assert made.source.count("; ") == 2
    assert made.licence == "unknown"


def test_a_recorded_scene_follows_from_the_generator_and_the_content_alone(tmp_path):
    library = make_library(tmp_path / "one", BARKS)
    other = make_library(tmp_path / "other", dict(reversed(BARKS.items())))

    def render(library, seed):
        rng = np.random.default_rng(seed)
        return recorded_scene(library, "veterinary_clinic", 48000, rng).samples.tobytes()

    assert library_sha256(library) == library_sha256(other)
    assert render(library, 5) == render(other, 5)
    assert render(library, 5) != render(library, 6)


def test_a_missing_altered_or_damaged_library_is_an_error_that_says_what_to_do(folder, library):
    with pytest.raises(LibraryError, match="aor import"):
        library_sha256(library)
    import_recordings(folder, library, quiet)
    next((library / "clips").iterdir()).write_bytes(b"other")
    with pytest.raises(LibraryError, match="altered"):
        recorded_scene(library, "veterinary_clinic", 24000, np.random.default_rng(0))
    put(library / "recordings.parquet", b"no table")
    with pytest.raises(LibraryError, match="import again"):
        recordings_of(library, "dojo")
