"""Mixing, loudness and FLAC of a 12 s clip, against the least that could be done.

The reference places speech in a clip, adds a scene at a gain that is already known, scales the sum
to a peak and writes FLAC: numpy and soundfile alone, with no level measured. Both are timed in
turns within one run, and the ratio of their medians is printed: python -m benchmarks.mixing
"""

import io
import statistics
import time

import numpy as np
import soundfile

from aor_lib.audio import mixing, scenes, speech
from aor_lib.config.profile import Mixing

RATE = speech.SAMPLE_RATE
SETTINGS, CLIP_S = Mixing(), 12.0
TEXT = (
    "How do I get past the guard at the gate without anyone noticing that I was ever there, and "
    "what should I do with the rope afterwards, when the patrol comes back to the courtyard?"
)
TURNS = 60


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
    for name in sorted(scenes.SCENES):
        scene = scenes.render(name, CLIP_S, RATE, np.random.default_rng(0)).samples
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


if __name__ == "__main__":
    main()
