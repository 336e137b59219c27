"""Transcripts by Whisper, and tags of the sounds and the speaker's emotion in a clip."""

import functools
import hashlib
from pathlib import Path

WEIGHTS = Path(__file__).parent / "weights" / "sound_tagger.npz"
"""Weights of the sound tagger, trained by ``reference/hearing``."""


@functools.cache
def tagger_revision() -> str:
    """Short hash of the sound tagger's weights."""
    return hashlib.sha256(WEIGHTS.read_bytes()).hexdigest()[:12]
