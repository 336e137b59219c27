import json

import numpy as np
import pytest
import soundfile

from aor_lib.audio.bank.importing import import_sounds
from aor_lib.audio.bank.library import BankError, SoundBank, label_named, open_bank, sound_labels
from aor_lib.audio.mixing import rms_dbfs
from aor_lib.audio.scenes.engine import render
from aor_lib.audio.scenes.sources import as_bed, as_event, maker
from aor_lib.audio.scenes.synth import Synth
from aor_lib.audio.sound_files import CollectionError
from aor_lib.config.params import load_scenes
from aor_lib.config.scene import Scene
from aor_lib.config.typed_yaml import ParamsError
from tests.audio.sounds import content_of, encoded, hiss, put, quiet

ESC50_CREDIT = "- [1-1000-A.ogg]: clip derived from a.wav (http://x.org/1/) by Ann O [CC-BY]\n"
TONE = {"sound": "tone", "params": {"pitch_hz": 900, "seconds": 0.3}}
BARK = {"name": "bark", "label": "Bark", "level_db": 0} | TONE
SCENE = {
    "id": "yard",
    "kind": "neutral",
    "description": "a yard",
    "bed": [{"label": "Rain", "sound": "noise", "level_db": 0, "params": {"spectrum": [[50, 0]]}}],
    "events": [BARK | {"gap_s": 1}],
}


def scene(**changes):
    return Scene.model_validate(SCENE | changes)


@pytest.fixture
def folder(tmp_path):
    put(tmp_path / "own" / "LICENSE", "\nCC0 1.0 Universal\n\nlong text")
    return put(tmp_path / "own" / "rain" / "roof.wav", encoded(hiss(1, 3.0))).parents[1]


@pytest.fixture
def bank(tmp_path):
    return tmp_path / "bank"


def rows(bank):
    return sorted(open_bank(bank).files, key=lambda recording: recording.file)


def credit(recording):
    return recording.labels, recording.source, recording.author, recording.licence


def heard(bank, spec=None, seed=0, seconds=10.0):
    opened = open_bank(bank) if bank else None
    return render(spec or scene(), seconds, 24_000, np.random.default_rng(seed), opened)


def test_esc50_is_imported_with_the_licence_and_author_of_each_clip(tmp_path, bank):
    listing = "filename,category\n1-1000-A-0.wav,dog\n1-2000-A-10.wav,rain\n1-3-A-1.wav,can_opening"
    put(tmp_path / "e" / "meta" / "esc50.csv", listing)
    put(tmp_path / "e" / "LICENSE", f"# ESC-50\n101 - Dog:\n{ESC50_CREDIT}")
    for number, name in enumerate(("1-1000-A-0", "1-2000-A-10", "1-3-A-1")):
        put(tmp_path / "e" / "audio" / f"{name}.wav", encoded(hiss(number)))
    (skipped,) = import_sounds(tmp_path / "e", bank, quiet).skipped
    assert skipped[0] == "audio/1-3-A-1.wav"
    whole = "ESC-50 as a whole: CC BY-NC 3.0"
    assert [credit(row) for row in rows(bank)] == [
        (("Dog", "Bark"), "ESC-50", "Ann O", f"CC-BY ({whole})"),
        (("Rain",), "ESC-50", "", whole),
    ]


