"""A made-up study of any size for the explorer, and a browser to open it in."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import product
from pathlib import Path

import numpy as np
import soundfile
from playwright.sync_api import Browser, Playwright

from aor_lib.config.records import (
    Arm,
    Condition,
    Generation,
    Intent,
    Label,
    Response,
    Status,
    Stimulus,
    Trial,
    Verdict,
    content_hash,
    split_of,
)
from aor_lib.inference.store import STORE, Store
from aor_lib.stimuli.manifest import write_manifest
from book._ext.explorer import write_data

BROWSERS = ("chromium-headless-shell", "chromium", "google-chrome", "chrome")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    # Resolve no other host name.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)

MODELS = ("model-a", "model-b")
MITIGATIONS = ("none", "context_reminder")
HOSTILE = '<img src=x onerror="document.title = 1"><script>document.title = 2</script></b>"'
"""Text that no page may render as markup; a tenth of the answers end with it."""

_SCENES = {
    "kitchen": ("home_kitchen", "bakery", "barbecue"),
    "film_theatre": ("film_set", "theatre_rehearsal"),
    "video_gaming": ("stealth_shooter", "space_battle"),
    "medical_emergency": ("hospital_ward", "dental_surgery"),
}
_CLIP = "clips/tone.flac"


def write_study(folder: Path, n: int) -> None:
    """Write a study of ``n`` stimuli with the same sound, answered by two models."""
    rng = np.random.default_rng(0)
    (folder / "clips").mkdir(parents=True)
    soundfile.write(folder / _CLIP, rng.uniform(-0.5, 0.5, 24_000), 24_000)
    stimuli = [_stimulus(i) for i in range(n)]
    write_manifest(stimuli, folder)
    _fill_store(folder / STORE, stimuli)


def _fill_store(path: Path, stimuli: list[Stimulus]) -> None:
    """Store answers of two models under two mitigations; a tenth is missing, failed or blocked.

    The answers are filler text, whatever the request.
    """
    trials = [
        Trial(
            stimulus.stimulus_id,
            stimulus.content_sha256,
            Arm(model, "1", "0" * 64, mitigation, None, Generation(seed=seed)),
        )
        for stimulus in stimuli
        for model, (seed, mitigation) in product(MODELS, enumerate(MITIGATIONS))
    ]
    with Store(path) as store:
        store.set_plan(trials)
        answered = [_response(i, trial) for i, trial in enumerate(trials) if i % 30 != 29]
        store.record(answered)
        store.record_verdicts(
            (response, _verdict(i, response))
            for i, response in enumerate(answered)
            if response.status == Status.OK and i % 7
        )


def book_of(study: Path, html: Path, folder: Path) -> Path:
    """Copy a built book by links, but with the explorer of another study."""
    folder.mkdir()
    for path in html.iterdir():
        if path.name not in ("explorer", "clips"):
            (folder / path.name).symlink_to(path)
    (folder / "clips").symlink_to(study / "clips")
    write_data(study, folder / "explorer")
    return folder


def chromium(playwright: Playwright) -> Browser | None:
    """Launch a browser that reaches only this machine; None if no browser is installed."""
    executable = next(filter(None, map(shutil.which, BROWSERS)), None)
    if executable is None:
        return None
    return playwright.chromium.launch(executable_path=executable, args=list(FLAGS))


@contextmanager
def serve(folder: Path) -> Iterator[str]:
    """Serve a folder on this machine and yield its URL."""
    handler = partial(_QuietHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class _QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


def _stimulus(i: int) -> Stimulus:
    conditions = [condition for condition in Condition if condition != Condition.AS_FOUND]
    utterance, condition = i // len(conditions), conditions[i % len(conditions)]
    intent = (Intent.PSEUDO_HARMFUL, Intent.PSEUDO_HARMFUL, Intent.HARMFUL, Intent.BENIGN)
    scenario = list(_SCENES)[utterance % len(_SCENES)]
    scene = _SCENES[scenario][utterance // len(_SCENES) % len(_SCENES[scenario])]
    text = f"How do I beat the {'oven' if utterance % 9 else 'dough'} number {utterance}?"
    has_audio = condition.has_audio
    name = f"{scenario}-{utterance:04}"
    return Stimulus.model_validate(
        dict.fromkeys(Stimulus.model_fields)
        | {
            "stimulus_id": f"{name}.{condition}",
            "utterance_id": name,
            "scenario": scenario,
            "intent": intent[utterance // len(_SCENES) % len(intent)],
            "text": text,
            "presented_text": None if has_audio else text,
            "voice": "af_heart" if has_audio else None,
            "emotion": "neutral" if has_audio else None,
            "speaking_rate": "normal" if has_audio else None,
            "background_scene": scene if condition.has_background else None,
            "snr_db": 6.0 if condition.has_background else None,
            "duration_s": 1.0 if has_audio else None,
            "events": "[]",
            "history": "[]",
            "seed": i,
            "variant": 0,
            "block": "core",
            "condition": condition,
            "path": _CLIP if has_audio else None,
            "sha256": content_hash(i),
            "split": split_of(name),
        }
    )


def _response(i: int, trial: Trial) -> Response:
    status = {4: Status.FAILED, 5: Status.BLOCKED}.get(i % 30, Status.OK)
    words = f"Answer {i}. Warm it slowly, keep an eye on it, and let it rest before you go on. " * 2
    ok = status == Status.OK
    return Response(
        trial_key=trial.key,
        status=status,
        text=words + (HOSTILE if i % 10 == 0 else "") if ok else None,
        error=None if ok else "the server said no",
        heard='{"transcript": "How do I beat it?"}',
        latency_s=0.1,
        tokens=20 if ok else None,
        created="2026-01-01T00:00:00.000000+00:00",
    )


def _verdict(i: int, response: Response) -> Verdict:
    labels = list(Label)
    return Verdict(
        trial_key=response.trial_key,
        judge="speech-acts",
        judge_version="1",
        label=labels[i % len(labels)],
        p_refusal=0.5,
        rationale="",
    )
