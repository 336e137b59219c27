"""Labels of sounds, of scenes and of recordings: AudioSet's names (params/sound_labels.yaml)."""

import functools
import re
from collections.abc import Sequence

from aor_lib.audio.sound_files import UnusableError
from aor_lib.config.params import PARAMS
from aor_lib.config.typed_yaml import Params, did_you_mean, read

FILE = PARAMS / "sound_labels.yaml"


class SoundLabels(Params):
    """The content of params/sound_labels.yaml, whose comments say what each key means."""

    words: tuple[str, ...]
    alarming: tuple[str, ...]
    vague: tuple[str, ...]
    esc50: dict[str, tuple[str, ...]]
    labels: tuple[str, ...]


@functools.cache
def sound_labels() -> SoundLabels:
    """Read params/sound_labels.yaml, once."""
    return read(FILE, SoundLabels)


def label_named(name: str) -> str | None:
    """The label of a name, whose case, punctuation and "and" do not matter; None if there is none.

    ``Dishes_and_pots_and_pans`` is ``Dishes, pots, and pans``.
    """
    return _by_words().get(_words(name))


def labels_of(names: Sequence[str]) -> tuple[str, ...]:
    """The labels under which a recording with such names may be heard, without repetitions.

    UnusableError if no name is a label, or one says that there are words in it.
    """
    known = sound_labels()
    labels = tuple(dict.fromkeys(filter(None, map(label_named, names))))
    described = f"is labelled {', '.join(names) or 'nothing'}"
    if not labels:
        hint = did_you_mean(" ".join(names), known.labels).partition("; valid")[0]
        raise UnusableError(f"{described}, which is not in {FILE.name}{hint}")
    labels = tuple(label for label in labels if label not in known.vague)
    if not labels:
        raise UnusableError(f"{described}, which may be too many things")
    if spoken := [label for label in labels if label in known.words]:
        raise UnusableError(f"is labelled {spoken[0]!r}: words would compete with the speaker's")
    return tuple(label for label in labels if label in known.alarming) or labels


@functools.cache
def _by_words() -> dict[tuple[str, ...], str]:
    return {_words(label): label for label in sound_labels().labels}


def _words(name: str) -> tuple[str, ...]:
    return tuple(word for word in re.findall(r"[^\W_]+", name.casefold()) if word != "and")
