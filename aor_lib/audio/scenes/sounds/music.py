"""Instruments: drums, pads, chip tunes, strings, a piano, a harp; music on tape."""

from typing import Annotated, Literal, TypeAlias

import numpy as np

from aor_lib.audio.scenes import library
from aor_lib.audio.scenes.library import TABLES, Count, Gain, Pitch, Rate, Seconds, Steps, sound
from aor_lib.audio.scenes.synth import FloatArray, Synth, curve, rolloff, semitones

Motion: TypeAlias = Literal["play", "scrub", "rewind"]
_PENTATONIC = TABLES["scales"]["pentatonic"]
_ARPEGGIO = (0, 2, 4, 7, 9, 11, 9, 7, 4, 2)


@sound
def drum(
    synth: Synth,
    *,
    thump: Gain = 0,
    thump_hz: Pitch = 100,
    thump_s: Seconds = 0.2,
    snap: Gain = 0,
    snap_s: Seconds = 0.05,
    spectrum: library.Spectrum = ((500.0, -12.0), (2000.0, 0.0), (7000.0, -8.0)),
) -> FloatArray:
    """A drum: the thump of its skin, and the snap of a stick or of snares."""
    n = synth.samples(1.2 * max(thump_s, snap_s))
    made = np.zeros(n)
    if thump:
        made += thump * synth.thump(n, thump_hz * synth.rng.normal(1.0, 0.05), thump_s)
    if snap:
        t60_s = snap_s * synth.rng.uniform(0.8, 1.2)
        made += snap * (synth.noise(n, spectrum) * synth.decay(n, t60_s))
    return synth.fade(made, 0.0, 0.02)


@sound
def pad(
    synth: Synth, *, seconds: Seconds, pitch_hz: Pitch, chord: Steps = (0, 7, 12)
) -> FloatArray:
    """Sustained, slowly beating chord of soft sawtooth waves, in semitones above the pitch."""
    n, order = synth.samples(seconds), np.arange(1, 7)
    notes = semitones(pitch_hz, chord)
    strings = np.concatenate([notes * 0.997, notes * 1.003])
    strings = strings * synth.rng.normal(1.0, 0.001, strings.size)
    gains = synth.rng.uniform(0.6, 1.0, (strings.size, 1)) * order**-1.4
    pitches = np.multiply.outer(strings, order).reshape(-1)
    return synth.modal(n, pitches, np.full(pitches.size, np.inf), gains.reshape(-1))


