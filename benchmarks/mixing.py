"""Time to mix a 12 s clip, measure its loudness and write FLAC, relative to a lower bound.

The lower bound places speech in a clip, adds a scene at a known gain, scales the sum to a peak and
writes FLAC, with numpy and soundfile alone and without measuring a level. Both are timed
alternately in one run, and the ratio of their medians is printed: python -m benchmarks.mixing

If scaper 1.6 is installed (it needs SoX), it then makes clips with as many sounds from recordings
like ESC-50's, and is timed against the study's rendering and mixing of each scene. Scaper uses as
many backgrounds as the scene has beds, every event with the onset and duration that it has in the
scene, and the speech, already at the clip's sample rate, as one more event. Scaper writes WAV, the
study FLAC.
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
    """Lower bound: sum the signals and write a file."""
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
        print("scaper is not installed, so it is not timed")
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
    """CPU time in seconds, including that of the SoX processes that scaper starts."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def record(folder, spoken):
    """Write scaper's sources: 30 s of noise for events and for backgrounds, and the speech."""
    sound = 0.05 * np.random.default_rng(0).standard_normal(30 * RECORDED_RATE)
    for place, samples, rate in (
        ("foreground/sound", sound, RECORDED_RATE),
        ("background/sound", sound, RECORDED_RATE),
        ("foreground/speech", spoken, RATE),
    ):
        (folder / place).mkdir(parents=True)
        soundfile.write(folder / place / "0.wav", samples, rate)


def scaper_clip(folder, beds, events, seed):
    vars(np).setdefault("Inf", np.inf)  # scaper 1.6 uses this name from numpy 1
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
    # Scaper fades every event in and out over 10 ms each, and fails on shorter events.
    placed += [("sound", event.onset_s, max(event.duration_s, 0.02)) for event in events]
    for label, onset_s, duration_s in placed:
        snr_db, onset, duration = ("uniform", -10, 0), ("const", onset_s), ("const", duration_s)
        made.add_event(("const", label), source, start, onset, duration, snr_db, None, None)
    made.generate(str(folder / "clip.wav"), reverb=0.1, disable_instantiation_warnings=True)


if __name__ == "__main__":
    main()
