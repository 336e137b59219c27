"""Fixtures that several test modules share."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import settings

from aor_lib.config.params import PARAMS

# The same examples in every run; a failure is seen again by whoever looks for it.
settings.register_profile("same examples", derandomize=True)
settings.load_profile("same examples")

TINY = {
    "name": "tiny",
    "seed": 1,
    "scenarios": ["kitchen", "video_gaming"],
    "utterances_per_scenario": {"pseudo_harmful": 1, "harmful": 1, "benign": 1},
    "voices": ["af_heart", "am_michael"],
    "conditions": ["matched", "speech_only", "mismatched", "noise", "text_only", "described"],
    "models": ["ref-permissive", "ref-contextual"],
    "mitigations": ["none", "chain_of_thought"],
    "generation": {"max_new_tokens": 8},
}


@pytest.fixture
def write_profile(tmp_path):
    """Write the tiny profile, with some keys changed, and return its path."""

    def write(**changes: object) -> Path:
        path = tmp_path / "tiny.yaml"
        path.write_text(yaml.safe_dump(TINY | changes))
        return path

    return write


@pytest.fixture(scope="session")
def params() -> Path:
    return PARAMS


@pytest.fixture(scope="session")
def tiny_study(tmp_path_factory):
    """The tiny study and the folder with its stimuli: real speech, scenes and hearing."""
    from aor_lib.config.params import load_study
    from aor_lib.stimuli.dataset import build_dataset

    folder = tmp_path_factory.mktemp("tiny")
    profile = folder / "tiny.yaml"
    profile.write_text(yaml.safe_dump(TINY))
    study = load_study(profile)
    build_dataset(study, folder / "build", 1, lambda done, of: None)
    return study, folder / "build"