def test_fsd50k_is_imported_with_licence_and_uploader_or_the_reason_why_not(tmp_path, bank):
    folder = tmp_path / "f"
    labels = ["Bark,Dog,Animal", "Thump_and_thud", "Tools", "Bark,Speech", "", "Bark,Screaming"]
    listing = [f'{number},"{label}",/m/0' for number, label in enumerate(labels)]
    put(folder / "FSD50K.ground_truth" / "dev.csv", "\n".join(["fname,labels,mids", *listing]))
    for number in range(len(labels)):
        put(folder / "FSD50K.dev_audio" / f"{number}.wav", encoded(hiss(number)))
    with pytest.raises(CollectionError, match=r"FSD50K\.metadata"):
        import_sounds(folder, bank, quiet)
    about = {str(n): {"license": "http://cc/by/3.0/", "uploader": "someone"} for n in range(6)}
    about["1"]["license"] = None
    put(folder / "FSD50K.metadata" / "dev_clips_info_FSD50K.json", json.dumps(about))
    reasons = [reason for _, reason in import_sounds(folder, bank, quiet).skipped]
    for reason, said in zip(reasons, ["licence", "too broad", "words", "nothing"], strict=True):
        assert said in reason
    assert [credit(row) for row in rows(bank)] == [
        (labels, "FSD50K", "someone", "http://cc/by/3.0/")
        for labels in (("Bark", "Dog"), ("Screaming",))  # a scream is nothing else
    ]


def test_a_folder_of_ones_own_is_labelled_by_its_table_or_by_its_nested_folders(folder, bank):
    put(folder / "takes" / "dog" / "bark" / "a.ogg", encoded(hiss(2), kind="OGG"))
    put(folder / "b.flac", encoded(np.stack([hiss(3), hiss(4)], axis=1), 16_000, "FLAC"))
    header = "file,label,source,author,licence\n"
    put(folder / "metadata.csv", header + "b.flac,Fire;Crackle,http://x/,Bo,CC-BY 4.0\n")
    assert import_sounds(folder, bank, quiet).skipped == ()
    assert [credit(row) for row in rows(bank)] == [
        (("Fire", "Crackle"), "http://x/", "Bo", "CC-BY 4.0"),
        (("Rain",), "own", "", "CC0 1.0 Universal"),
        (("Dog", "Bark"), "own", "", "CC0 1.0 Universal"),
    ]
    kept = {(f.format, f.channels, f.samplerate) for f in map(soundfile.info, bank.rglob("*.flac"))}
    assert kept == {("FLAC", 1, 24_000)}


def test_what_cannot_be_used_is_skipped_by_name_and_ends_no_import(folder, bank):
    put(folder / "dog" / "a.wav", b"")
    put(
        folder / "rain/same.flac", encoded(soundfile.read(folder / "rain/roof.wav")[0], kind="FLAC")
    )
    put(folder / "thundr" / "b.wav", encoded(hiss(2)))
    put(folder / "speech" / "c.wav", encoded(hiss(3)))
    put(folder.parent / "secret.wav", encoded(hiss(4)))
    (folder / "link.wav").symlink_to(folder.parent / "secret.wav")
    listed = "".join(f"{name}.wav,Dog,CC0\n" for name in ("gone", "../secret", "link"))
    put(folder / "metadata.csv", f"file,label,licence\n{listed}")
    report = import_sounds(folder, bank, quiet)
    assert report.imported == ("rain/roof.wav",)
    assert report.unreadable == ("dog/a.wav", "gone.wav")
    skipped = dict(report.skipped)
    assert "rain/roof.wav" in skipped["rain/same.flac"]
    assert "'Thunder'" in skipped["thundr/b.wav"]
    assert "words" in skipped["speech/c.wav"]
    assert skipped["../secret.wav"] == skipped["link.wav"] == "lies outside the folder"


def test_a_long_file_is_cut_to_30_s_from_where_it_is_heard(folder, bank):
    put(folder / "wind" / "long.wav", encoded(np.concatenate([np.zeros(48_000), hiss(2, 40.0)])))
    import_sounds(folder, bank, quiet)
    (long,) = (row for row in rows(bank) if row.file == "wind/long.wav")
    assert long.duration_s == 30.0
    samples = open_bank(bank).samples(long)
    assert len(samples) == 720_000
    assert rms_dbfs(samples[:2400]) == pytest.approx(rms_dbfs(samples), abs=1)


