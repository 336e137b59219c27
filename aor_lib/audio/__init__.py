"""Waveforms in, waveforms out: speech, scenes, recordings, mixing, hearing."""
