"""How emotions sound: the prosody of each, relative to the speaker's neutral speech.

Directions of the :data:`TARGETS` follow these reviews; sizes are held to what leaves the words
intelligible and the voice human, so F0 rises by less than in synthesis by rule.

- Juslin & Laukka, Psychol. Bull. 129(5):770-814, 2003 (cues; the range of F0 for fear).
- Murray & Arnott, J. Acoust. Soc. Am. 93(2):1097-1108, 1993 (order of F0 means, irregular fear).
- Banse & Scherer, J. Pers. Soc. Psychol. 70(3):614-636, 1996 (energy of anger and sadness).
- Schröder, Eurospeech, 561-564, 2001 (sizes).
- Burkhardt & Sendlmeier, ISCA Workshop on Speech and Emotion, 151-156, 2000 (sizes).
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Prosody:
    """How speech differs from the same speaker's neutral speech."""

    f0_mean_st: float  # added, in semitones
    f0_range: float  # multiplies the distance of F0 from its mean, in semitones
    duration: float  # multiplies the time
    level_db: float  # added to the active speech level
    tilt_db_per_octave: float  # added to the slope of the spectrum
    jitter: float = 0.0  # standard deviation of F0 from one 5 ms frame to the next, relative to F0


TARGETS: dict[str, Prosody] = {
    "neutral": Prosody(0.0, 1.0, 1.0, 0.0, 0.0),
    "angry": Prosody(4.0, 1.5, 0.87, 6.0, 2.0),
    "fearful": Prosody(5.0, 0.7, 0.8, -2.0, -1.0, jitter=0.015),
    "sad": Prosody(-2.0, 0.6, 1.25, -5.0, -2.0),
    "happy": Prosody(3.0, 1.7, 0.9, 3.0, 0.5),
}
"""The emotions, by the names that :class:`aor_lib.config.records.Stimulus` has for them."""
