"""Training of the sound tagger on random mixtures of sounds: half an hour on two cores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy
from torch.nn.utils.rnn import pad_sequence

from aor_lib.audio.hearing import WEIGHTS
from aor_lib.audio.hearing.sound_tagger import SEGMENTS, SoundTagger
from aor_lib.storage.assets import Arrays
from aor_lib.storage.atomic_write import atomic_write
from reference.hearing.compositions import Composition, compositions

CLIPS = 3600
SEED = 0
_EPOCHS = 15
_BATCH = 32
_LEARNING_RATE = 2e-3
_LEVEL_SPREAD = 0.1
"""Half the range of a clip's random level: 4 dB on the scale of Whisper's spectrogram."""
_RARE = -4.0
"""Initial logit of every sound; most sounds are absent from a segment."""
_THREADS = 2
"""The same on any machine, since the order of summation changes the last bits."""


def train(workers: int, report: Callable[[int, int], None], into: Path = WEIGHTS) -> None:
    """Train the sound tagger and write it to the file ``into``; the clips are kept in the cache."""
    weights = fit(compositions(CLIPS, [None], SEED, workers, report))
    with atomic_write(into) as stream:
        np.savez(stream, allow_pickle=False, **weights)


def fit(clips: Sequence[Composition]) -> Arrays:
    """Weights of a :class:`~aor_lib.audio.hearing.sound_tagger.SoundTagger`, in half precision.

    Minimise the cross entropy of each sound in each segment and of the mood, with AdamW.
    """
    names = sorted({name for clip in clips for segment in clip.sounds for name in segment})
    moods = sorted({clip.emotion for clip in clips})
    encoded = torch.from_numpy(np.stack([clip.encoded for clip in clips]))
    heard = [torch.from_numpy(clip.spectrogram).float() for clip in clips]
    sounds = torch.tensor(
        [[[name in segment for name in names] for segment in clip.sounds] for clip in clips]
    ).float()
    mood = torch.tensor([moods.index(clip.emotion) for clip in clips])

    threads = torch.get_num_threads()
    torch.set_num_threads(_THREADS)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(SEED)
            network = SoundTagger(names, moods)
            torch.nn.init.constant_(network.of_sounds.bias, _RARE)
            optimizer = torch.optim.AdamW(network.parameters(), lr=_LEARNING_RATE)
            steps = _EPOCHS * (len(clips) // _BATCH)
            schedule = torch.optim.lr_scheduler.OneCycleLR(
                optimizer, _LEARNING_RATE, total_steps=steps
            )
            for _ in range(_EPOCHS):
                order = torch.randperm(len(clips))
                for start in range(0, len(clips) - _BATCH + 1, _BATCH):
                    rows = order[start : start + _BATCH]
                    louder = _LEVEL_SPREAD * (2 * torch.rand(_BATCH, 1, 1) - 1)
                    chosen = [heard[int(row)] for row in rows]
                    lengths = torch.tensor([len(clip) for clip in chosen])
                    quiet = min(float(clip.min()) for clip in chosen)
                    padded = pad_sequence(chosen, batch_first=True, padding_value=quiet)
                    of_sounds, of_moods = network(encoded[rows], padded + louder, lengths)
                    loss = binary_cross_entropy_with_logits(
                        of_sounds, sounds[rows], reduction="sum"
                    ) / (_BATCH * SEGMENTS)
                    loss = loss + cross_entropy(of_moods, mood[rows])
                    optimizer.zero_grad()
                    loss.backward()  # type: ignore[no-untyped-call]
                    optimizer.step()
                    schedule.step()
    finally:
        torch.set_num_threads(threads)
    arrays: Arrays = {k: array.numpy() for k, array in network.state_dict().items()}
    halves = {k: a.astype(np.float16) if a.dtype == np.float32 else a for k, a in arrays.items()}
    return halves | {"sounds": np.array(names), "moods": np.array(moods)}
