"""Scores of a sound in 521 classes by YAMNet, a network trained on real recordings.

Hershey et al. (2017), https://arxiv.org/abs/1609.09430; classes of AudioSet, Gemmeke et al. (2017).
The files of YAMNet are not part of the study; README.md says where they come from.
"""

import csv
import functools
import hashlib
import importlib.util
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import soxr

from aor_lib.config.params import PARAMS
from aor_lib.config.records import Sha256
from aor_lib.config.typed_yaml import Params, read
from aor_lib.storage.assets import AssetError, cache_folder

Scores = npt.NDArray[np.float32]

SAMPLE_RATE = 16_000
PATCH = 15_600  # samples per call of the network; patches overlap by half
_LEVEL = 0.1


class Expected(Params):
    """Content of ``params/yamnet.yaml``: YAMNet's files, and the classes expected in each scene."""

    files: dict[str, Sha256]
    scenes: dict[str, tuple[str, ...]]
    families: dict[str, tuple[str, ...]]  # classes of single sounds, by family


@dataclass(frozen=True)
class Recognition:
    """Most probable class, and rank (from 1) and score (0 to 1) of the best expected class."""

    first_class: str
    expected_rank: int
    expected_score: float


@functools.cache
def load_expected() -> Expected:
    """Read ``params/yamnet.yaml``."""
    return read(PARAMS / "yamnet.yaml", Expected)


@functools.cache
def revision() -> str | None:
    """Version of the results, as text; None without YAMNet's files or ``ai-edge-litert``."""
    there = all((cache_folder() / "yamnet" / name).is_file() for name in load_expected().files)
    installed = importlib.util.find_spec("ai_edge_litert") is not None
    return load_expected().model_dump_json() if there and installed else None


def recognise_scene(
    samples: npt.NDArray[np.floating], sample_rate: int, scene: str | None
) -> Recognition | None:
    """Rank and score of the best class expected in a scene; None without YAMNet or such classes."""
    expected = load_expected().scenes.get(scene or "")
    if expected is None or revision() is None:
        return None
    return recognise(listen(samples, sample_rate), expected)


def recognise(scores: Scores, expected: Collection[str]) -> Recognition:
    """Rank and score of the best expected class; ValueError if YAMNet lacks one."""
    names = class_names()
    score = max(scores[names.index(name)] for name in expected)
    return Recognition(names[scores.argmax()], int((scores > score).sum()) + 1, float(score))


def listen(samples: npt.NDArray[np.floating], sample_rate: int) -> Scores:
    """Scores of all classes, float32, ``(classes,)``: the mean over patches of 0.975 s.

    ``samples``, ``(samples,)``, mono, are scaled to an RMS level of -20 dBFS. AssetError if a file
    of YAMNet does not have the sha256 in ``params/yamnet.yaml``.
    """
    sound = np.asarray(soxr.resample(samples.astype(np.float32), sample_rate, SAMPLE_RATE))
    sound = sound - sound.mean()
    sound *= _LEVEL / (np.sqrt(np.mean(np.square(sound))) + 1e-12)
    sound /= max(1.0, float(np.abs(sound).max()))
    sound = np.pad(sound, (0, max(0, PATCH - len(sound))))
    network = _network()
    [given], [returned] = network.get_input_details(), network.get_output_details()
    scores = []
    for start in range(0, len(sound) - PATCH + 1, PATCH // 2):
        network.set_tensor(given["index"], sound[start : start + PATCH])
        network.invoke()
        scores.append(network.get_tensor(returned["index"])[0].copy())
    return np.asarray(np.mean(scores, axis=0), dtype=np.float32)


@functools.cache
def class_names() -> tuple[str, ...]:
    """Display names of the classes, in the order of their scores."""
    lines = _content("yamnet_class_map.csv").decode().splitlines()
    return tuple(row["display_name"] for row in csv.DictReader(lines))


@functools.cache
def _network() -> Any:
    from ai_edge_litert.interpreter import Interpreter

    network = Interpreter(model_content=_content("yamnet.tflite"), num_threads=1)
    network.allocate_tensors()
    return network


def _content(name: str) -> bytes:
    path, sha256 = cache_folder() / "yamnet" / name, load_expected().files[name]
    content = path.read_bytes()
    if (digest := hashlib.sha256(content).hexdigest()) != sha256:
        raise AssetError(
            f"{path}: sha256 is {digest}, must be {sha256}; if you want another conversion of "
            "YAMNet, state its sha256 in params/yamnet.yaml"
        )
    return content
