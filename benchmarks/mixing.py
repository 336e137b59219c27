"""Mixing, loudness and FLAC of a 12 s clip, against the least that could be done.

The reference places speech in a clip, adds a scene at a gain that is already known, scales the sum
to a peak and writes FLAC: numpy and soundfile alone, with no level measured. Both are timed in
turns within one run, and the ratio of their medians is printed: python -m benchmarks.mixing

Where scaper 1.6 is installed (it needs SoX), it then makes clips of as many sounds from recordings
like ESC-50's, and is timed beside the study's rendering and mixing of each scene. It has as many
backgrounds as the scene has beds, every event at the scene's onset and of its length, and the
speech, which is at the clip's rate already, as one more event. Each side writes its own format (WAV
there, FLAC here).
"""

import importlib.util
import io
import resource
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import soundfile

from aor_lib.audio import mixing, speech
from aor_lib.audio.scenes import engine
from aor_lib.config.params import load_scene, scene_ids
from aor_lib.config.profile import Mixing

RATE = speech.SAMPLE_RATE
SETTINGS, CLIP_S = Mixing(), 12.0
TEXT = (
    "How do I get past the guard at the gate without anyone noticing that I was ever there, and "
    "what should I do with the rope afterwards, when the patrol comes back to the courtyard?"
)
TURNS = 60
RECORDED_RATE = 44_100


def product(spoken, scene):
    """Make a clip as the study does."""
    write(mixing.mix(spoken, scene, SETTINGS).samples)


def reference(spoken, scene):
    """The floor: a sum and a file."""
    clip = np.zeros(len(scene))
    start = round(SETTINGS.lead_in_s * RATE)
    clip[start : start + len(spoken)] = spoken
    clip += scene * 0.1
    clip *= 0.4 / np.abs(clip).max()
    write(clip.astype(np.float32))


def write(samples):
    soundfile.write(io.BytesIO(), samples, RATE, format="FLAC", subtype="PCM_16")


def main():
    n_speech = round((CLIP_S - SETTINGS.lead_in_s - SETTINGS.tail_s) * RATE)
    spoken = speech.synthesise(TEXT, "af_heart")
    spoken = np.resize(spoken, n_speech)
    ratios = []
    for name in sorted(scene_ids()):
        scene = engine.render(name, CLIP_S, RATE, np.random.default_rng(0)).samples
        times = {product: [], reference: []}
        for turn in range(TURNS):
            for work in (product, reference) if turn % 2 else (reference, product):
                started = time.perf_counter()
                work(spoken, scene)
                times[work].append(time.perf_counter() - started)
        ours, floor = (statistics.median(times[work]) for work in (product, reference))
        ratios.append(ours / floor)
        print(f"{name:20} {ours * 1e3:6.1f} ms / {floor * 1e3:6.1f} ms = {ours / floor:.2f}")
    print(f"median ratio {statistics.median(ratios):.2f}, largest {max(ratios):.2f}")
    if importlib.util.find_spec("scaper") is None:
        print("scaper is not installed: clips of it are not timed")
    else:
        beside_scaper(spoken)


def beside_scaper(spoken):
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        record(Path(folder), spoken)
        for name in sorted(scene_ids()):
            times, beds = [], len(load_scene(name).bed)
            for seed in range(5):
                started = processor_s()
                scene = engine.render(name, CLIP_S, RATE, np.random.default_rng(seed))
                product(spoken, scene.samples)
                ours, events = processor_s() - started, scene.events
                started = processor_s()
                scaper_clip(Path(folder), beds, events, seed)
                times.append((ours, processor_s() - started))
            ours, theirs = map(statistics.median, zip(*times, strict=True))
            ratios.append(theirs / ours)
            print(
                f"{name:20} {len(events):4} events: scaper {theirs * 1e3:6.1f} ms / "
                f"{ours * 1e3:6.1f} ms = {theirs / ours:.2f}"
            )
    print(f"median ratio to scaper {statistics.median(ratios):.2f}, smallest {min(ratios):.2f}")


def processor_s():
    """Seconds of processor time, with those of the SoX processes that scaper starts."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def record(folder, spoken):
    """Write what scaper draws from: 30 s of sound, for events and backgrounds, and the speech."""
    sound = 0.05 * np.random.default_rng(0).standard_normal(30 * RECORDED_RATE)
    for place, samples, rate in (
        ("foreground/sound", sound, RECORDED_RATE),
        ("background/sound", sound, RECORDED_RATE),
        ("foreground/speech", spoken, RATE),
    ):
        (folder / place).mkdir(parents=True)
        soundfile.write(folder / place / "0.wav", samples, rate)


def scaper_clip(folder, beds, events, seed):
    vars(np).setdefault("Inf", np.inf)  # scaper 1.6 names it as numpy 1 did
    import scaper

    made = scaper.Scaper(
        CLIP_S, str(folder / "foreground"), str(folder / "background"), random_state=seed
    )
    made.sr, made.ref_db = RATE, -40
    source, start = ("choose", []), ("const", 0)
    for _ in range(beds):
        made.add_background(("const", "sound"), source, start)
    speech_s = CLIP_S - SETTINGS.lead_in_s - SETTINGS.tail_s
    placed = [("speech", SETTINGS.lead_in_s, speech_s)]
    # Scaper fades an event in and out for 10 ms each, and fails where one is shorter than that.
    placed += [("sound", event.onset_s, max(event.duration_s, 0.02)) for event in events]
    for label, onset_s, duration_s in placed:
        snr_db, onset, duration = ("uniform", -10, 0), ("const", onset_s), ("const", duration_s)
        made.add_event(("const", label), source, start, onset, duration, snr_db, None, None)
    made.generate(str(folder / "clip.wav"), reverb=0.1, disable_instantiation_warnings=True)


if __name__ == "__main__":
    main()
