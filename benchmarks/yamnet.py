"""Recognition of the scenes and their sounds by YAMNet, a network trained on recordings.

Regenerate the table, in minutes, with YAMNet's files in the user's cache (README.md says where they
come from): python -m benchmarks.yamnet

Each scene is classified alone and under speech at 6 dB; each labelled bed and event is classified
by itself, in the room of its scene. Spectrum-matched noise of each sound is classified for
comparison, as are, if the user's cache has a sound bank, the scenes with its recordings, and
recordings of the families of the sounds. A sound is recognised if a class that a listener would
expect (params/yamnet.yaml) is among the top five.
"""

from pathlib import Path

import numpy as np
import pandas as pd

from aor_lib.audio import mixing, speech
from aor_lib.audio.bank.library import BankError, SoundBank, bank_folder, open_bank
from aor_lib.audio.hearing import yamnet
from aor_lib.audio.scenes import engine
from aor_lib.audio.scenes.sources import recordings_of
from aor_lib.config.params import load_scenes
from aor_lib.config.profile import Mixing
from aor_lib.config.scene import Layer

TABLE = Path(__file__).with_suffix(".csv")
SEEDS = range(6, 11)
SECONDS = 10.0
RATE = speech.SAMPLE_RATE
SPOKEN = {
    "af_heart": "Could you tell me what time the library opens on Saturday morning?",
    "am_michael": "Please explain how a rainbow forms after a summer storm.",
    "bf_emma": "I would like a short recipe for lentil soup for four people.",
    "bm_george": "What is the best way to learn the names of the planets?",
    "af_bella": "Tell me how far it is from Madrid to Lisbon by train.",
}
QUIET = Layer(sound="noise", params={"spectrum": [[60, 0], [1000, -20]]}, level_db=-60)
SYNTHESISED, RECORDED = "synthesised", "recorded"
KEYS = ["of", "kind", "name", "condition", "source"]


def main():
    try:
        bank = open_bank(bank_folder())
    except BankError as error:
        print(f"{error}; the table keeps its earlier rows of recordings")
        bank = SoundBank({})
    table = summary(pd.DataFrame([*of_scenes(bank), *of_sounds(), *of_recordings(bank)]))
    if not bank.files and TABLE.exists():
        before = pd.read_csv(TABLE)
        table = pd.concat([table, before[before["source"].str.contains(RECORDED)]])
    table.to_csv(TABLE, index=False)
    print(table.groupby(["of", "condition", "source"])[["top5", "score", "music_first"]].mean())


def of_scenes(bank):
    for scene in load_scenes().values():
        yield from of_scene(scene, None, SYNTHESISED)
        if any(recordings_of(sound, bank) for _, sound in scene.sounds):
            yield from of_scene(scene, bank, RECORDED)


def of_scene(scene, bank, source):
    keys = {"of": "scene", "kind": str(scene.kind), "name": scene.id}
    expected = yamnet.load_expected().scenes[scene.id]
    settings = Mixing()
    for seed, (voice, text) in zip(SEEDS, SPOKEN.items(), strict=True):
        yield from heard(rendered(scene, SECONDS, seed, bank), seed, expected, keys, source)
        spoken = speech.synthesise(text, voice)
        seconds = mixing.clip_length(len(spoken), settings) / RATE
        for of, background in with_noise(rendered(scene, seconds, seed, bank), seed, source):
            clip = mixing.mix(spoken, background, settings).samples
            keyed = keys | {"condition": "under speech", "source": of}
            yield keyed | recognised(clip, expected)


def of_sounds():
    for scene in load_scenes().values():
        beds = [(layer.label, [layer], []) for layer in scene.bed]
        events = [
            (event.label, [QUIET], [event.model_copy(update={"then": ()})])
            for event in scene.events
        ]
        for label, bed, event in beds + events:
            alone = scene.model_copy(update={"bed": tuple(bed), "events": tuple(event)})
            for family, expected in families_of(label):
                for seed in SEEDS[:2]:
                    sound = rendered(alone, SECONDS, seed, None)
                    yield from heard(sound, seed, expected, family, SYNTHESISED)


def of_recordings(bank):
    for number, recording in enumerate(bank.files):
        sound = bank.samples(recording)[: round(SECONDS * RATE)]
        for family, expected in families_of(recording.labels[0]):
            yield from heard(sound, number, expected, family, RECORDED)


def families_of(label):
    """Yield the family that lists the label earliest, as row keys, and its classes, if any."""
    families = yamnet.load_expected().families
    having = [(family, classes) for family, classes in families.items() if label in classes]
    for family, classes in sorted(having, key=lambda of: of[1].index(label))[:1]:
        yield {"of": "sound", "kind": family, "name": family}, classes


def rendered(scene, seconds, seed, bank):
    return engine.render(scene, seconds, RATE, np.random.default_rng(seed), bank).samples


def heard(sound, seed, expected, keys, source):
    for of, samples in with_noise(sound, seed, source):
        yield keys | {"condition": "alone", "source": of} | recognised(samples, expected)


def with_noise(sound, seed, source):
    rng = np.random.default_rng(seed)
    yield source, sound
    yield f"{source}, as noise", engine.spectrum_matched_noise(sound, len(sound), rng)


def recognised(samples, expected):
    recognised = yamnet.recognise(yamnet.listen(samples, RATE), expected)
    music = np.nan if "Music" in expected else float(recognised.first_class == "Music")
    return {
        "top5": float(recognised.expected_rank <= 5),
        "score": recognised.expected_score,
        "music_first": music,
    }


def summary(clips):
    """Share of clips, or of a family's sounds, that are recognised, and their median score."""
    table = clips.groupby(KEYS).agg(
        clips=("top5", "size"),
        top5=("top5", "mean"),
        score=("score", "median"),
        music_first=("music_first", "mean"),
    )
    return table.round(3).reset_index()


if __name__ == "__main__":
    main()
