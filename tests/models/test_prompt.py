"""The words in which a reference model reads a clip."""

import json
from pathlib import Path

from aor_lib.models.reference import prompt
from aor_lib.models.reference.prompt import EMOTIONS, GENDERS, RATES, Speaker, format_prompt

GOLDEN = Path(__file__).parents[1] / "data/golden_prompts.json"


def formatted() -> list[str]:
    """Prompts in which every word of the wording occurs."""
    speakers = [Speaker(gender, "neutral", "normal") for gender in GENDERS]
    speakers += [Speaker("female", emotion, "normal") for emotion in EMOTIONS]
    speakers += [Speaker("male", "neutral", rate) for rate in RATES]
    words = "How late is it?"
    return [
        format_prompt(words),
        format_prompt(words, prompt.NOISE_DESCRIPTION),
        *(format_prompt(words, "rain on a roof", speaker) for speaker in speakers),
    ]


def test_another_wording_has_another_version():
    golden = json.loads(GOLDEN.read_text())
    now = {"version": prompt.VERSION, "prompts": formatted()}
    assert now == golden, (
        "the prompts differ from tests/data/golden_prompts.json: raise VERSION in "
        "aor_lib/models/reference/prompt.py, since models that read other words answer otherwise, "
        f"and write this into the file:\n{json.dumps(now, indent=1)}"
    )


def test_a_prompt_without_sound_or_speaker_is_the_words_alone():
    assert format_prompt("How late is it?") == "How late is it?"