@sound
def chip_tune(
    synth: Synth, *, seconds: Seconds, pitch_hz: Pitch, notes_per_s: Rate = 7
) -> FloatArray:
    """Looping tune of an early game console: pulse-wave lead, arpeggio, bass and noise drum."""
    n, rng = synth.samples(seconds), synth.rng
    beat = synth.phase(notes_per_s, n, float(rng.integers(16)))
    step = beat.astype(np.int64)
    within = beat - step
    melody = semitones(pitch_hz, _walk(rng, _PENTATONIC, 16))
    played = rng.uniform(size=16) < 0.85
    order, duty = np.arange(1, 21), rng.choice((0.125, 0.25, 0.5))
    lead = synth.tone(melody[step % 16], n, np.sin(np.pi * order * duty) / order)
    lead *= played[step % 16] * np.exp(-2.0 * within)
    chord = semitones(pitch_hz, rng.choice((0.0, 5.0, -2.0)) + np.array([0.0, 3.0, 7.0, 12.0]))
    arpeggio = synth.tone(chord[(4 * beat).astype(np.int64) % 4], n, [1, 0, 0.33, 0, 0.2])
    bass_line = semitones(pitch_hz / 4, rng.choice((0.0, 0.0, 3.0, -2.0, 5.0), 4))
    bass = synth.tone(bass_line[step // 4 % 4], n, [1, 0, -0.11, 0, 0.04])
    hat = synth.band(n, 3000.0, 9000.0) * np.exp(-12.0 * within)
    return np.asarray(lead + 0.35 * arpeggio + 0.8 * bass * (1.0 - 0.7 * within) + 0.12 * hat)


@sound
def synth_riff(synth: Synth, *, pitch_hz: Pitch) -> FloatArray:
    """A bar of a driving beat: sixteenths of a detuned sawtooth in octaves, a lead, a hi-hat."""
    n, rng = synth.samples(4 * synth.beat_s), synth.rng
    sixteenth = synth.phase(4.0 / synth.beat_s, n)
    step = sixteenth.astype(np.int64) % 16
    within = sixteenth % 1.0
    root_hz = float(semitones(pitch_hz, [rng.choice((0.0, 3.0, -2.0, -4.0))])[0])
    pitch = root_hz * np.array([1.0, 1.0, 2.0, 1.0])[step % 4]
    saw = rolloff(24, 0.7)
    bass = synth.tone(pitch, n, saw) + synth.tone(1.006 * pitch, n, saw)
    lead_hz = semitones(4 * pitch_hz, rng.choice(_PENTATONIC, 8))[step // 2]
    lead = synth.tone(lead_hz, n, saw) + synth.tone(0.992 * lead_hz, n, saw)
    hat = synth.band(n, 6000.0, 11_000.0) * (step % 4 == 2) * np.exp(-4.0 * within)
    return synth.fade(bass * np.exp(-1.8 * within) + lead + 0.7 * hat, 0.002, 0.01)


@sound
def tremolo_strings(synth: Synth, *, seconds: Seconds, pitch_hz: Pitch) -> FloatArray:
    """A cluster of strings, each bowed back and forth a dozen times a second."""
    n = synth.samples(seconds)
    cluster = np.zeros(n)
    for note_hz in semitones(pitch_hz, (0, 1, 6, 13)):
        turn = synth.phase(synth.rng.uniform(10.0, 13.0), n, synth.rng.uniform())
        bow = 0.55 + 0.45 * np.sin(2 * np.pi * turn)
        slide = 1.0 + 0.03 * synth.wander(n, 1.0)
        cluster += bow * synth.tone(note_hz * slide, n, rolloff(14, 0.9))
    return cluster


@sound
def phrase(
    synth: Synth,
    *,
    instrument: Literal["piano", "harp"],
    pitch_hz: Pitch,
    scale: Annotated[str, library.named_in("scales")] = "major",
    notes: Count = 6,
    pace_s: Seconds = 0.25,
) -> FloatArray:
    """A few notes: a piano wanders over a scale above a chord, or a harp plays an arpeggio."""
    scale_hz = semitones(pitch_hz, TABLES["scales"][scale])
    first = int(synth.rng.integers(4))
    if instrument == "harp":
        degrees = [first + _ARPEGGIO[i % len(_ARPEGGIO)] for i in range(notes)]
        played = [_pluck(synth, float(scale_hz[degree % scale_hz.size])) for degree in degrees]
    else:
        played = [_piano_note(synth, float(hz), 1.4) for hz in _walk(synth.rng, scale_hz, notes)]
    onsets = pace_s * (np.arange(notes) + synth.rng.normal(0.0, 0.03, notes))
    parts = [(max(0.0, float(at)), note) for at, note in zip(onsets, played, strict=True)]
    if instrument == "piano":
        root = first % 3
        parts += [(0.0, _piano_note(synth, float(scale_hz[root + i]) / 2, 2.0)) for i in (0, 2, 4)]
    return synth.overlay(parts)


def score(synth: Synth, pitch_hz: float) -> FloatArray:
    """Four chords of an orchestra with a piano's melody on top, four seconds long."""
    bars = []
    for steps in TABLES["chords"]["orchestra"]:
        strings = pad(synth, seconds=1.0, pitch_hz=pitch_hz, chord=steps)
        melody = semitones(4.0 * pitch_hz, synth.rng.choice(steps, 4))
        notes = [_piano_note(synth, float(hz), 0.25) for hz in melody]
        piano = synth.overlay((0.25 * i, note) for i, note in enumerate(notes))[: strings.size]
        strings[: piano.size] += 2.0 * piano * np.std(strings) / max(np.std(piano), 1e-9)
        bars.append(strings)
    return np.concatenate(bars)


@sound
def tape(synth: Synth, *, seconds: Seconds, pitch_hz: Pitch = 230, motion: Motion) -> FloatArray:
    """An orchestra's score on tape: played, turned to and fro by hand, or rewound."""
    n = synth.samples(seconds)
    music = score(synth, pitch_hz)
    if motion == "play":
        speed = np.ones(n)
    elif motion == "scrub":
        speed = 2.2 * np.sin(2 * np.pi * synth.phase(synth.rng.uniform(2.5, 4.0), n))
        speed *= 1.0 + 0.5 * synth.wander(n, 5.0)
    else:
        speed = -curve(n, ((0.0, 1.5), (0.5, synth.rng.uniform(6.0, 8.0)), (0.9, 7.0), (1.0, 1.0)))
    # Linear interpolation is enough: its images are far softer than the sped-up music.
    position = (synth.rng.uniform(0.0, music.size) + np.cumsum(speed)) % music.size
    made = np.interp(position, np.arange(music.size), music)
    if motion == "scrub":
        made *= np.abs(speed)
    if motion == "rewind":
        flutter = synth.band(n, 1200.0, 5000.0) * synth.pulses(-9.0 * speed, n, 3.0)
        made += 1.2 * flutter + 0.5 * synth.tone(-95.0 * speed, n, (1.0, 0.5, 0.3))
    return synth.fade(made, 0.01, 0.01)


def _walk(rng: np.random.Generator, scale: object, count: int) -> FloatArray:
    # The walk is reflected at the ends of the scale.
    degrees = np.asarray(scale, dtype=np.float64)
    steps = np.cumsum(rng.choice((-2, -1, 1, 2), count)) + rng.integers(degrees.size)
    return np.asarray(degrees[np.abs((steps % (2 * degrees.size - 2)) - (degrees.size - 1))])


def _piano_note(synth: Synth, pitch_hz: float, seconds: float) -> FloatArray:
    order = np.arange(1, 15, dtype=np.float64)
    pitches = pitch_hz * order * np.sqrt(1.0 + 4e-4 * np.square(order))
    # A hammer that strikes at an eighth of the string does not excite the eighth harmonic.
    gains = np.abs(np.sin(np.pi * order / 8.0)) * order**-1.1
    t60s = 5.0 * (220.0 / pitch_hz) ** 0.5 * order**-0.6
    return synth.fade(synth.modal(synth.samples(seconds), pitches, t60s, gains), 0.002, 0.08)


def _pluck(synth: Synth, pitch_hz: float) -> FloatArray:
    order = np.arange(1, 11, dtype=np.float64)
    # A finger that plucks at a third of the string does not excite the third harmonic.
    gains = np.abs(np.sin(np.pi * order / 3.0)) * order**-1.2
    t60s = 2.2 * (260.0 / pitch_hz) ** 0.5 * order**-0.9
    return synth.fade(synth.modal(synth.samples(0.8), pitch_hz * order, t60s, gains), 0.001, 0.2)
