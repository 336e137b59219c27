"""What YAMNet, a network trained on recordings, recognises of the scenes and of their sounds.

Make the table anew, in minutes, with YAMNet's files in the user's cache (README.md says where they
come from): python -m benchmarks.yamnet [--recordings FOLDER]

Each scene is heard alone and under speech at 6 dB; each bed and event that has a label is heard by
itself, in the room of its scene. Recordings of the same families of labels may stand beside them:
FOLDER/metadata.csv has the columns ``file`` and ``label``. So does, for each sound, noise of its
spectrum. Sound is recognised if a class that a listener would expect (params/yamnet.yaml) is among
the first five.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
import soundfile

from aor_lib.audio import mixing, scenes, speech
from aor_lib.audio.hearing import yamnet
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
KEYS = ["of", "kind", "name", "condition", "source"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--recordings", type=Path)
    recordings = parser.parse_args().recordings
    clips = [*of_scenes(), *of_sounds(), *(of_recordings(recordings) if recordings else ())]
    table = summary(pd.DataFrame(clips))
    if recordings is None and TABLE.exists():  # those that are not at hand stay as they were
        before = pd.read_csv(TABLE)
        table = pd.concat([table, before[before["source"].str.startswith("recorded")]])
    table.to_csv(TABLE, index=False)
    print(table.groupby(["of", "condition", "source"])[["top5", "score", "music_first"]].mean())


def of_scenes():
    settings = Mixing()
    for scene in load_scenes().values():
        keys = {"of": "scene", "kind": str(scene.kind), "name": scene.id}
        expected = yamnet.load_expected().scenes[scene.id]
        for seed, (voice, text) in zip(SEEDS, SPOKEN.items(), strict=True):
            yield from heard(rendered(scene, SECONDS, seed), RATE, seed, expected, keys)
            spoken = speech.synthesise(text, voice)
            length = mixing.clip_length(len(spoken), settings)
            alone = rendered(scene, length / RATE, seed)
            for source, background in with_noise(alone, seed):
                clip = mixing.mix(spoken, background, settings).samples
                keyed = keys | {"condition": "under speech", "source": source}
                yield keyed | recognised(clip, RATE, expected)


def of_sounds():
    for scene in load_scenes().values():
        beds = [(layer.label, [layer], []) for layer in scene.bed]
        events = [
            (event.label, [QUIET], [event.model_copy(update={"then": ()})])
            for event in scene.events
        ]
        for label, bed, event in beds + events:
            if label is not None:
                family, expected = family_of(label)
                alone = scene.model_copy(update={"bed": tuple(bed), "events": tuple(event)})
                keys = {"of": "sound", "kind": family, "name": family}
                for seed in SEEDS[:2]:
                    sound = rendered(alone, SECONDS, seed)
                    yield from heard(sound, RATE, seed, expected, keys)


def of_recordings(folder):
    for number, row in pd.read_csv(folder / "metadata.csv").iterrows():
        family, expected = family_of(row["label"])
        samples, rate = soundfile.read(folder / row["file"], always_2d=True)
        keys = {"of": "sound", "kind": family, "name": family}
        sound = samples[: round(SECONDS * rate)].mean(axis=1)
        yield from heard(sound, rate, number, expected, keys, source="recorded")


def family_of(label):
    """Family that lists the label earliest, and its classes; the label itself if none lists it."""
    families = yamnet.load_expected().families
    having = [(family, classes) for family, classes in families.items() if label in classes]
    return min(having, key=lambda of: of[1].index(label), default=(label, (label,)))


def rendered(scene, seconds, seed):
    return scenes.render(scene, seconds, RATE, np.random.default_rng(seed)).samples


def heard(sound, rate, seed, expected, keys, source="synthesised"):
    for of, samples in with_noise(sound, seed, source):
        yield keys | {"condition": "alone", "source": of} | recognised(samples, rate, expected)


def with_noise(sound, seed, source="synthesised"):
    rng = np.random.default_rng(seed)
    yield source, sound
    yield f"{source}, as noise", scenes.spectrum_matched_noise(sound, len(sound), rng)


def recognised(samples, rate, expected):
    found = yamnet.recognise(yamnet.listen(samples, rate), expected)
    music = np.nan if "Music" in expected else float(found.first_class == "Music")
    return {
        "top5": float(found.expected_rank <= 5),
        "score": found.expected_score,
        "music_first": music,
    }


def summary(clips):
    """Share of clips, or of the sounds of a family, that are recognised, and the median score."""
    table = clips.groupby(KEYS).agg(
        clips=("top5", "size"),
        top5=("top5", "mean"),
        score=("score", "median"),
        music_first=("music_first", "mean"),
    )
    return table.round(3).reset_index()


if __name__ == "__main__":
    main()
