"""How emotions sound: the prosody of each, relative to the speaker's neutral speech.

Directions of the :data:`TARGETS`:

- Juslin & Laukka (2003, Psychol. Bull. 129(5), 770-814), review of 104 studies, summary of cues.
  Anger: fast, loud, much high-frequency energy, high and variable F0. Fear: fast, soft (save
  panic), little high-frequency energy, high F0 of little variability, irregular. Sadness: slow,
  soft, little high-frequency energy, low F0 of little variability. Happiness: fast, medium to
  loud, medium high-frequency energy, high and variable F0.
- Murray & Arnott (1993, J. Acoust. Soc. Am. 93(2), 1097-1108), table of voice effects: the order
  of F0 means (fear and anger above happiness above neutral above sadness), the small size of the
  changes for sadness, irregular voicing for fear. They have fear's F0 range wider and its
  intensity normal; here the larger and later review is followed for the range.
- Banse & Scherer (1996, J. Pers. Soc. Psychol. 70(3), 614-636): energy highest in anger, lowest
  in sadness.

Sizes are those of synthesis by rule (reviewed by Schröder, 2001, Eurospeech, 561-564; Burkhardt &
Sendlmeier, 2000, ISCA Workshop on Speech and Emotion, 151-156), held to what leaves the words
intelligible and the voice human: F0 rises by less than there, for fear by far.
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
