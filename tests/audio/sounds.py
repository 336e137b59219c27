"""Sound files for tests of imports, and what a folder holds."""

import io
from pathlib import Path

import numpy as np
import soundfile


def hiss(seed: int, seconds: float = 1.0, rate: int = 24_000, level: float = 0.05) -> np.ndarray:
    return level * np.random.default_rng(seed).standard_normal(round(seconds * rate))


def vowels(f0_hz: float, seconds: float = 2.0, rate: int = 24_000) -> np.ndarray:
    """Four syllables a second of one vowel, whose F0 goes up and down once."""
    times = np.arange(round(seconds * rate)) / rate
    f0 = f0_hz * 2 ** (np.sin(2 * np.pi * times / seconds) / 4)
    phase = 2 * np.pi * np.cumsum(f0) / rate
    harmonics = np.arange(1, 9000 // f0_hz)
    wave = (np.sin(np.outer(harmonics, phase)) / harmonics[:, None]).sum(axis=0)
    syllables = 0.02 + np.sin(4 * np.pi * times) ** 2
    return (0.1 * wave * syllables).astype(np.float32)


def encoded(samples: np.ndarray, rate: int = 24_000, kind: str = "WAV", **more: str) -> bytes:
    stream = io.BytesIO()
    soundfile.write(stream, samples, rate, format=kind, **more)
    return stream.getvalue()


def put(path: Path, content: bytes | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def content_of(folder: Path) -> dict[Path, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder): path.read_bytes() for path in files}


def quiet(done: int, of: int) -> None:
    """Report to nobody."""