def test_a_collection_is_replaced_by_its_next_import_and_another_is_added(folder, bank, tmp_path):
    import_sounds(folder, bank, quiet)
    before, sha256 = content_of(bank), open_bank(bank).sha256
    import_sounds(folder, bank, quiet)
    assert content_of(bank) == before
    other = put(tmp_path / "more" / "own" / "dog" / "a.wav", encoded(hiss(2))).parents[1]
    put(other / "LICENSE", "CC0")
    import_sounds(other, bank, quiet)
    assert len(rows(bank)) == 2
    assert open_bank(bank).sha256 != sha256
    put(folder / "metadata.csv", "file,label\nrain/roof.wav,Thunder\n")
    import_sounds(folder, bank, quiet)
    assert [row.labels for row in rows(bank)] == [("Dog",), ("Thunder",)]


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        (lambda f: f / "nowhere", "nowhere"),
        (lambda f: put(f / "empty" / "x.txt", "x").parent, "empty"),
        (lambda f: put(f / "e/meta/esc50.csv", "a\n").parents[1], r"esc50\.csv: .* 'filename'"),
        (lambda f: put(f / "u/dog/a.wav", encoded(hiss(1))).parents[1], "licence.*LICENSE"),
        (lambda f: put(f / "t/metadata.csv", "file,label\na,Dog\na,Cat\n").parent, "'a' has two"),
        (lambda f: put(f / "q/metadata.csv", "file,label\na,Chink, clink\n").parent, "quote cells"),
    ],
)
def test_a_folder_that_cannot_be_used_is_an_error_of_one_line(tmp_path, bank, prepare, message):
    with pytest.raises(CollectionError, match=message) as error:
        import_sounds(prepare(tmp_path), bank, quiet)
    assert "\n" not in str(error.value)


def test_an_empty_altered_or_damaged_bank_is_an_error_that_says_what_to_do(folder, bank):
    with pytest.raises(BankError, match="aor import"):
        open_bank(bank)
    import_sounds(folder, bank, quiet)
    next(bank.glob("*/*.flac")).write_bytes(b"other")
    with pytest.raises(BankError, match="import its collection again"):
        heard(bank)
    put(next(bank.glob("*/*.json")), b"no table")
    with pytest.raises(BankError, match="import its collection again"):
        open_bank(bank)


def test_a_scene_takes_recordings_of_its_labels_and_the_rest_is_as_without_a_bank(folder, bank):
    import_sounds(folder, bank, quiet)
    (rain,) = rows(bank)
    assert set(heard(bank).sources) == {("bed.0", rain), ("bark", None)}
    assert set(heard(None).sources) == {("bed.0", None), ("bark", None)}
    unlabelled = [{key: value for key, value in SCENE["bed"][0].items() if key != "label"}]
    without, plain = heard(bank, scene(bed=unlabelled)), heard(None, scene(bed=unlabelled))
    assert without.samples.tobytes() == plain.samples.tobytes()


def test_what_is_taken_follows_from_the_seed_and_the_content_alone(folder, bank, tmp_path):
    for number in range(4):
        put(folder / "dog" / "bark" / f"{number}.wav", encoded(hiss(9 + number, 0.4)))
    import_sounds(folder, bank, quiet)
    (tmp_path / "elsewhere").mkdir()
    import_sounds(folder.rename(tmp_path / "elsewhere" / "own"), tmp_path / "bank2", quiet)
    made, again = heard(bank, seed=5), heard(tmp_path / "bank2", seed=5)
    assert made.samples.tobytes() == again.samples.tobytes()
    assert made.samples.tobytes() != heard(bank, seed=6).samples.tobytes()


def test_one_recording_is_chosen_for_a_scene_and_its_takes_follow_each_other(folder, bank):
    for n in range(6):
        put(folder / f"dog/bark/{'ab'[n % 2]}_bark_{n}.wav", encoded(hiss(9 + n, 0.4)))
    import_sounds(folder, bank, quiet)
    chosen = set()
    for seed in range(8):
        files = [one.file for name, one in heard(bank, seed=seed).sources if name == "bark"]
        assert len(files) > 1
        assert len({file[9] for file in files}) == 1
        chosen.add(files[0][9])
    assert chosen == {"a", "b"}


