"""Whisper's transcripts, and classifiers on its encoder's output."""
