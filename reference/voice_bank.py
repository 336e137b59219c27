"""Write the synthesised speech from which the babble of scenes is mixed.

``aor_lib/audio/scenes/sounds/voices.flac`` gets one sentence of each talker, in slots of
``SLOT_S`` seconds that are padded with digital silence.
"""

import numpy as np
import numpy.typing as npt
import soundfile

from aor_lib.audio.scenes.sounds.voices import SENTENCES, SLOT_S
from aor_lib.audio.speech import SAMPLE_RATE, synthesise

TALKERS = (
    *("af_bella", "am_adam", "bf_emma", "bm_george", "af_nova", "am_fenrir", "bf_isabella"),
    *("am_michael", "af_sarah", "bm_fable", "af_sky", "am_puck", "bf_lily", "bm_lewis"),
    *("af_heart", "am_eric"),
)
TEXTS = (
    "My sister moved to the coast last spring, and she loves it.",
    "We should really book that table before the weekend.",
    "Then he told me the whole story about the bicycle.",
    "I never know which of these buses goes past the museum.",
    "They have painted the kitchen yellow, can you believe it?",
    "Have you tried the new bakery opposite the library?",
    "It rained all afternoon, so we just played cards instead.",
)
_STEP = 2**-11
"""Coarser than 16 bits, which halves the file; its noise is 20 dB below the softest voice."""


def main() -> None:
    """Synthesise the sentences and write the file."""
    spoken = [(TEXTS[i % len(TEXTS)], voice) for i, voice in enumerate(TALKERS)]
    slots = np.stack([_slot(synthesise(*what)) for what in spoken])
    soundfile.write(SENTENCES, slots.reshape(-1), SAMPLE_RATE, subtype="PCM_16")
    print(f"{SENTENCES}: {SENTENCES.stat().st_size / 1e6:.2f} MB")


def _slot(samples: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    slot = np.zeros(round(SLOT_S * SAMPLE_RATE), np.float32)
    kept = samples[: slot.size] * (0.7 / np.abs(samples).max())
    slot[: kept.size] = np.round(kept / _STEP) * _STEP
    return slot


if __name__ == "__main__":
    main()