@pytest.mark.parametrize("gain", [0.1, 1.0])
@pytest.mark.parametrize("click", [0.0, 1.0])
def test_a_recording_is_as_loud_as_the_sound_that_it_replaces(folder, bank, gain, click):
    bark = hiss(9, 0.3)
    bark[100] += click  # the peak of which says little about the loudness
    put(folder / "dog" / "bark" / "a.wav", encoded(gain * bark, subtype="FLOAT"))
    put(folder / "metadata.csv", "file,label\nrain/roof.wav,Thunder\n")
    import_sounds(folder, bank, quiet)
    levels = []
    for opened in (open_bank(bank), SoundBank({})):
        sound = maker(scene().events[0], Synth(24_000, np.random.default_rng(0), 0.5), opened)()
        starts = range(0, len(sound.samples) - 1200, 240)
        loudest = max(rms_dbfs(sound.samples[at : at + 1200]) for at in starts)
        levels.append(loudest - 20 * np.log10(sound.amplitude))
    assert levels[0] == pytest.approx(levels[1], abs=0.5)


def test_a_recording_longer_than_a_second_is_not_repeated_before_it_ends(folder, bank):
    put(folder / "dog" / "bark" / "long.wav", encoded(hiss(9, 2.5)))
    import_sounds(folder, bank, quiet)
    onsets = [event.onset_s for event in heard(bank, scene(events=[BARK | {"gap_s": 0.3}])).events]
    assert len(onsets) > 2
    assert np.diff(onsets).min() >= 2.5


def test_a_bed_needs_two_seconds_and_an_event_takes_at_most_four(folder, bank):
    put(folder / "rain" / "roof.wav", encoded(hiss(1, 1.5)))
    put(folder / "dog" / "bark" / "long.wav", encoded(hiss(9, 20.0)))
    import_sounds(folder, bank, quiet)
    made = heard(bank)
    assert ("bed.0", None) in made.sources
    assert max(event.duration_s for event in made.events) == pytest.approx(4.0)


@pytest.mark.parametrize("seconds", [2.0, 7.0, 30.0])
def test_a_bed_neither_starts_nor_ends_nor_pauses(seconds):
    bed = as_bed(hiss(1, seconds).astype(np.float32), 240_000, np.random.default_rng(0))
    levels = [rms_dbfs(part) for part in np.split(bed, 100)]
    assert len(bed) == 240_000
    assert max(levels) - min(levels) < 3


def test_an_excerpt_is_not_silence():
    samples = np.zeros(480_000, np.float32)
    samples[100_000:110_000] = hiss(1, 10_000 / 24_000)
    for seed in range(5):
        assert np.abs(as_event(samples, np.random.default_rng(seed))).max() > 0.05


@pytest.mark.parametrize(("label", "hint"), [("Rian", "did you mean 'Rain'"), ("rain", "'Rain'")])
def test_a_label_that_is_not_audiosets_is_an_error_with_a_hint(label, hint):
    with pytest.raises(ParamsError, match=rf"bed\.0\.label.*{hint}"):
        heard(None, scene(bed=[SCENE["bed"][0] | {"label": label}]))


def test_labels_are_unique_and_every_sound_of_a_scene_has_one_of_them():
    known = sound_labels()
    assert len({label_named(label) for label in known.labels}) == len(known.labels) == 527
    of_collections = [label for labels in known.esc50.values() for label in labels]
    assert {*known.words, *known.alarming, *known.vague, *of_collections} <= {*known.labels}
    for made in load_scenes().values():
        for name, sound in made.sounds:
            assert sound.label in known.labels, f"{made.id}: {name}"
